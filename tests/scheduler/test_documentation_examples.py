"""The worked examples of the Kubernetes documentation, with its names and numbers."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.decision import Decision
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt

HOSTNAME = "kubernetes.io/hostname"
FOO = {"foo": "bar"}
STORE = {"app": "store"}
WEB_STORE = {"app": "web-store"}


def feasible(decision: Decision) -> set[str]:
    return {decision.nodes[row] for row in decision.feasible}


# Pod Topology Spread Constraints: zoneA holds node1 and node2, zoneB node3 and node4.


def in_zone(zone: str, *nodes: str) -> list[NodeBuilder]:
    return [make_node(node).labels({"zone": zone, "node": node}) for node in nodes]


def running(**pods: str) -> list[PodBuilder]:
    return [make_pod(name).labels(FOO).on(node) for name, node in pods.items()]


def mypod(*topology_keys: str) -> PodBuilder:
    pod = make_pod("mypod").labels(FOO)
    for key in topology_keys:
        pod.spread(key, FOO)
    return pod


def test_a_pod_that_is_spread_by_zone_goes_to_zone_b(scheduler: Scheduler) -> None:
    add(scheduler, *in_zone("zoneA", "node1", "node2"), *in_zone("zoneB", "node3", "node4"))
    add(scheduler, *running(p1="node1", p2="node2", p3="node3"))
    assert feasible(attempt(scheduler, mypod("zone"))) == {"node3", "node4"}


def test_spread_by_zone_and_node_it_can_go_to_node4_alone(scheduler: Scheduler) -> None:
    add(scheduler, *in_zone("zoneA", "node1", "node2"), *in_zone("zoneB", "node3", "node4"))
    add(scheduler, *running(p1="node1", p2="node2", p3="node3"))
    assert attempt(scheduler, mypod("zone", "node")).node == "node4"


def test_conflicting_constraints_leave_the_pod_pending(scheduler: Scheduler) -> None:
    """By zone it belongs to zoneB, which is node3; by node it belongs to node2."""
    add(scheduler, *in_zone("zoneA", "node1", "node2"), *in_zone("zoneB", "node3"))
    add(scheduler, *running(p1="node1", p2="node1", p3="node2", p4="node3", p5="node3"))
    decision = attempt(scheduler, mypod("zone", "node"))
    assert decision.node == ""
    assert decision.filter_message == (
        "0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints."
    )


# Assigning Pods to Nodes: every web server beside a cache, no two of a kind on one node.


def redis_cache(number: int) -> PodBuilder:
    return make_pod(f"redis-cache-{number}").labels(STORE).pod_anti_affinity(HOSTNAME, STORE)


def web_server(number: int) -> PodBuilder:
    pod = make_pod(f"web-server-{number}").labels(WEB_STORE)
    return pod.pod_anti_affinity(HOSTNAME, WEB_STORE).pod_affinity(HOSTNAME, STORE)


def test_web_servers_land_one_by_one_beside_the_caches(scheduler: Scheduler) -> None:
    add(scheduler, *(make_node(f"node-{number}").hostname() for number in (1, 2, 3)))
    caches = [attempt(scheduler, redis_cache(number)).node for number in (1, 2, 3)]
    servers = [attempt(scheduler, web_server(number)).node for number in (1, 2, 3)]
    assert sorted(caches) == sorted(servers) == ["node-1", "node-2", "node-3"]
    assert attempt(scheduler, redis_cache(4)).node == ""
    assert attempt(scheduler, web_server(4)).node == ""


# Resource Bin Packing: RequestedToCapacityRatio with {{0, 0}, {100, 10}}.


def test_requested_to_capacity_ratio_gives_60_and_69(new_scheduler: NewScheduler) -> None:
    strategy = {
        "type": "RequestedToCapacityRatio",
        "resources": [
            {"name": "intel.com/foo", "weight": 5},
            {"name": "memory", "weight": 1},
            {"name": "cpu", "weight": 3},
        ],
        "requestedToCapacityRatio": {
            "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
        },
    }
    plugin_config = [{"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}]
    scheduler = new_scheduler({"profiles": [{"pluginConfig": plugin_config}]})
    add(
        scheduler,
        make_node("node-1").capacity({"intel.com/foo": 4}, memory="1Gi", cpu="8"),
        make_pod("used-1").req({"intel.com/foo": 1}, memory="256Mi", cpu="1").on("node-1"),
        make_node("node-2").capacity({"intel.com/foo": 8}, memory="1Gi", cpu="8"),
        make_pod("used-2").req({"intel.com/foo": 2}, memory="512Mi", cpu="6").on("node-2"),
    )
    pod = make_pod().req({"intel.com/foo": 2}, memory="256Mi", cpu="2")
    decision = attempt(scheduler, pod)
    raw = [decision.scores_of(node)["NodeResourcesFit"][0] for node in ("node-1", "node-2")]
    assert raw == [60, 69]


# Pod Overhead: containers of 500m and 1500m, 100Mi each, and the runtime's 250m and 120Mi.


@pytest.mark.parametrize(
    ("cpu", "memory", "message"),
    [
        ("2250m", "320Mi", ""),
        ("2249m", "320Mi", "0/1 nodes are available: 1 Insufficient cpu."),
        ("2250m", "319Mi", "0/1 nodes are available: 1 Insufficient memory."),
    ],
)
def test_a_pod_with_overhead_needs_2250m_and_320mi(
    scheduler: Scheduler, cpu: str, memory: str, message: str
) -> None:
    add(scheduler, make_node().capacity(cpu=cpu, memory=memory))
    pod = make_pod("test-pod").spec(
        containers=[
            container("busybox-ctr", cpu="500m", memory="100Mi"),
            container("nginx-ctr", cpu="1500m", memory="100Mi"),
        ]
    )
    decision = attempt(scheduler, pod.overhead(cpu="250m", memory="120Mi"))
    assert (decision.filter_message, decision.node == "") == (message, bool(message))


def container(name: str, **requests: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests}}


# Scheduler Performance Tuning: how the scheduler iterates over nodes.


def test_nodes_of_two_zones_are_visited_in_turn() -> None:
    cache = Cache()
    for zone, numbers in {"1": (1, 2, 3, 4), "2": (5, 6)}.items():
        for number in numbers:
            cache.add_node(make_node(str(number)).zone(zone).obj())
    snapshot = Snapshot()
    snapshot.update(cache)
    visited = [snapshot.names[row] for row in snapshot.order]
    assert visited == ["1", "5", "2", "6", "3", "4"]


# Scheduling without opinions.


def test_without_score_plugins_the_first_node_that_fits_is_taken_with_a_score_of_1(
    new_scheduler: NewScheduler,
) -> None:
    everything = {"disabled": [{"name": "*"}]}
    scheduler = new_scheduler(
        {"profiles": [{"plugins": {"preScore": everything, "score": everything}}]}
    )
    add(scheduler, make_node("full").capacity(cpu="1"), make_node("fits"), make_node("later"))
    decision = attempt(scheduler, make_pod().req(cpu="2"))
    assert decision.node == "fits"
    assert decision.total.tolist() == [1]
