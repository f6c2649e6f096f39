"""The store: what it writes, what it refuses, and that writes are atomic."""

from __future__ import annotations

from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.errors import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, NotFound
from apps.cluster.models import Change, Cluster, Node, Pod, Taint
from apps.cluster.writes import Actor, Create, Delete, Update
from apps.cluster.writing import store
from apps.cluster.writing.binding import make_binding

pytestmark = pytest.mark.django_db
ACTOR = Actor("tests")


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", paused=True, nodes=2, zones=2)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


def create_pod(cluster: Cluster, name: str, **spec: Any) -> dict[str, Any]:
    return store.create(cluster, kinds.POD, pod(name, **spec), actor=ACTOR, namespace="default")


def version(cluster: Cluster) -> int:
    return Cluster.objects.get(pk=cluster.pk).resource_version


def test_a_created_object_has_the_servers_metadata(cluster: Cluster) -> None:
    created = create_pod(cluster, "p")
    metadata = created["metadata"]
    assert metadata["uid"] and metadata["creationTimestamp"].endswith("Z")
    assert metadata["resourceVersion"] == str(version(cluster))
    assert metadata["namespace"] == "default"
    assert created == queries.get(cluster, kinds.POD, "default", "p")


def test_a_second_object_of_the_same_name_is_refused(cluster: Cluster) -> None:
    create_pod(cluster, "p")
    with pytest.raises(AlreadyExists, match='pods "p" already exists'):
        create_pod(cluster, "p")


def test_an_update_from_an_older_version_conflicts_and_changes_nothing(cluster: Cluster) -> None:
    stale = create_pod(cluster, "p")
    fresh = {**stale, "metadata": {**stale["metadata"], "labels": {"a": "1"}}}
    store.update(cluster, kinds.POD, "default", "p", fresh, actor=ACTOR)
    before = version(cluster)
    with pytest.raises(Conflict, match="the object has been modified"):
        store.update(cluster, kinds.POD, "default", "p", stale, actor=ACTOR)
    assert version(cluster) == before
    assert queries.get(cluster, kinds.POD, "default", "p")["metadata"]["labels"] == {"a": "1"}


def test_an_update_that_changes_nothing_takes_no_version(cluster: Cluster) -> None:
    created = create_pod(cluster, "p")
    before = version(cluster)
    assert store.update(cluster, kinds.POD, "default", "p", created, actor=ACTOR) == created
    assert version(cluster) == before


def test_status_and_spec_are_written_separately(cluster: Cluster) -> None:
    node = queries.get(cluster, kinds.NODE, "", "node-0")
    changed = {
        **node,
        "spec": {"unschedulable": True},
        "status": {**node["status"], "phase": "Terminated"},
    }
    store.update(cluster, kinds.NODE, "", "node-0", changed, actor=ACTOR)
    stored = queries.get(cluster, kinds.NODE, "", "node-0")
    assert stored["spec"]["unschedulable"] and "phase" not in stored["status"]
    changed["metadata"] = stored["metadata"]
    changed["spec"] = {}
    store.update(cluster, kinds.NODE, "", "node-0", changed, actor=ACTOR, subresource="status")
    stored = queries.get(cluster, kinds.NODE, "", "node-0")
    assert stored["spec"]["unschedulable"] and stored["status"]["phase"] == "Terminated"


def test_many_objects_are_created_together_or_not_at_all(cluster: Cluster) -> None:
    before = version(cluster)
    objects = [(kinds.POD, pod("a")), (kinds.POD, pod("b")), (kinds.POD, pod("NOT A NAME"))]
    with pytest.raises(ApiError):
        store.create_many(cluster, objects, actor=ACTOR)
    assert version(cluster) == before
    assert not Pod.objects.filter(cluster=cluster).exists()


def test_an_object_created_in_the_same_write_has_no_version_to_ask_for(cluster: Cluster) -> None:
    stale = {**pod("p"), "metadata": {"name": "p", "resourceVersion": "1"}}
    writes = [
        Create(kinds.POD, pod("p"), "default"),
        Update(kinds.POD, "default", "p", lambda body: stale),
        Delete(kinds.POD, "default", "p", {"preconditions": {"resourceVersion": "1"}}),
        Delete(kinds.POD, "default", "p", {"gracePeriodSeconds": 0}),
    ]
    created, *refused, _ = store.write(cluster, writes, actor=ACTOR, collect_refusals=True)
    assert not isinstance(created, ApiError)
    assert [type(outcome) for outcome in refused] == [Conflict, Conflict]
    assert not Pod.objects.filter(cluster=cluster).exists()


def test_refusals_can_be_collected_while_other_writes_succeed(cluster: Cluster) -> None:
    create_pod(cluster, "there")
    outcomes = store.write(
        cluster,
        [
            Create(kinds.POD, pod("there"), "default"),
            Create(kinds.POD, pod("new"), "default"),
            Delete(kinds.POD, "default", "missing"),
        ],
        actor=ACTOR,
        collect_refusals=True,
    )
    assert isinstance(outcomes[0], AlreadyExists)
    assert isinstance(outcomes[1], dict)
    assert isinstance(outcomes[2], NotFound)
    assert Pod.objects.filter(cluster=cluster).count() == 2


def test_a_dry_run_returns_the_object_and_writes_nothing(cluster: Cluster) -> None:
    before = version(cluster)
    answer = store.create(
        cluster, kinds.POD, pod("p"), actor=ACTOR, namespace="default", dry_run=True
    )
    assert answer["metadata"]["uid"]
    assert version(cluster) == before and not Pod.objects.filter(cluster=cluster).exists()


