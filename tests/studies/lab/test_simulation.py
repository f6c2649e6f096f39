"""Simulations: what would land where, on what state, and that nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from apps.cluster.errors import ApiError, BadRequest
from apps.cluster.models import Cluster, Pod
from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.scheduler.config import ConfigError
from apps.studies.lab.simulated_changes import Origin
from apps.studies.lab.simulation import Simulation, SimulationRequest, simulate
from tests.engine.driving import create_pods, pod
from tests.studies.lab.manifests import create_replica_set, manifest

pytestmark = pytest.mark.django_db(transaction=True)

Body = dict[str, Any]
Schedule = Callable[..., None]

PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def priority_class(name: str, value: int) -> Body:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def nodes_of(found: Simulation) -> dict[str, str]:
    return {each.name: each.node for each in found.run.pods.values()}


def test_a_simulation_places_pods_as_the_cluster_then_does_and_writes_nothing(
    cluster: Cluster, schedule: Schedule, row_counts: Callable[[], dict[str, int]]
) -> None:
    schedule(pod("first", cpu="3"))
    wanted = [pod(f"p{number}", cpu=f"{number + 1}") for number in range(5)]
    before = row_counts()
    found = simulate(
        cluster,
        SimulationRequest(objects=[{"apiVersion": "v1", "kind": "Pod", **w} for w in wanted]),
    )
    assert row_counts() == before
    assert found.base.version == cluster.resource_version
    schedule(*wanted)
    really = dict(Pod.objects.filter(name__startswith="p").values_list("name", "node_name"))
    assert nodes_of(found) == really
    scores = dict(
        SchedulingDecision.objects.filter(name__startswith="p").values_list("name", "total_score")
    )
    assert {each.name: each.total_score for each in found.placed} == scores


def test_every_recorded_decision_is_simulated_again_as_it_was(
    cluster: Cluster, schedule: Schedule
) -> None:
    schedule(
        *(pod(f"p{number}", cpu=f"{number % 3 + 1}") for number in range(9)), pod("big", cpu="9")
    )
    for row in SchedulingDecision.objects.filter(cluster=cluster):
        request = SimulationRequest(
            moment={"decision": str(row.pk)}, explain=[f"{row.namespace}/{row.name}"]
        )
        again = simulate(cluster, request).run.pods[str(row.pod_uid)]
        assert (again.node, again.total_score) == (row.node, row.total_score)
        assert again.decision is not None
        assert again.decision.message == read(row).decision.message


def test_a_pod_that_fits_nowhere_gets_the_reason_of_a_real_decision(cluster: Cluster) -> None:
    found = simulate(cluster, SimulationRequest(objects=[manifest("big", cpu="64")]))
    (big,) = found.not_placed
    assert big.sentence == "It needs 64 cpu; the largest node has 8."
    assert big.message.startswith("0/3 nodes are available: 3 Insufficient cpu.")


def test_preemption_is_carried_through_and_victims_of_a_controller_are_replaced(
    cluster: Cluster,
) -> None:
    create_replica_set(cluster, 3, "6")
    request = SimulationRequest(
        objects=[
            {**manifest("urgent", cpu="6", priorityClassName="high")},
            priority_class("high", 1000),
        ]
    )
    found = simulate(cluster, request)
    (victim,) = found.run.preempted
    (urgent,) = found.placed
    assert (urgent.name, urgent.node, urgent.attempts) == ("urgent", victim.node, 2)
    assert (victim.by, victim.priority) == ("default/urgent", 0)
    (waiting,) = found.not_placed
    assert (waiting.origin, waiting.left) == (Origin.REPLACEMENT, victim.node)
    assert found.seconds >= 0


def test_a_drained_node_keeps_nothing_and_a_deleted_one_is_no_target(
    cluster: Cluster, schedule: Schedule
) -> None:
    create_replica_set(cluster, 3, "2")
    schedule(pod("alone", cpu="1", nodeName="node-0"))
    drained = simulate(cluster, SimulationRequest(drain=["node-0"]))
    assert [each.left for each in drained.moved] == ["node-0"]
    assert [each.node for each in drained.moved] != ["node-0"]
    assert [(each.name, each.node) for each in drained.lost] == [("alone", "node-0")]
    deleted = simulate(cluster, SimulationRequest(delete_nodes=["node-0", "node-1"]))
    assert {each.node for each in deleted.moved} == {"node-2"}


def test_nodes_are_added_and_changed(cluster: Cluster) -> None:
    big = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "big"},
        "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}},
    }
    tainted = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-0"},
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    }
    found = simulate(
        cluster, SimulationRequest(objects=[big, tainted, manifest("p", cpu="30"), manifest("q")])
    )
    assert nodes_of(found)["p"] == "big", found.not_placed[0].message
    cordoned = simulate(
        cluster, SimulationRequest(objects=[manifest("q"), tainted], cordon=["node-1", "node-2"])
    )
    assert "untolerated taint" in cordoned.not_placed[0].message


def test_pods_of_a_workload_and_copies_are_scheduled(cluster: Cluster) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 4,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod("x")["spec"]},
        },
    }
    assert len(simulate(cluster, SimulationRequest(objects=[deployment])).placed) == 4
    copies = simulate(cluster, SimulationRequest(objects=[manifest("p", cpu="5")], copies=5))
    assert [each.name for each in copies.placed] == ["p-0", "p-1", "p-2"]
    assert len(copies.not_placed) == 2


def test_another_configuration_decides_otherwise(cluster: Cluster, schedule: Schedule) -> None:
    schedule(pod("first", cpu="1"))
    pods = [manifest("p", cpu="1")]
    assert nodes_of(simulate(cluster, SimulationRequest(objects=pods))) == {"p": "node-1"}
    packed = simulate(cluster, SimulationRequest(objects=pods, configuration=PACKING))
    assert nodes_of(packed) == {"p": "node-0"}
    assert packed.base.configuration.revision is None
    gates = simulate(
        cluster, SimulationRequest(objects=pods, feature_gates={"GenericWorkload": True})
    )
    assert gates.base.configuration.loaded.gates.enabled("GenericWorkload")


def test_a_simulation_starts_from_a_past_version(cluster: Cluster, schedule: Schedule) -> None:
    schedule(pod("a", cpu="6"))
    version = cluster.resource_version
    schedule(pod("b", cpu="6"), pod("c", cpu="6"))
    now = simulate(cluster, SimulationRequest(objects=[manifest("d", cpu="6")]))
    then = simulate(
        cluster,
        SimulationRequest(objects=[manifest("d", cpu="6")], moment={"version": str(version)}),
    )
    assert not now.placed
    assert (nodes_of(then), then.base.version) == ({"d": "node-1"}, version)


def test_pods_that_wait_are_scheduled_before_new_ones_unless_they_are_left_out(
    cluster: Cluster, schedule: Schedule
) -> None:
    schedule(*(pod(f"p{number}", cpu="8") for number in range(3)))
    create_pods(cluster, pod("waiting", cpu="8"))
    cluster.refresh_from_db()
    request = SimulationRequest(objects=[manifest("new", cpu="8")], delete_pods=["default/p0"])
    assert nodes_of(simulate(cluster, request)) == {"waiting": "node-0", "new": ""}
    request.pending = False
    assert nodes_of(simulate(cluster, request)) == {"new": "node-0"}


WRONG: Sequence[tuple[Body, str]] = [
    ({"drain": ["node-9"]}, "drain[0]: there is no node 'node-9' at version"),
    ({"delete_pods": ["default/x"]}, "delete_pods[0]: there is no pod 'default/x'"),
    ({"objects": "a: ["}, "this is not YAML"),
    ({"objects": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}]}, "spec"),
    ({"objects": [manifest("p", cpu="-1")]}, "spec.containers[0].resources.requests"),
    ({"objects": [manifest("p", nodeName="node-0")]}, "spec.nodeName"),
    ({"objects": [manifest("p", priorityClassName="x")]}, "no PriorityClass"),
    (
        {"objects": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}]},
        "Secret",
    ),
    ({"copies": 0}, "copies"),
    ({"moment": {"version": "999999"}}, "version"),
    ({"moment": {"at": "2000-01-01"}}, "the earliest moment is version 1, at="),
    ({"moment": {"version": "1", "decision": "2"}}, "cannot be combined"),
    ({"configuration": "a: b", "revision": 1}, "revision"),
    ({"explain": ["default/x"]}, "explain: pod default/x is not simulated"),
]


def test_a_wrong_request_names_its_field(cluster: Cluster) -> None:
    for wrong, message in WRONG:
        with pytest.raises(ApiError) as raised:
            simulate(cluster, SimulationRequest(**wrong))
        assert message in raised.value.message, wrong


def test_a_wrong_configuration_names_its_field(cluster: Cluster) -> None:
    with pytest.raises(ConfigError) as raised:
        simulate(cluster, SimulationRequest(feature_gates={"NoSuchGate": True}))
    assert [cause.field for cause in raised.value.causes] == ["feature_gates.NoSuchGate"]


def test_a_pod_of_the_cluster_cannot_be_given_again(cluster: Cluster, schedule: Schedule) -> None:
    schedule(pod("a"))
    with pytest.raises(BadRequest, match='pod "default/a" already exists'):
        simulate(cluster, SimulationRequest(objects=[manifest("a")]))


def test_gated_pods_say_what_holds_them(cluster: Cluster) -> None:
    found: Sequence[Any] = simulate(
        cluster, SimulationRequest(objects=[manifest("p", schedulingGates=[{"name": "x"}])])
    ).not_placed
    assert "SchedulingGates" in found[0].message
