"""The plugins that look at one node: what passes, what is refused and why, and the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.scheduler.conftest import NewScheduler

MEGABYTE = 1024 * 1024


def decide(scheduler: Scheduler, pod: PodBuilder, *others: NodeBuilder | PodBuilder) -> Any:
    for other in others:
        kind = "Node" if isinstance(other, NodeBuilder) else "Pod"
        scheduler.handle(kind, None, other.obj())
    scheduler.handle("Pod", None, pod.obj())
    decision = scheduler.schedule_one()
    assert decision is not None
    return decision


@pytest.mark.parametrize(
    ("name", "pod", "node", "reasons"),
    [
        ("fits", make_pod().req(cpu="4"), make_node("n"), []),
        ("too much cpu", make_pod().req(cpu="4001m"), make_node("n"), ["Insufficient cpu"]),
        (
            "an extended resource nobody has",
            make_pod().req({"example.com/gpu": 1}),
            make_node("n"),
            ["Insufficient example.com/gpu"],
        ),
        (
            "every reason is told",
            make_pod().req(cpu="9", memory="99Gi"),
            make_node("n").capacity(pods=0),
            ["Too many pods", "Insufficient cpu", "Insufficient memory"],
        ),
        (
            "cordoned",
            make_pod(),
            make_node("n").unschedulable(),
            ["node(s) were unschedulable"],
        ),
        (
            "cordoned but tolerated",
            make_pod().toleration("node.kubernetes.io/unschedulable", operator="Exists"),
            make_node("n").unschedulable(),
            [],
        ),
        (
            "tainted",
            make_pod(),
            make_node("n").taint("gpu", "yes"),
            ["node(s) had untolerated taint(s)"],
        ),
        (
            "taint of another value",
            make_pod().toleration("gpu", "no", "NoSchedule"),
            make_node("n").taint("gpu", "yes"),
            ["node(s) had untolerated taint(s)"],
        ),
        (
            "everything tolerated",
            make_pod().toleration(operator="Exists"),
            make_node("n").taint("gpu", "yes", "NoExecute"),
            [],
        ),
        (
            "label missing",
            make_pod().node_selector({"disk": "ssd"}),
            make_node("n"),
            ["node(s) didn't match Pod's node affinity/selector"],
        ),
        (
            "affinity to this value",
            make_pod().node_affinity_in("disk", "hdd", "ssd"),
            make_node("n").label("disk", "ssd"),
            [],
        ),
        (
            "affinity by name to another node",
            make_pod().node_names("m"),
            make_node("n"),
            ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
        ),
    ],
)
def test_verdict_on_one_node(
    scheduler: Scheduler,
    name: str,
    pod: PodBuilder,
    node: NodeBuilder,
    reasons: Sequence[str],
) -> None:
    status = decide(scheduler, pod, node).status_of("n")
    assert list(status.reasons if status is not None else ()) == reasons, name


@pytest.mark.parametrize(
    ("name", "taken", "wanted", "conflict"),
    [
        ("same port", {}, {}, True),
        ("other protocol", {"protocol": "UDP"}, {}, False),
        ("other address", {"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}, False),
        ("all addresses", {"ip": "10.0.0.1"}, {"ip": "0.0.0.0"}, True),
    ],
)
def test_host_ports(
    scheduler: Scheduler, name: str, taken: Any, wanted: Any, conflict: bool
) -> None:
    running = make_pod("r").host_port(80, **taken).on("n")
    decision = decide(scheduler, make_pod("p").host_port(80, **wanted), make_node("n"), running)
    assert (decision.node == "") is conflict, name


def test_terms_about_names_that_exclude_each_other_refuse_every_node(
    scheduler: Scheduler,
) -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [each]} for each in "ab"]
    pod = make_pod().node_affinity({"matchFields": fields})
    decision = decide(scheduler, pod, make_node("a"), make_node("b"))
    assert decision.pre_filter.reasons == ("pod affinity terms conflict",)
    assert decision.filter_message == "0/2 nodes are available: pod affinity terms conflict."


def test_preferred_taints_lower_the_score(scheduler: Scheduler) -> None:
    decision = decide(
        scheduler,
        make_pod(),
        make_node("clean"),
        make_node("one").taint("a", effect="PreferNoSchedule"),
        make_node("two").taint("a", effect="PreferNoSchedule").taint("b", "", "PreferNoSchedule"),
    )
    scores = [decision.scores_of(node)["TaintToleration"] for node in ("clean", "one", "two")]
    assert scores == [(0, 100, 300), (1, 50, 150), (2, 0, 0)]


def test_preferred_affinity_adds_weights(scheduler: Scheduler) -> None:
    decision = decide(
        scheduler,
        make_pod().prefers_in(10, "disk", "ssd").prefers_in(30, "zone", "a"),
        make_node("both").labels({"disk": "ssd", "zone": "a"}),
        make_node("disk").label("disk", "ssd"),
        make_node("neither"),
    )
    scores = [decision.scores_of(node)["NodeAffinity"] for node in ("both", "disk", "neither")]
    assert scores == [(40, 100, 200), (10, 25, 50), (0, 0, 0)]


def test_added_affinity_holds_for_every_pod_of_the_profile(new_scheduler: NewScheduler) -> None:
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["web"]}]}
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    plugin_config = [{"name": "NodeAffinity", "args": {"addedAffinity": added}}]
    scheduler = new_scheduler({"profiles": [{"pluginConfig": plugin_config}]})
    decision = decide(scheduler, make_pod(), make_node("n"), make_node("w").label("pool", "web"))
    assert decision.node == "w"
    assert decision.status_of("n").reasons == (
        "node(s) didn't match scheduler-enforced node affinity",
    )


def test_image_that_half_of_the_nodes_have_counts_half(scheduler: Scheduler) -> None:
    decision = decide(
        scheduler,
        make_pod().image("app"),
        make_node("has").image(1046 * MEGABYTE, "app:latest"),
        make_node("lacks"),
    )
    assert decision.scores_of("has")["ImageLocality"] == (51, 51, 51)
    assert decision.scores_of("lacks")["ImageLocality"] == (0, 0, 0)


def scoring(strategy: str, **more: Any) -> dict[str, Any]:
    resources = [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]
    args = {"scoringStrategy": {"type": strategy, "resources": resources, **more}}
    return {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}]}


SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]


@pytest.mark.parametrize(
    ("config", "score"),
    [
        (scoring("LeastAllocated"), (75 * 3 + 50) // 4),
        (scoring("MostAllocated"), (25 * 3 + 50) // 4),
        (
            scoring("RequestedToCapacityRatio", requestedToCapacityRatio={"shape": SHAPE}),
            round((25 * 3 + 50) / 4),
        ),
    ],
)
def test_scoring_strategies(
    new_scheduler: NewScheduler, config: dict[str, Any], score: int
) -> None:
    pod = make_pod().req(cpu="1", memory="16Gi")
    decision = decide(new_scheduler(config), pod, make_node("n"))
    assert decision.scores_of("n")["NodeResourcesFit"][0] == score


def test_amounts_beyond_int64_hundredths_are_exact(scheduler: Scheduler) -> None:
    huge = make_node("n").capacity(memory="8E")
    decision = decide(scheduler, make_pod().req(cpu="4", memory="4E"), huge)
    assert decision.scores_of("n")["NodeResourcesFit"][0] == (0 + 50) // 2


def test_best_effort_pod_is_not_balanced(scheduler: Scheduler) -> None:
    decision = decide(scheduler, make_pod(), make_node("n"))
    assert "NodeResourcesBalancedAllocation" in decision.score_skipped


def test_gated_pod_does_not_enter_the_queue(scheduler: Scheduler) -> None:
    scheduler.handle("Node", None, make_node("n").obj())
    gated = make_pod("p").gate("example.com/hold").obj()
    scheduler.handle("Pod", None, gated)
    assert scheduler.schedule_one() is None
    scheduler.handle("Pod", gated, make_pod("p").obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.node == "n"


def test_profile_ignores_the_resources_it_is_told_to(new_scheduler: NewScheduler) -> None:
    args = {"ignoredResourceGroups": ["example.com"]}
    config = {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}]}
    pod = make_pod().req({"example.com/gpu": 1})
    assert decide(new_scheduler(config), pod, make_node("n")).node == "n"
