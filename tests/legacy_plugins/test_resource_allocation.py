"""The scorers by resources of releases before 1.23, with the numbers of their documents."""

from __future__ import annotations

from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.trial import scores
from tests.legacy_plugins.policies import converted, scoring_by, under_policy
from tests.scheduler.cycle import add, attempt


def test_cpu_and_memory_are_compared_as_the_documents_reckon() -> None:
    """Two machines of 4000m and 6000m and 10000 bytes; a pod of 3000m and 5000 bytes."""
    priorities = ("LeastRequestedPriority", "MostRequestedPriority", "BalancedResourceAllocation")
    scheduler = under_policy(["GeneralPredicates"], dict.fromkeys(priorities, 1))
    add(scheduler, make_node("small").capacity(cpu="4", memory=10000))
    add(scheduler, make_node("large").capacity(cpu="6", memory=10000))
    decision = attempt(scheduler, make_pod("p").req(cpu="3", memory=5000))
    raw = {
        plugin: [scores(decision, plugin)[node][0] for node in ("small", "large")]
        for plugin in decision.scores
    }
    assert raw == {
        "NodeResourcesLeastAllocated": [(25 + 50) // 2, 50],
        "NodeResourcesMostAllocated": [(75 + 50) // 2, 50],
        "NodeResourcesBalancedAllocationLegacy": [75, 100],
    }


def test_a_node_that_is_used_up_is_never_even() -> None:
    scheduler = under_policy(["HostName"], {"BalancedResourceAllocation": 1})
    add(scheduler, make_node("n").capacity(cpu="1", memory="1Gi"))
    add(scheduler, make_node("m").capacity(cpu="0", memory="1Gi"))
    decision = attempt(scheduler, make_pod("p").req(cpu="1", memory="1Gi"))
    found = scores(decision, "NodeResourcesBalancedAllocationLegacy")
    assert found == {"n": (0, 0, 0), "m": (0, 0, 0)}


def test_a_resource_that_a_node_does_not_have_counts_as_used_up() -> None:
    resources = [{"name": "intel.com/foo", "weight": 1}]
    scheduler = scoring_by("NodeResourcesLeastAllocated", resources=resources)
    add(scheduler, make_node("n").capacity({"intel.com/foo": 4}), make_node("m"))
    decision = attempt(scheduler, make_pod("p"))
    assert scores(decision, "NodeResourcesLeastAllocated") == {"n": (100, 100, 100), "m": (0, 0, 0)}


def test_requested_to_capacity_ratio_gives_5_and_7_as_documented() -> None:
    """Resource bin packing for extended resources, in the arithmetic of 0 to 10."""
    ratio = {
        "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
        "resources": [
            {"name": "intel.com/foo", "weight": 5},
            {"name": "cpu", "weight": 3},
            {"name": "memory", "weight": 1},
        ],
    }
    policy = {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [{"name": "GeneralPredicates"}],
        "priorities": [
            {
                "name": "RequestedToCapacityRatioPriority",
                "weight": 2,
                "argument": {"requestedToCapacityRatioArguments": ratio},
            }
        ],
    }
    scheduler = converted(policy)
    add(scheduler, make_node("node-1").capacity({"intel.com/foo": 4}, memory="1Gi", cpu="8"))
    add(scheduler, make_node("node-2").capacity({"intel.com/foo": 8}, memory="1Gi", cpu="8"))
    used_1 = make_pod("a").req({"intel.com/foo": 1}, memory="256Mi", cpu="1")
    used_2 = make_pod("b").req({"intel.com/foo": 2}, memory="512Mi", cpu="6")
    add(scheduler, used_1.on("node-1"), used_2.on("node-2"))
    pod = make_pod("p").req({"intel.com/foo": 2}, memory="256Mi", cpu="2")
    found = scores(attempt(scheduler, pod), "RequestedToCapacityRatio")
    assert found == {"node-1": (5, 50, 100), "node-2": (7, 70, 140)}


def test_without_a_shape_the_score_rises_with_the_use() -> None:
    scheduler = scoring_by("RequestedToCapacityRatio")
    add(scheduler, make_node("n").capacity(cpu="10", memory="10Gi"))
    decision = attempt(scheduler, make_pod("p").req(cpu="3", memory="5Gi"))
    assert scores(decision, "RequestedToCapacityRatio") == {"n": (4, 40, 40)}
