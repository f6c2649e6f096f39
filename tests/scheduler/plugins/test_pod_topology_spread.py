"""PodTopologySpread: which nodes are refused and why, and how the others are liked."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.objects import ReplicaSet, Service, decode_as
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.scheduler.conftest import NewScheduler

ZONE = "topology.kubernetes.io/zone"
WEB = {"app": "web"}
UNEVEN = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{UNEVEN} (missing required label)"


def node(name: str, zone: str) -> NodeBuilder:
    return make_node(name).hostname().zone(zone)


def web(name: str = "pod") -> PodBuilder:
    return make_pod(name).labels(WEB)


def spread(pod: PodBuilder, **fields: Any) -> PodBuilder:
    """One more constraint: hard, by zone, over the web pods, unless told otherwise."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": WEB},
    }
    pod.body["spec"].setdefault("topologySpreadConstraints", []).append({**constraint, **fields})
    return pod


def decide(scheduler: Scheduler, pod: PodBuilder, *others: NodeBuilder | PodBuilder) -> Any:
    for other in others:
        kind = "Node" if isinstance(other, NodeBuilder) else "Pod"
        scheduler.handle(kind, None, other.obj())
    scheduler.handle("Pod", None, pod.obj())
    decision = scheduler.schedule_one()
    assert decision is not None
    return decision


def reasons(decision: Any) -> dict[str, str]:
    """Node -> why it was refused, "" if it was not."""
    statuses = [decision.node_statuses.at(row) for row in range(len(decision.nodes))]
    return {
        name: status.message if status is not None else ""
        for name, status in zip(decision.nodes, statuses, strict=True)
    }


NODES = (node("a1", "a"), node("a2", "a"), node("b1", "b"), make_node("plain").hostname())
#: two in zone a, none in zone b
RUNNING = (web("r1").on("a1"), web("r2").on("a1"))


@pytest.mark.parametrize(
    ("name", "pod", "running", "a", "b"),
    [
        ("the fuller zone is refused", spread(web()), RUNNING, UNEVEN, ""),
        ("a wider skew is allowed", spread(web(), maxSkew=3), RUNNING, "", ""),
        (
            "a pod that is not counted itself has one more",
            spread(make_pod(), maxSkew=2),
            RUNNING,
            "",
            "",
        ),
        (
            "pods of other namespaces do not count",
            spread(web()),
            [make_pod("r", "other").labels(WEB).on("a1")],
            "",
            "",
        ),
        ("terminating pods do not count", spread(web()), [web("r").on("a1").terminating()], "", ""),
        (
            "too few domains count as an empty one",
            spread(web(), minDomains=3),
            [web("r").on("a1"), web("q").on("b1")],
            UNEVEN,
            UNEVEN,
        ),
        (
            "a zone that the pod cannot use is no domain",
            spread(web()).node_selector({ZONE: "a"}),
            RUNNING,
            "",
            "node(s) didn't match Pod's node affinity/selector",
        ),
        (
            "unless the constraint says so",
            spread(web(), nodeAffinityPolicy="Ignore").node_selector({ZONE: "a"}),
            RUNNING,
            UNEVEN,
            "node(s) didn't match Pod's node affinity/selector",
        ),
        (
            "a selector that is missing selects nothing",
            spread(web(), labelSelector=None),
            RUNNING,
            "",
            "",
        ),
        (
            "keys of labels narrow the selector",
            spread(web().label("hash", "new"), matchLabelKeys=["hash", "absent"]),
            RUNNING,
            "",
            "",
        ),
    ],
)
def test_hard_constraints(
    scheduler: Scheduler,
    name: str,
    pod: PodBuilder,
    running: list[PodBuilder],
    a: str,
    b: str,
) -> None:
    found = reasons(decide(scheduler, pod, *NODES[:3], *running))
    assert found == {"a1": a, "a2": a, "b1": b}


