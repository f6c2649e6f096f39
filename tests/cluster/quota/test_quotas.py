"""ResourceQuotas: what they refuse, and their usage after each transaction."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.errors import ApiError, Forbidden, Invalid
from apps.cluster.models import Change, Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store

Body = dict[str, Any]
ACTOR = Actor("alice")
QUOTA = kinds.by_name("ResourceQuota")

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(db: None) -> Cluster:
    return create_cluster("c1", user="alice")


def quota(cluster: Cluster, hard: Body, *, name: str = "q", **spec: Any) -> Body:
    body = {"metadata": {"name": name}, "spec": {"hard": hard, **spec}}
    return store.create(cluster, QUOTA, body, actor=ACTOR, namespace="default")


def pod(
    name: str, *, requests: Body | None = None, limits: Body | None = None, **spec: Any
) -> Body:
    resources = {"requests": requests or {}, "limits": limits or {}}
    container = {"name": "c", "image": "i", "resources": resources}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def create(cluster: Cluster, body: Body) -> Body:
    return store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")


def used(cluster: Cluster, name: str = "q") -> Body:
    found: Body = queries.get(cluster, QUOTA, "default", name)["status"]["used"]
    return found


def refused(cluster: Cluster, body: Body) -> str:
    with pytest.raises(Forbidden) as refusal:
        create(cluster, body)
    return refusal.value.message


def test_a_new_quota_counts_existing_and_later_objects(cluster: Cluster) -> None:
    create(cluster, pod("early", requests={"cpu": "500m"}))
    body = quota(cluster, {"requests.cpu": "2", "pods": "5"})
    assert body["status"] == {
        "hard": {"requests.cpu": "2", "pods": "5"},
        "used": {"requests.cpu": "500m", "pods": "1"},
    }
    create(cluster, pod("late", requests={"cpu": "1"}))
    assert used(cluster) == {"requests.cpu": "1500m", "pods": "2"}
    store.delete(cluster, kinds.POD, "default", "early", actor=ACTOR)
    assert used(cluster) == {"requests.cpu": "1", "pods": "1"}


def test_an_object_beyond_a_quota_is_refused_with_kube_apiservers_message(cluster: Cluster) -> None:
    quota(cluster, {"requests.cpu": "1", "memory": "1Gi", "pods": "9"}, name="small")
    create(cluster, pod("p1", requests={"cpu": "750m", "memory": "512Mi"}))
    assert refused(cluster, pod("p2", requests={"cpu": "500m", "memory": "768Mi"})) == (
        'pods "p2" is forbidden: exceeded quota: small, '
        "requested: memory=768Mi,requests.cpu=500m, used: memory=512Mi,requests.cpu=750m, "
        "limited: memory=1Gi,requests.cpu=1"
    )
    assert used(cluster, "small") == {"requests.cpu": "750m", "memory": "512Mi", "pods": "1"}
    # a client learns of the quota before the name
    again, client = (
        pod("p1", requests={"cpu": "500m", "memory": "1Mi"}),
        Actor("alice", manager="kubectl"),
    )
    with pytest.raises(Forbidden, match="exceeded quota: small"):
        store.create(cluster, kinds.POD, again, actor=client, namespace="default")


def test_under_a_quota_of_cpu_every_container_must_specify_cpu(cluster: Cluster) -> None:
    quota(cluster, {"requests.cpu": "1", "limits.memory": "1Gi", "ephemeral-storage": "1Gi"})
    body = pod("p", limits={"memory": "1Mi"})
    body["spec"]["initContainers"] = [{"name": "a", "image": "i"}]
    assert refused(cluster, body) == (
        'pods "p" is forbidden: failed quota: q: must specify '
        "limits.memory for: a; requests.cpu for: a,c"
    )


def test_the_overhead_of_the_runtime_counts(cluster: Cluster) -> None:
    runtime = {
        "metadata": {"name": "vm"},
        "handler": "vm",
        "overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}},
    }
    store.create(cluster, kinds.by_name("RuntimeClass"), runtime, actor=ACTOR)
    quota(cluster, {"requests.cpu": "1", "limits.cpu": "2"})
    container = {"requests": {"cpu": "500m"}, "limits": {"cpu": "500m"}}
    create(cluster, pod("p", runtimeClassName="vm", **container))
    assert used(cluster) == {"requests.cpu": "750m", "limits.cpu": "750m"}
    assert "requested: requests.cpu=750m, used: requests.cpu=750m, limited: requests.cpu=1" in (
        refused(cluster, pod("p2", runtimeClassName="vm", **container))
    )


def test_a_finished_pod_counts_only_as_an_object(cluster: Cluster) -> None:
    quota(cluster, {"pods": "1", "count/pods": "2", "cpu": "1"})
    create(cluster, pod("p1", requests={"cpu": "1"}))
    assert "exceeded quota" in refused(cluster, pod("p2", requests={"cpu": "1m"}))
    end: Body = {"status": {"phase": "Succeeded"}}
    store.patch(
        cluster, kinds.POD, "default", "p1", lambda b: b | end, actor=ACTOR, subresource="status"
    )
    assert used(cluster) == {"pods": "0", "count/pods": "1", "cpu": "0"}
    create(cluster, pod("p2", requests={"cpu": "1"}))
    assert "requested: count/pods=1,pods=1, used: count/pods=2,pods=1" in (
        refused(cluster, pod("p3", requests={"cpu": "0"}))
    )


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ({"scopes": ["BestEffort"]}, {}, {"requests": {"cpu": "1"}}),
        ({"scopes": ["NotBestEffort"]}, {"requests": {"cpu": "1"}}, {}),
        ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 9}, {}),
        ({"scopes": ["NotTerminating"]}, {}, {"activeDeadlineSeconds": 9}),
        (
            {"scopeSelector": [{"scopeName": "PriorityClass", "operator": "In", "values": ["hi"]}]},
            {"priorityClassName": "hi"},
            {},
        ),
        (
            {"scopeSelector": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]},
            {},
            {"priorityClassName": "hi"},
        ),
    ],
)
def test_a_quota_with_a_scope_counts_only_pods_in_the_scope(
    cluster: Cluster, scope: Body, inside: Body, outside: Body
) -> None:
    high = {"metadata": {"name": "hi"}, "value": 7}
    store.create(cluster, kinds.PRIORITY_CLASS, high, actor=ACTOR)
    if "scopeSelector" in scope:
        scope = {"scopeSelector": {"matchExpressions": scope["scopeSelector"]}}
    quota(cluster, {"pods": "1"}, **scope)
    create(cluster, pod("in", **inside))
    create(cluster, pod("out", **outside))
    assert used(cluster) == {"pods": "1"}
    assert "exceeded quota: q, requested: pods=1" in refused(cluster, pod("in2", **inside))


def test_other_kinds_are_counted_as_objects(cluster: Cluster) -> None:
    # one more than the API server's own
    quota(cluster, {"services": "2", "count/replicasets.apps": "0", "requests.storage": "2Gi"})
    spec = {"ports": [{"port": 80}], "selector": {"a": "b"}}
    service = {"metadata": {"name": "s"}, "spec": spec}
    store.create(cluster, kinds.by_name("Service"), service, actor=ACTOR, namespace="default")
    with pytest.raises(Forbidden, match='services "s2" is forbidden: exceeded quota'):
        again = {**service, "metadata": {"name": "s2"}}
        store.create(cluster, kinds.by_name("Service"), again, actor=ACTOR, namespace="default")
    claim = {
        "metadata": {"name": "d"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}},
    }
    with pytest.raises(
        Forbidden, match="requested: requests.storage=3Gi, used: requests.storage=0"
    ):
        kind = kinds.by_name("PersistentVolumeClaim")
        store.create(cluster, kind, claim, actor=ACTOR, namespace="default")


def test_a_larger_quota_allows_more_pods_and_a_deleted_one_any_number(cluster: Cluster) -> None:
    quota(cluster, {"pods": "0"})
    refused(cluster, pod("p1"))
    more: Body = {"spec": {"hard": {"pods": "1", "cpu": "4"}}}
    store.patch(cluster, QUOTA, "default", "q", lambda body: body | more, actor=ACTOR)
    create(cluster, pod("p1", requests={"cpu": "1"}))
    assert used(cluster) == {"pods": "1", "cpu": "1"}
    store.delete(cluster, QUOTA, "default", "q", actor=ACTOR)
    create(cluster, pod("p2"))
    assert Cluster.objects.get(pk=cluster.pk).quotas == 0


def test_a_batch_creates_what_is_allowed_and_updates_the_quota_once(cluster: Cluster) -> None:
    quota(cluster, {"pods": "2"})
    writes = [Create(kinds.POD, pod(f"p{n}"), "default") for n in range(4)]
    outcomes = store.write(cluster, writes, actor=ACTOR, collect_refusals=True)
    assert [isinstance(each, ApiError) for each in outcomes] == [False, False, True, True]
    assert used(cluster) == {"pods": "2"}
    told = Change.objects.filter(cluster=cluster, kind="ResourceQuota", type="MODIFIED")
    assert told.count() == 1


def test_a_dry_run_does_not_change_the_usage(cluster: Cluster) -> None:
    quota(cluster, {"pods": "1"})
    store.create(cluster, kinds.POD, pod("p"), actor=ACTOR, namespace="default", dry_run=True)
    assert used(cluster) == {"pods": "0"}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"hard": {"cpus": "1"}}, "spec.hard[cpus]"),
        ({"hard": {"pods": "-1"}}, "must be greater than or equal to 0"),
        ({"hard": {"pods": "1500m"}}, "must be an integer"),
        ({"hard": {"services": "1"}, "scopes": ["BestEffort"]}, "unsupported scope applied"),
        ({"scopes": ["BestEffort", "NotBestEffort"]}, "conflicting scopes"),
        ({"scopes": ["Often"]}, "unsupported scope"),
    ],
)
def test_an_invalid_quota_is_refused(cluster: Cluster, spec: Body, told: str) -> None:
    body = {"metadata": {"name": "q"}, "spec": spec}
    with pytest.raises(Invalid) as refusal:
        store.create(cluster, QUOTA, body, actor=ACTOR, namespace="default")
    assert told in refusal.value.message


@pytest.mark.django_db(transaction=True)
def test_pods_created_at_once_never_exceed_a_quota_that_appears_among_them() -> None:
    cluster = create_cluster("busy", user="alice")

    def create_some(first: int) -> int:
        # a process that has read the cluster before it had a quota
        mine = Cluster.objects.get(pk=cluster.pk)
        made = 0
        for number in range(first, first + 8):
            if number == 3:
                quota(mine, {"pods": "12"})
            try:
                create(mine, pod(f"p{number}"))
                made += 1
            except Forbidden:
                pass
        connection.close()
        return made

    with ThreadPoolExecutor(4) as pool:
        made = sum(pool.map(create_some, (0, 10, 20, 30)))
    # pods created before the quota count; after it none exceeds it
    assert used(cluster) == {"pods": str(made)} and made >= 12
    assert "exceeded quota" in refused(cluster, pod("more"))
