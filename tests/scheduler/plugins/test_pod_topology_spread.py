"""PodTopologySpread: which nodes are refused and why, and how the others are liked."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.objects import ReplicaSet, Service, decode_as
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from apps.scheduler.testing.trial import refusals
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt, explained, with_args

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
    found = refusals(attempt(scheduler, pod, *NODES[:3], *running))
    assert [found.get(name, "") for name in ("a1", "a2", "b1")] == [a, a, b]


def test_a_node_without_the_label_is_refused_for_good(scheduler: Scheduler) -> None:
    decision = attempt(scheduler, spread(web()), *NODES)
    assert refusals(decision) == {"plain": NO_LABEL}


def test_a_tainted_zone_is_a_domain_only_while_taints_are_ignored(
    new_scheduler: NewScheduler,
) -> None:
    nodes = (node("a1", "a"), node("b1", "b").taint("gpu"))
    running = [web("r").on("a1")]
    ignoring = attempt(new_scheduler(), spread(web()), *nodes, *running)
    assert refusals(ignoring)["a1"] == UNEVEN
    honoring = attempt(new_scheduler(), spread(web(), nodeTaintsPolicy="Honor"), *nodes, *running)
    assert "a1" not in refusals(honoring)


def test_two_constraints_count_only_nodes_that_have_both_labels(scheduler: Scheduler) -> None:
    """The web pod runs on a node without a rack, so nobody sees it."""
    nodes = (
        node("a1", "a"),
        node("a2", "a").label("rack", "1"),
        node("b1", "b").label("rack", "2"),
    )
    pod = spread(spread(web()), topologyKey="rack")
    decision = attempt(scheduler, pod, *nodes, web("r").on("a1"))
    assert refusals(decision) == {"a1": NO_LABEL}


def test_soft_constraints_prefer_the_emptier_zone(scheduler: Scheduler) -> None:
    pod = spread(web(), whenUnsatisfiable="ScheduleAnyway")
    decision = attempt(scheduler, pod, *NODES, *RUNNING)
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
    decision = attempt(scheduler, web(), *NODES, *RUNNING)
    column = decision.scores["PodTopologySpread"]
    # Hosts: 2 * log(4 + 2) + 2 on a1. Zones, "none" being one: 2 * log(3 + 2) + 4 in zone a.
    assert column.raw.tolist() == [13, 9, 6, 2]
    assert decision.node == "plain"


def test_pods_that_nothing_selects_are_not_spread_by_default(scheduler: Scheduler) -> None:
    decision = attempt(scheduler, web(), *NODES, *RUNNING)
    assert "PodTopologySpread" in decision.score_skipped


def test_default_constraints_of_a_profile_can_be_hard(new_scheduler: NewScheduler) -> None:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultConstraints": [constraint], "defaultingType": "List"}
    scheduler = new_scheduler(with_args("PodTopologySpread", **args))
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "controller": True}
    meta = {"name": "rs", "namespace": "default"}
    selector = {"selector": {"matchLabels": WEB}}
    scheduler.handle(
        "ReplicaSet", None, decode_as(ReplicaSet, {"metadata": meta, "spec": selector})
    )
    pod = web()
    pod.body["metadata"]["ownerReferences"] = [owner]
    decision = attempt(scheduler, pod, *NODES[:3], *RUNNING)
    assert refusals(decision) == {"a1": UNEVEN, "a2": UNEVEN}


def test_pods_decided_but_not_yet_written_count(scheduler: Scheduler) -> None:
    first = attempt(scheduler, spread(web("first")), *NODES[:3])
    second = attempt(scheduler, spread(web("second")))
    assert {first.node[0], second.node[0]} == {"a", "b"}


def test_a_refusal_is_explained_by_counts_and_skew(scheduler: Scheduler) -> None:
    add(scheduler, *NODES, *RUNNING)
    assert explained(scheduler, spread(web()), "a2") == [
        f"PodTopologySpread: spread constraint 1 ({ZONE}, maxSkew 1): a has 2 matching pods, the "
        "minimum is 0; one more results in a skew of 3 (pods by domain: b 0, a 2)"
    ]
    assert explained(scheduler, spread(web()), "plain") == [
        f"PodTopologySpread: spread constraint 1 ({ZONE}, maxSkew 1): the node has no label {ZONE}"
    ]


def test_preempting_on_a_node_outside_all_domains_changes_no_count(scheduler: Scheduler) -> None:
    """The pods of a node without the topology key are counted nowhere."""
    shop = {"app": "shop"}
    decision = attempt(
        scheduler,
        make_pod("incoming").labels(shop).spread("zone", shop).priority(10).req(cpu="4"),
        make_node("in zone").label("zone", "z1"),
        make_node("outside"),
        make_pod("x").labels(shop).req(cpu="4").on("outside"),
        make_pod("y").labels(shop).req(cpu="4").on("in zone"),
    )
    assert decision.nominating is not None
    assert decision.nominating.nominated_node == "in zone"