def test_a_node_without_the_label_is_refused_for_good(scheduler: Scheduler) -> None:
    decision = decide(scheduler, spread(web()), *NODES)
    assert reasons(decision) == {"a1": "", "a2": "", "b1": "", "plain": NO_LABEL}


def test_a_tainted_zone_is_a_domain_only_while_taints_are_ignored(
    new_scheduler: NewScheduler,
) -> None:
    nodes = (node("a1", "a"), node("b1", "b").taint("gpu"))
    running = [web("r").on("a1")]
    ignoring = decide(new_scheduler(), spread(web()), *nodes, *running)
    assert reasons(ignoring)["a1"] == UNEVEN
    honoring = decide(new_scheduler(), spread(web(), nodeTaintsPolicy="Honor"), *nodes, *running)
    assert reasons(honoring)["a1"] == ""


def test_two_constraints_count_only_nodes_that_have_both_labels(scheduler: Scheduler) -> None:
    """The web pod runs on a node without a rack, so nobody sees it."""
    nodes = (
        node("a1", "a"),
        node("a2", "a").label("rack", "1"),
        node("b1", "b").label("rack", "2"),
    )
    pod = spread(spread(web()), topologyKey="rack")
    found = reasons(decide(scheduler, pod, *nodes, web("r").on("a1")))
    assert found == {"a1": NO_LABEL, "a2": "", "b1": ""}


def test_soft_constraints_prefer_the_emptier_zone(scheduler: Scheduler) -> None:
    pod = spread(web(), whenUnsatisfiable="ScheduleAnyway")
    decision = decide(scheduler, pod, *NODES, *RUNNING)
    column = decision.scores["PodTopologySpread"]
    # 2 pods * log(2 zones + 2) is 2.77; the node without a zone is ignored.
    assert column.raw.tolist() == [3, 3, 0, 0]
    assert column.normalized.tolist() == [0, 0, 100, 0]
    assert decision.node == "b1"


def test_system_defaults_spread_the_pods_of_a_service_by_host_and_zone(
    scheduler: Scheduler,
) -> None:
    body = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": WEB}}
    scheduler.handle("Service", None, decode_as(Service, body))
    decision = decide(scheduler, web(), *NODES, *RUNNING)
    column = decision.scores["PodTopologySpread"]
    # Hosts: 2 * log(4 + 2) + 2 on a1. Zones, "none" being one: 2 * log(3 + 2) + 4 in zone a.
    assert column.raw.tolist() == [13, 9, 6, 2]
    assert decision.node == "plain"


def test_pods_that_nothing_selects_are_not_spread_by_default(scheduler: Scheduler) -> None:
    decision = decide(scheduler, web(), *NODES, *RUNNING)
    assert "PodTopologySpread" in decision.score_skipped


def test_default_constraints_of_a_profile_can_be_hard(new_scheduler: NewScheduler) -> None:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultConstraints": [constraint], "defaultingType": "List"}
    plugin = {"name": "PodTopologySpread", "args": args}
    scheduler = new_scheduler({"profiles": [{"pluginConfig": [plugin]}]})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "controller": True}
    meta = {"name": "rs", "namespace": "default"}
    selector = {"selector": {"matchLabels": WEB}}
    scheduler.handle(
        "ReplicaSet", None, decode_as(ReplicaSet, {"metadata": meta, "spec": selector})
    )
    pod = web()
    pod.body["metadata"]["ownerReferences"] = [owner]
    found = reasons(decide(scheduler, pod, *NODES[:3], *RUNNING))
    assert found == {"a1": UNEVEN, "a2": UNEVEN, "b1": ""}


def test_pods_decided_but_not_yet_written_count(scheduler: Scheduler) -> None:
    first = decide(scheduler, spread(web("first")), *NODES[:3])
    second = decide(scheduler, spread(web("second")))
    assert {first.node[0], second.node[0]} == {"a", "b"}
