"""A shadow has the objects of another cluster as they are, and nobody else changes them."""

from __future__ import annotations

from typing import Any

import pytest

from apps.administration.clusters.forking import fork_cluster
from apps.administration.clusters.lifecycle import resume
from apps.administration.clusters.settings import change_settings
from apps.administration.shadows.creating import create_shadow
from apps.administration.shadows.following import FOLLOWED
from apps.administration.shadows.mirror import Mirror, ObjectMoved
from apps.administration.shadows.remote import Changed, Listed
from apps.cluster import kinds
from apps.cluster.errors import ApiError, Invalid
from apps.cluster.models import Change, Cluster, Namespace, Node, Pod
from apps.cluster.writes import SITE_MANAGER, Actor
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.engine.models import SecondOpinion
from apps.studies.past.past_version import parse_past_version

pytestmark = pytest.mark.django_db(transaction=True)

NODES, PODS = kinds.NODE, kinds.POD


@pytest.fixture
def shadow() -> Cluster:
    return create_shadow("shadow", "https://real.example:6443", user="ann").cluster


def metadata(name: str, number: int, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "uid": f"00000000-0000-4000-8000-{number:012}",
        "resourceVersion": str(number),
        "creationTimestamp": "2026-11-01T10:00:00Z",
        "managedFields": [{"manager": "kubelet"}],
        **more,
    }


def node(name: str, number: int, cpu: str = "4") -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "metadata": metadata(name, number),
        "spec": {},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(name: str, number: int, cpu: str = "1", **more: Any) -> dict[str, Any]:
    requests = {"requests": {"cpu": cpu}}
    return {
        "metadata": metadata(name, number, namespace="default", **more),
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "c", "image": "i", "resources": requests}],
        },
        "status": {"phase": "Pending"},
    }


def changed(body: dict[str, Any], *, is_deleted: bool = False) -> Changed:
    kind = PODS if "containers" in body["spec"] else NODES
    return Changed(kind, int(body["metadata"]["resourceVersion"]), body, is_deleted)


def bound(body: dict[str, Any], node_name: str) -> dict[str, Any]:
    return {**body, "spec": {**body["spec"], "nodeName": node_name}}


def test_objects_are_as_the_other_cluster_has_them(shadow: Cluster) -> None:
    mirror = Mirror(shadow, FOLLOWED, "prod")
    mirror.replace(Listed(NODES, [node("n1", 1)]))
    mirror.change([changed(pod("a", 2))])
    row = Pod.objects.get(cluster=shadow)
    assert str(row.uid) == "00000000-0000-4000-8000-000000000002"
    assert row.body["metadata"]["creationTimestamp"] == "2026-11-01T10:00:00Z"
    assert row.created_at.isoformat() == "2026-11-01T10:00:00+00:00"
    assert "managedFields" not in row.body["metadata"]
    # no admission of ours: tolerations, priorities and the like are the other API server's
    assert "tolerations" not in row.body["spec"]
    log = Change.objects.filter(cluster=shadow, kind="Pod")
    assert [each.user for each in log] == ["prod"]


def test_what_a_list_does_not_change_is_not_written(shadow: Cluster) -> None:
    listed = Listed(NODES, [node("n1", 1), node("n2", 2)])
    Mirror(shadow, FOLLOWED, "prod").replace(listed)
    version = Cluster.objects.get(pk=shadow.pk).resource_version
    # as after a restart
    again = Mirror(shadow, FOLLOWED, "prod")
    again.replace(listed)
    assert Cluster.objects.get(pk=shadow.pk).resource_version == version
    again.replace(Listed(NODES, [node("n2", 3)]))
    assert [str(each.uid)[-1] for each in Node.objects.filter(cluster=shadow)] == ["3"]
    types = [e.type for e in Change.objects.filter(cluster=shadow, version__gt=version)]
    assert sorted(types) == ["ADDED", "DELETED", "DELETED"]


def test_what_holds_an_object_elsewhere_does_not_hold_it_here(shadow: Cluster) -> None:
    mirror = Mirror(shadow, FOLLOWED, "prod")
    held = pod("a", 2, finalizers=["example.com/hold"])
    mirror.change([changed(held), changed(pod("b", 3)), changed(held, is_deleted=True)])
    assert [each.name for each in Pod.objects.filter(cluster=shadow)] == ["b"]
    # also those that every mock cluster has
    mirror.replace(Listed(kinds.NAMESPACE, []))
    assert not Namespace.objects.filter(cluster=shadow).exists()


