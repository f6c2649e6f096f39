"""Questions about capacity, answered by simulation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.studies.lab.emptying import find_emptiable_nodes
from apps.studies.lab.failures import simulate_failures
from apps.studies.lab.fitting import count_fitting
from apps.studies.lab.planning import Shape, plan_nodes
from apps.studies.lab.simulation import SimulationRequest
from tests.engine.driving import pod
from tests.studies.lab.manifests import create_replica_set, manifest

pytestmark = pytest.mark.django_db(transaction=True)


def shape(name: str, cpu: int, price: float) -> Shape:
    return Shape(
        name, {"status": {"allocatable": {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}}}, price
    )


def test_copies_of_a_pod_are_counted_until_none_fits(
    cluster: Cluster, schedule: Callable[..., None]
) -> None:
    schedule(pod("first", cpu="4"))
    found = count_fitting(cluster, SimulationRequest(objects=[manifest("p", cpu="3")]))
    assert (found.count, found.limited) == (5, False)
    assert found.nodes == {"node-1": 2, "node-2": 2, "node-0": 1}
    assert found.sentence == "It needs 3 cpu, which none of the 3 nodes has free."
    # the pod may preempt; that its copies do not is no property of it
    assert found.message == "0/3 nodes are available: 3 Insufficient cpu."
    limited = count_fitting(cluster, SimulationRequest(objects=[manifest("p", cpu="3")]), limit=2)
    assert (limited.count, limited.limited) == (2, True)
    with pytest.raises(BadRequest, match="objects: must have exactly one pod, not 2"):
        count_fitting(cluster, SimulationRequest(objects=[manifest("p"), manifest("q")]))


def test_the_least_number_of_nodes_and_the_cheapest_mix_are_found(cluster: Cluster) -> None:
    pods = [manifest(f"p{number}", cpu="6") for number in range(8)]
    request = SimulationRequest(objects=pods)
    plan = plan_nodes(cluster, request, [shape("large", 24, 3.5), shape("small", 6, 1.0)])
    assert [(each.shape, each.nodes, each.cost) for each in plan.shapes] == [
        ("large", 2, 7.0),
        ("small", 5, 5.0),
    ]
    # three fit already; four on a large node cost less than on four small ones
    assert (plan.mix, plan.cost) == ({"large": 1, "small": 1}, 4.5)
    assert plan.placed == 8
    assert not plan.impossible


def test_a_pod_that_no_shape_can_hold_is_named(cluster: Cluster) -> None:
    pods = [manifest("huge", cpu="100"), *(manifest(f"p{number}", cpu="8") for number in range(4))]
    plan = plan_nodes(cluster, SimulationRequest(objects=pods), [shape("small", 8, 1)])
    assert plan.mix == {"small": 1}
    assert list(plan.impossible) == ["default/huge"]


def test_nodes_whose_pods_fit_elsewhere_could_be_emptied(
    cluster: Cluster, schedule: Callable[..., None]
) -> None:
    create_replica_set(cluster, 3, "3")
    schedule(pod("alone", cpu="4", nodeName="node-2"))
    found = find_emptiable_nodes(cluster, SimulationRequest())
    by_name = {each.node: each for each in found.nodes}
    assert [each.node for each in found.nodes] == ["node-0", "node-1", "node-2"]
    assert by_name["node-0"].can_be_emptied
    assert set(by_name["node-0"].moves.values()) <= {"node-1", "node-2"}
    assert by_name["node-2"].unmanaged == ["default/alone"]
    assert found.together == ["node-0"]
    blocked = find_emptiable_nodes(
        cluster, SimulationRequest(cordon=["node-1", "node-2"]), nodes=["node-0"]
    )
    assert not blocked.nodes[0].can_be_emptied
    assert "unschedulable" in blocked.nodes[0].reason


def test_the_death_of_each_node_is_simulated_alone(cluster: Cluster) -> None:
    create_replica_set(cluster, 3, "6")
    found = simulate_failures(cluster, SimulationRequest(), ["node-1"])
    (failure,) = found.nodes
    assert (failure.node, failure.moved, failure.waiting) == ("node-1", 0, 1)
    assert len(simulate_failures(cluster, SimulationRequest(), []).nodes) == 3
    with pytest.raises(BadRequest, match=r"nodes\[0\]: there is no node 'x'"):
        simulate_failures(cluster, SimulationRequest(), ["x"])
