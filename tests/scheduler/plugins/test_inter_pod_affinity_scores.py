"""InterPodAffinity: how the nodes that fit are scored."""

from __future__ import annotations

import pytest

from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import attempt, with_args
from tests.scheduler.plugins.affine_pods import HOST, NODES, pod, term, wants


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
    decision = attempt(scheduler, incoming, *NODES, *running)
    column = decision.scores["InterPodAffinity"]
    assert column.raw.tolist() == raw
    assert column.normalized.tolist() == normalized


def test_a_term_that_holds_nowhere_is_not_scored(scheduler: Scheduler) -> None:
    decision = attempt(scheduler, wants(pod(), likes=[(5, term("web"))]), *NODES)
    assert "InterPodAffinity" in decision.score_skipped


def test_the_weight_of_required_affinity_is_a_setting(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler(with_args("InterPodAffinity", hardPodAffinityWeight=7))
    running = wants(pod("r"), near=[term("web")]).on("a1")
    decision = attempt(scheduler, pod(app="web"), *NODES, running)
    assert decision.scores["InterPodAffinity"].raw.tolist() == [7, 7, 0, 0]


def test_wishes_of_running_pods_can_be_left_out(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler(
        with_args("InterPodAffinity", ignorePreferredTermsOfExistingPods=True)
    )
    running = wants(pod("r", "web"), likes=[(2, term("web"))]).on("a1")
    skipped = attempt(scheduler, pod("quiet", "web"), *NODES, running)
    assert "InterPodAffinity" in skipped.score_skipped
    asking = attempt(scheduler, wants(pod("asking", "web"), likes=[(1, term("web", HOST))]))
    assert asking.scores["InterPodAffinity"].raw.max() == 3
