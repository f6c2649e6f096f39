"""InterPodAffinity: which nodes are refused and why, and how the others are liked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from apps.scheduler.objects import Namespace, decode_as
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.scheduler.conftest import NewScheduler

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

NODES = (
    make_node("a1").hostname().zone("a"),
    make_node("a2").hostname().zone("a"),
    make_node("b1").hostname().zone("b"),
    make_node("plain"),
)


def term(app: str, key: str = ZONE, **fields: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **fields}


def pod(name: str = "pod", app: str = "", namespace: str = "default") -> PodBuilder:
    return make_pod(name, namespace).labels({"app": app} if app else {})


def wants(
    builder: PodBuilder,
    *,
    near: Sequence[dict[str, Any]] = (),
    away: Sequence[dict[str, Any]] = (),
    likes: Sequence[tuple[int, dict[str, Any]]] = (),
    dislikes: Sequence[tuple[int, dict[str, Any]]] = (),
) -> PodBuilder:
    def weighted(terms: Sequence[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
        return [{"weight": weight, "podAffinityTerm": each} for weight, each in terms]

    affinity = {
        "podAffinity": {REQUIRED: list(near), PREFERRED: weighted(likes)},
        "podAntiAffinity": {REQUIRED: list(away), PREFERRED: weighted(dislikes)},
    }
    return builder.spec(affinity=affinity)


def add(scheduler: Scheduler, *others: NodeBuilder | PodBuilder) -> None:
    for other in others:
        kind = "Node" if isinstance(other, NodeBuilder) else "Pod"
        scheduler.handle(kind, None, other.obj())


def decide(scheduler: Scheduler, incoming: PodBuilder, *others: NodeBuilder | PodBuilder) -> Any:
    add(scheduler, *others, incoming)
    decision = scheduler.schedule_one()
    assert decision is not None
    return decision


def reasons(decision: Any) -> dict[str, str]:
    """Node -> why it was refused; the others are left out."""
    statuses = [decision.node_statuses.at(row) for row in range(len(decision.nodes))]
    return {
        name: status.message
        for name, status in zip(decision.nodes, statuses, strict=True)
        if status is not None
    }


def everywhere(reason: str, *nodes: str) -> dict[str, str]:
    return dict.fromkeys(nodes or ("a1", "a2", "b1", "plain"), reason)


@pytest.mark.parametrize(
    ("name", "incoming", "running", "refused"),
    [
        (
            "near a pod of the zone",
            wants(pod(), near=[term("web")]),
            [pod("r", "web").on("a1")],
            everywhere(AFFINITY, "b1", "plain"),
        ),
        (
            "near nobody",
            wants(pod(), near=[term("web")]),
            [pod("r", "db").on("a1")],
            everywhere(AFFINITY),
        ),
        (
            "the first of a group may go wherever there is a zone",
            wants(pod(app="web"), near=[term("web")]),
            [],
            everywhere(AFFINITY, "plain"),
        ),
        (
            "not the first, if one runs outside of all zones",
            wants(pod(app="web"), near=[term("web")]),
            [pod("r", "web").on("plain")],
            everywhere(AFFINITY, "plain"),
        ),
        (
            "one pod must match all terms",
            wants(pod(), near=[term("web"), term("db")]),
            [pod("r", "web").on("a1"), pod("q", "db").on("a2")],
            everywhere(AFFINITY),
        ),
        (
            "pods of another namespace are not asked for",
            wants(pod(), near=[term("web")]),
            [pod("r", "web", "other").on("a1")],
            everywhere(AFFINITY),
        ),
        (
            "unless it is named",
            wants(pod(), near=[term("web", namespaces=["other"])]),
            [pod("r", "web", "other").on("a1")],
            everywhere(AFFINITY, "b1", "plain"),
        ),
        (
            "or selected",
            wants(pod(), near=[term("web", namespaceSelector={"matchLabels": {"team": "x"}})]),
            [pod("r", "web", "other").on("a1")],
            everywhere(AFFINITY, "b1", "plain"),
        ),
        (
            "away from the zone of a pod",
            wants(pod(), away=[term("web")]),
            [pod("r", "web").on("a1")],
            everywhere(ANTI_AFFINITY, "a1", "a2"),
        ),
        (
            "away from the host of a pod",
            wants(pod(), away=[term("web", HOST)]),
            [pod("r", "web").on("a1")],
            everywhere(ANTI_AFFINITY, "a1"),
        ),
        (
            "a terminating pod is still kept away from",
            wants(pod(), away=[term("web", HOST)]),
            [pod("r", "web").on("a1").terminating()],
            everywhere(ANTI_AFFINITY, "a1"),
        ),
        (
            "the wish of the other counts as well",
            pod(app="web"),
            [wants(pod("r"), away=[term("web")]).on("b1")],
            everywhere(EXISTING, "b1"),
        ),
        (
            "but not if it is about other pods",
            pod(app="db"),
            [wants(pod("r"), away=[term("web")]).on("b1")],
            {},
        ),
        (
            "a term without a selector is about nobody",
            wants(pod(app="web"), away=[{"topologyKey": ZONE}]),
            [pod("r", "web").on("a1")],
            {},
        ),
        (
            "affinity is told before anti-affinity",
            wants(pod(), near=[term("web", HOST)], away=[term("db")]),
            [pod("r", "web").on("b1"), pod("q", "db").on("a1")],
            {"a1": AFFINITY, "a2": AFFINITY, "plain": AFFINITY},
        ),
    ],
)
def test_required_terms(
    scheduler: Scheduler,
    name: str,
    incoming: PodBuilder,
    running: list[PodBuilder],
    refused: dict[str, str],
) -> None:
    body = {"metadata": {"name": "other", "labels": {"team": "x"}}}
    scheduler.handle("Namespace", None, decode_as(Namespace, body))
    assert reasons(decide(scheduler, incoming, *NODES, *running)) == refused


@pytest.mark.parametrize(
    ("name", "incoming", "running", "raw", "normalized"),
    [
        (
            "liked pods attract",
            wants(pod(), likes=[(5, term("web"))]),
            [pod("r", "web").on("a1"), pod("q", "web").on("a2")],
            [10, 10, 0, 0],
            [100, 100, 0, 0],
        ),
        (
            "disliked pods repel",
            wants(pod(), dislikes=[(5, term("web"))]),
            [pod("r", "web").on("a1")],
            [-5, -5, 0, 0],
            [0, 0, 100, 100],
        ),
        (
            "both are summed up",
            wants(pod(), likes=[(1, term("web", HOST))], dislikes=[(3, term("db"))]),
            [pod("r", "web").on("b1"), pod("q", "db").on("b1")],
            [0, 0, -2, 0],
            [100, 100, 0, 100],
        ),
        (
            "running pods like, too",
            pod(app="web"),
            [wants(pod("r"), likes=[(2, term("web"))]).on("a1")],
            [2, 2, 0, 0],
            [100, 100, 0, 0],
        ),
        (
            "and dislike",
            pod(app="web"),
            [wants(pod("r"), dislikes=[(2, term("web"))]).on("a1")],
            [-2, -2, 0, 0],
            [0, 0, 100, 100],
        ),
        (
            "their required affinity counts a little",
            pod(app="web"),
            [wants(pod("r"), near=[term("web")]).on("a1")],
            [1, 1, 0, 0],
            [100, 100, 0, 0],
        ),
        (
            "thirds are cut off",
            wants(pod(), likes=[(1, term("web", HOST)), (2, term("web"))]),
            [pod("r", "web").on("a1")],
            [3, 2, 0, 0],
            [100, 66, 0, 0],
        ),
        (
            "what cancels out leaves nothing to choose",
            wants(pod(), likes=[(1, term("web"))], dislikes=[(1, term("web"))]),
            [pod("r", "web").on("a1")],
            [0, 0, 0, 0],
            [0, 0, 0, 0],
        ),
    ],
)
def test_preferred_terms(
    scheduler: Scheduler,
    name: str,
    incoming: PodBuilder,
    running: list[PodBuilder],
    raw: list[int],
    normalized: list[int],
) -> None:
    decision = decide(scheduler, incoming, *NODES, *running)
    column = decision.scores["InterPodAffinity"]
    assert column.raw.tolist() == raw
    assert column.normalized.tolist() == normalized


def test_a_term_that_holds_nowhere_is_not_scored(scheduler: Scheduler) -> None:
    decision = decide(scheduler, wants(pod(), likes=[(5, term("web"))]), *NODES)
    assert "InterPodAffinity" in decision.score_skipped


def with_args(new_scheduler: NewScheduler, **args: Any) -> Scheduler:
    plugin = {"name": "InterPodAffinity", "args": args}
    return new_scheduler({"profiles": [{"pluginConfig": [plugin]}]})


def test_the_weight_of_required_affinity_is_a_setting(new_scheduler: NewScheduler) -> None:
    scheduler = with_args(new_scheduler, hardPodAffinityWeight=7)
    running = wants(pod("r"), near=[term("web")]).on("a1")
    decision = decide(scheduler, pod(app="web"), *NODES, running)
    assert decision.scores["InterPodAffinity"].raw.tolist() == [7, 7, 0, 0]


def test_wishes_of_running_pods_can_be_left_out(new_scheduler: NewScheduler) -> None:
    scheduler = with_args(new_scheduler, ignorePreferredTermsOfExistingPods=True)
    running = wants(pod("r", "web"), likes=[(2, term("web"))]).on("a1")
    skipped = decide(scheduler, pod("quiet", "web"), *NODES, running)
    assert "InterPodAffinity" in skipped.score_skipped
    asking = decide(scheduler, wants(pod("asking", "web"), likes=[(1, term("web", HOST))]))
    assert asking.scores["InterPodAffinity"].raw.max() == 3


def test_a_namespace_that_changes_its_labels_is_selected_anew(scheduler: Scheduler) -> None:
    wanting = [term("web", namespaceSelector={"matchLabels": {"team": "x"}})]
    running = pod("r", "web", "other").on("a1")
    before = decide(scheduler, wants(pod("p1"), near=wanting), *NODES, running)
    assert reasons(before) == everywhere(AFFINITY)
    body = {"metadata": {"name": "other", "labels": {"team": "x"}}}
    scheduler.handle("Namespace", None, decode_as(Namespace, body))
    after = decide(scheduler, wants(pod("p2"), near=wanting))
    assert after.node in ("a1", "a2")


def test_the_group_follows_its_first_pod_before_anything_is_written(scheduler: Scheduler) -> None:
    first = decide(scheduler, wants(pod("p1", "web"), near=[term("web")]), *NODES)
    second = decide(scheduler, wants(pod("p2", "web"), near=[term("web")]))
    assert first.node[0] == second.node[0]
