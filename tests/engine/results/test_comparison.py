"""The chosen node beside the runner-up, and one node beside another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from apps.engine.results.comparison import compare_nodes, compare_with_runner_up
from apps.engine.results.scores import score_matrix
from apps.scheduler.decision import Decision
from apps.scheduler.framework.ranking import Ranking
from tests.engine.results.decisions import column, scheduled_decision, unscheduled_decision


@pytest.fixture
def scheduled() -> Decision:
    return scheduled_decision()


def test_a_chosen_node_with_equals_says_with_which_or_how_many(scheduled: Decision) -> None:
    found = compare_with_runner_up(scheduled, score_matrix(scheduled))
    assert found is not None and (found.node, found.other, found.difference) == ("f", "d", 0)
    assert found.sentence == ("f tied with d at 110 points and was picked.")


def test_two_nodes_are_compared_plugin_by_plugin(scheduled: Decision) -> None:
    found = compare_nodes(score_matrix(scheduled), "e", "d")
    assert found is not None and (found.rank, found.other_rank) == (3, 1)
    assert [(share.plugin, share.difference) for share in found.shares] == [
        ("Steep", -60),
        ("Flat", 0),
    ]
    assert found.sentence == "e has 50 points, 60 fewer than d with 110: Steep gave 60 fewer."


def test_the_only_feasible_node_is_compared_with_no_other(scheduled: Decision) -> None:
    scheduled.feasible = np.array([5])
    scheduled.ranking, scheduled.scores = Ranking(scheduled.feasible, np.array([110])), {}
    found = compare_with_runner_up(scheduled, score_matrix(scheduled))
    assert found is not None and (found.other, found.other_total, found.other_rank) == ("", 0, 0)
    assert found.sentence == "f was the only feasible node of 7."


def test_a_refused_node_has_no_comparison(scheduled: Decision) -> None:
    assert compare_nodes(score_matrix(scheduled), "a", "d") is None
    nothing = unscheduled_decision("a")
    assert compare_with_runner_up(nothing, score_matrix(nothing)) is None


def test_why_here_begins_with_the_plugin_that_made_the_greatest_difference(
    scheduled: Decision,
) -> None:
    matrix = score_matrix(scheduled)
    turned = replace(matrix, plugins=matrix.plugins[::-1])
    for node, other in (("e", "d"), ("d", "e")):
        found = compare_nodes(turned, node, other)
        assert found is not None
        assert [share.plugin for share in found.shares] == ["Steep", "Flat"]


def test_plugins_beyond_the_third_are_counted(scheduled: Decision) -> None:
    names = ["A", "B", "C", "D", "E"]
    for rest, words in ((1, "1 other plugin the rest"), (2, "2 other plugins the rest")):
        scheduled.scores = {name: column(9, 5, 9) for name in names[: 3 + rest]}
        found = compare_nodes(score_matrix(scheduled), "d", "e")
        assert found is not None
        assert found.sentence.endswith(f": A gave 4 more, B 4 more, C 4 more, {words}.")