def test_a_pod_is_bound_once_and_takes_its_nodes_zone(cluster: Cluster) -> None:
    create_pod(cluster, "p")
    bound = store.bind(cluster, "default", "p", make_binding("node-0"), actor=ACTOR)
    assert bound["spec"]["nodeName"] == "node-0"
    assert bound["metadata"]["labels"]["topology.kubernetes.io/zone"] == "zone-1"
    conditions = {each["type"]: each["status"] for each in bound["status"]["conditions"]}
    assert conditions["PodScheduled"] == "True"
    with pytest.raises(Conflict, match='pod p is already assigned to node "node-0"'):
        store.bind(cluster, "default", "p", make_binding("node-1"), actor=ACTOR)
    assert Pod.objects.get(cluster=cluster, name="p").node_name == "node-0"


def test_a_pod_that_is_bound_to_an_unknown_node_keeps_its_labels(cluster: Cluster) -> None:
    create_pod(cluster, "p")
    bound = store.bind(cluster, "default", "p", make_binding("gone"), actor=ACTOR)
    assert bound["spec"]["nodeName"] == "gone" and "labels" not in bound["metadata"]


def test_a_gated_pod_cannot_be_bound(cluster: Cluster) -> None:
    create_pod(cluster, "p", schedulingGates=[{"name": "example.com/wait"}])
    with pytest.raises(Conflict, match="has non-empty .spec.schedulingGates"):
        store.bind(cluster, "default", "p", make_binding("node-0"), actor=ACTOR)


def test_a_binding_without_a_target_names_the_field(cluster: Cluster) -> None:
    create_pod(cluster, "p")
    with pytest.raises(Invalid, match=r"target\.name: Required value"):
        store.bind(cluster, "default", "p", {"target": {}}, actor=ACTOR)


def test_a_deletion_with_the_wrong_uid_is_refused(cluster: Cluster) -> None:
    create_pod(cluster, "p")
    with pytest.raises(Conflict, match="the UID in the precondition"):
        store.delete(
            cluster,
            kinds.POD,
            "default",
            "p",
            actor=ACTOR,
            options={"preconditions": {"uid": "another"}},
        )


def test_an_object_with_finalizers_stays_until_they_are_removed(cluster: Cluster) -> None:
    held = pod("p")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    store.create(cluster, kinds.POD, held, actor=ACTOR, namespace="default")
    mark_deleted = store.delete(cluster, kinds.POD, "default", "p", actor=ACTOR)
    assert mark_deleted["metadata"]["deletionTimestamp"]
    store.patch(
        cluster,
        kinds.POD,
        "default",
        "p",
        lambda body: {**body, "metadata": {**body["metadata"], "finalizers": []}},
        actor=ACTOR,
    )
    with pytest.raises(NotFound):
        queries.get(cluster, kinds.POD, "default", "p")
    last = Change.objects.filter(cluster=cluster, kind="Pod").order_by("version").last()
    assert last is not None and last.type == "DELETED"


def test_a_namespace_has_to_exist(cluster: Cluster) -> None:
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        store.create(cluster, kinds.POD, pod("p"), actor=ACTOR, namespace="nowhere")


def test_nothing_is_created_in_a_terminating_namespace(cluster: Cluster) -> None:
    store.create(
        cluster,
        kinds.NAMESPACE,
        {"metadata": {"name": "old", "finalizers": ["example.com/hold"]}},
        actor=ACTOR,
    )
    store.delete(cluster, kinds.NAMESPACE, "", "old", actor=ACTOR)
    with pytest.raises(Forbidden, match="because it is being terminated"):
        store.create(cluster, kinds.POD, pod("p"), actor=ACTOR, namespace="old")


def test_taints_are_rows_that_follow_their_node(cluster: Cluster) -> None:
    def taint(*taints: dict[str, str]) -> None:
        store.patch(
            cluster,
            kinds.NODE,
            "",
            "node-0",
            lambda body: {**body, "spec": {**body.get("spec", {}), "taints": list(taints)}},
            actor=ACTOR,
        )

    taint({"key": "a", "value": "1", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"})
    rows = Taint.objects.filter(node__cluster=cluster).values_list("key", "value", "effect")
    assert list(rows) == [("a", "1", "NoSchedule"), ("b", "", "NoExecute")]
    taint({"key": "b", "effect": "NoExecute"})
    assert [str(each) for each in Taint.objects.filter(node__cluster=cluster)] == ["b:NoExecute"]
    store.delete(cluster, kinds.NODE, "", "node-0", actor=ACTOR)
    assert not Taint.objects.filter(node__cluster=cluster).exists()
    assert Node.objects.filter(cluster=cluster).count() == 1


def test_one_write_may_change_an_object_twice(cluster: Cluster) -> None:
    create_pod(cluster, "p")
    before = version(cluster)

    def label(key: str) -> Update:
        def change(body: dict[str, Any]) -> dict[str, Any]:
            labels = {**(body["metadata"].get("labels") or {}), key: "x"}
            return {**body, "metadata": {**body["metadata"], "labels": labels}}

        return Update(kinds.POD, "default", "p", change)

    store.write(cluster, [label("a"), label("b")], actor=ACTOR)
    changes = list(Change.objects.filter(cluster=cluster, version__gt=before).order_by("version"))
    assert [change.previous_version for change in changes] == [before, before + 1]
    assert [change.object["metadata"]["labels"] for change in changes] == [
        {"a": "x"},
        {"a": "x", "b": "x"},
    ]
    assert [change.object["metadata"]["resourceVersion"] for change in changes] == [
        str(before + 1),
        str(before + 2),
    ]