def test_several_changes_of_one_object_are_one_after_the_other(shadow: Cluster) -> None:
    mirror = Mirror(shadow, FOLLOWED, "prod")
    first, second = pod("a", 2), pod("a", 9)
    mirror.change(
        [
            *(changed(first), changed(bound(first, "n1"))),
            *(changed(first, is_deleted=True), changed(second), changed(bound(second, "n2"))),
        ]
    )
    mirror.change([changed(bound(second, "n3"))])
    log = Change.objects.filter(cluster=shadow, kind="Pod").order_by("version")
    assert [each.type for each in log] == [
        *("ADDED", "MODIFIED", "DELETED"),
        *("ADDED", "MODIFIED", "MODIFIED"),
    ]
    assert Pod.objects.get(cluster=shadow).node_name == "n3"


def test_nobody_else_changes_a_shadow(shadow: Cluster) -> None:
    mirror = Mirror(shadow, FOLLOWED, "prod")
    mirror.replace(Listed(NODES, [node("n1", 1)]))
    shadow.refresh_from_db()
    actor = Actor("ann", manager=SITE_MANAGER)
    with pytest.raises(ApiError, match="follows another one"):
        store.create(shadow, NODES, {"metadata": {"name": "n2"}}, actor=actor)
    with pytest.raises(ApiError, match="follows another one"):
        store.patch(
            shadow,
            NODES,
            "",
            "n1",
            lambda body: {**body, "spec": {"unschedulable": True}},
            actor=actor,
        )
    with pytest.raises(ApiError, match="follows another one"):
        store.delete(shadow, NODES, "", "n1", actor=actor)
    with pytest.raises(Invalid, match="must be external while it follows another cluster"):
        change_settings(shadow, {"scheduling": "built-in"})
    # if somebody could, it would be noticed
    Node.objects.filter(cluster=shadow).update(
        body={**Node.objects.get(cluster=shadow).body, "metadata": metadata("n1", 1)}
    )
    with pytest.raises(ObjectMoved):
        mirror.change([changed(node("n1", 1, cpu="8"))])


def test_bindings_and_rejections_are_reviewed(shadow: Cluster) -> None:
    engines = Engines()
    mirror = Mirror(shadow, FOLLOWED, "prod")
    mirror.replace(Listed(NODES, [node("n1", 1), node("n2", 2, cpu="8")]))
    small, large, largest = pod("small", 3), pod("large", 4, cpu="6"), pod("largest", 5, cpu="64")
    mirror.change([changed(each) for each in (small, large, largest)])
    engines.run(shadow.pk)

    def rejected(body: dict[str, Any], message: str) -> dict[str, Any]:
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
        }
        return {**body, "status": {"phase": "Pending", "conditions": [condition]}}

    insufficient = (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: "
        "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    mirror.change(
        [
            changed(bound(small, "n1")),
            changed(rejected(large, "0/2 nodes are available: 2 node(s) were unschedulable.")),
            changed(rejected(largest, insufficient)),
        ]
    )
    engines.run(shadow.pk)
    verdicts = dict(SecondOpinion.objects.values_list("name", "verdict"))
    assert verdicts == {"small": "other-node", "large": "feasible", "largest": "same-reasons"}
    opinion = SecondOpinion.objects.get(name="large")
    assert opinion.message.startswith("n2 is feasible; rejected with: 0/2 nodes are available")


def test_a_fork_of_a_shadow_is_scheduled_here(shadow: Cluster) -> None:
    mirror = Mirror(shadow, FOLLOWED, "prod")
    mirror.replace(Listed(NODES, [node("n1", 1)]))
    mirror.change([changed(pod("a", 2))])
    Engines().run(shadow.pk)
    assert Pod.objects.get(cluster=shadow).node_name == ""
    shadow.refresh_from_db()
    fork = fork_cluster(shadow, parse_past_version(shadow, {}), "fork", user="ann")
    resume(fork)
    actor = Actor("ann", manager=SITE_MANAGER)
    store.create(fork, NODES, {"metadata": {"name": "n2"}}, actor=actor)
    Engines().run(fork.pk)
    assert Pod.objects.get(cluster=fork).node_name == "n1"
    assert Pod.objects.get(cluster=shadow).node_name == ""
