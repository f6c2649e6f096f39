"""Which node is taken, and what decided it."""

from __future__ import annotations

import pytest

from apps.scheduler.framework.interface import Victims
from apps.scheduler.preemption.importance import NOT_STARTED
from apps.scheduler.preemption.ranking import (
    Criterion,
    Ranking,
    build_candidate,
    figures,
    figures_table,
    rank_candidates,
)
from apps.scheduler.testing.builders import make_pod


def victims(*pods: tuple[int, str | None], broken: int = 0) -> Victims:
    """Of (priority, second of the start) each, the most important first."""
    return Victims(
        tuple(
            make_pod(f"p{number}")
            .priority(priority)
            .started(second and f"2026-01-01T00:00:{second}Z")
            .info()
            for number, (priority, second) in enumerate(pods)
        ),
        broken,
    )


def rank(found: dict[str, Victims]) -> Ranking:
    candidates = [build_candidate(node, each) for node, each in found.items()]
    return rank_candidates(candidates, figures_table(candidates))


@pytest.mark.parametrize(
    ("criterion", "taken", "other"),
    [
        (Criterion.PDB_VIOLATIONS, victims((9, "01"), (9, "01")), victims((0, "09"), broken=1)),
        (Criterion.HIGHEST_PRIORITY, victims((1, "01"), (1, "01")), victims((2, "09"))),
        (Criterion.PRIORITY_SUM, victims((2, "01"), (0, "01")), victims((2, "09"), (1, "09"))),
        (Criterion.PRIORITY_SUM, victims((-5, "01")), victims((-5, "09"), (-7, "09"))),
        (Criterion.START_TIME, victims((2, "05"), (1, "01")), victims((2, "04"), (1, "09"))),
        (Criterion.START_TIME, victims((2, None)), victims((2, "59"))),
    ],
)
def test_the_first_criterion_that_tells_nodes_apart_decides(
    criterion: Criterion, taken: Victims, other: Victims
) -> None:
    ranking = rank({"a": other, "b": taken})
    assert (ranking.ties, ranking.decided_by) == (("b",), criterion)


def test_fewer_victims_count_when_their_shifted_priorities_have_the_same_sum() -> None:
    many = victims((2**31 - 2, "01"), *[(-(2**31), "01")] * 3)
    few = victims((2**31 - 2, "01"), (-(2**31), "01"))
    ranking = rank({"a": many, "b": few})
    assert (ranking.ties, ranking.decided_by) == (("b",), Criterion.VICTIM_COUNT)


def test_a_criterion_that_leaves_several_nodes_leaves_them_to_the_next() -> None:
    ranking = rank(
        {
            "a": victims((1, "01"), broken=1),
            "b": victims((3, "01")),
            "c": victims((2, "01")),
            "d": victims((2, "02")),
        }
    )
    assert (ranking.ties, ranking.decided_by) == (("d",), Criterion.START_TIME)


def test_nodes_that_nothing_tells_apart_are_ties_by_name() -> None:
    ranking = rank({name: victims((1, "01")) for name in "cab"})
    assert (ranking.ties, ranking.decided_by) == (("a", "b", "c"), Criterion.TIE)


def test_a_single_candidate_needs_no_criterion() -> None:
    ranking = rank({"a": victims((1, "01"))})
    assert (ranking.ties, ranking.decided_by) == (("a",), Criterion.ONLY_CANDIDATE)


def test_figures_are_what_a_page_shows_for_each_criterion() -> None:
    assert figures(victims((7, "01"), (7, None), (-1, "00"), broken=2)) == (
        2,
        7,
        7 + 7 - 1 + 3 * 2**31,
        3,
        1767225601 * 10**6,
    )


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
        ("2026-01-01T01:00:00+02:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z"),
        ("2026-01-01T00:00:00Z", "soon"),
    ],
)
def test_start_times_are_compared_as_times(earlier: str, later: str) -> None:
    first = Victims((make_pod().started(earlier).info(),))
    second = Victims((make_pod().started(later).info(),))
    assert figures(first)[-1] < figures(second)[-1] <= NOT_STARTED
