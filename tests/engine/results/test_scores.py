"""The score matrix of a decision: its order, its shades, its JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from apps.answers import to_json
from apps.engine.results.scores import ScoreMatrix, compute_shades, score_matrix
from apps.scheduler.decision import Decision
from tests.engine.results.decisions import column, scheduled_decision, unscheduled_decision

LEAST, MOST = -(2**63), 2**63 - 1


@pytest.fixture
def scheduled() -> Decision:
    return scheduled_decision()


def sort(matrix: ScoreMatrix, key: str, value: str = "raw", *, descending: bool = False) -> str:
    """The nodes in another order."""
    places = matrix.sort(matrix.find(), key, value=value, descending=descending)
    return "".join(matrix.nodes[place] for place in places.tolist())


def test_the_best_come_first_and_the_chosen_one_before_its_equals(scheduled: Decision) -> None:
    matrix = score_matrix(scheduled)
    assert list(matrix.nodes) == ["f", "d", "e"]
    assert matrix.ranks.tolist() == [1, 1, 3]
    assert matrix.total.tolist() == [110, 110, 50]
    assert (matrix.tied, matrix.chosen) == (2, True)


def test_the_plugin_that_decides_most_is_the_first_column(scheduled: Decision) -> None:
    matrix = score_matrix(scheduled)
    assert [(plugin.name, plugin.weight) for plugin in matrix.plugins] == [
        ("Steep", 2),
        ("Flat", 1),
    ]
    steep, flat = matrix.scores_at(2)
    assert (steep.raw, steep.normalized, steep.weighted) == (20, 20, 40)
    assert flat.weighted == 10


def test_the_matrix_is_sorted_by_name_by_total_and_by_plugin(scheduled: Decision) -> None:
    matrix = score_matrix(scheduled)
    assert (sort(matrix, "rank"), sort(matrix, "rank", descending=True)) == ("fde", "edf")
    assert (sort(matrix, "node"), sort(matrix, "node", descending=True)) == ("def", "fed")
    assert (sort(matrix, "total"), sort(matrix, "total", descending=True)) == ("efd", "fde")
    assert (sort(matrix, "Steep"), sort(matrix, "Flat", descending=True)) == ("efd", "fde")


def test_scores_of_64_bits_are_sorted_and_shaded_without_wrapping(scheduled: Decision) -> None:
    scheduled.scores["Huge"] = column(MOST, LEAST, 2**53 + 1)
    matrix = score_matrix(scheduled)
    assert (sort(matrix, "Huge"), sort(matrix, "Huge", descending=True)) == ("efd", "dfe")
    huge = next(plugin for plugin in matrix.plugins if plugin.name == "Huge")
    assert compute_shades(huge.raw).tolist() == [2, 5, 0]
    assert json.loads(json.dumps(to_json(matrix)["plugins"]))[0]["raw"] == [
        2**53 + 1,
        MOST,
        LEAST,
    ]


def test_shades_are_in_proportion_to_the_highest_possible_score() -> None:
    assert compute_shades(np.array([74, 75]), 100).tolist() == [3, 3]
    assert compute_shades(np.array([0, 300]), 300).tolist() == [0, 5]
    assert compute_shades(np.array([0, 50, 100])).tolist() == [0, 2, 5]
    assert compute_shades(np.array([7, 7, 7])).tolist() == [5, 5, 5]
    assert compute_shades(np.array([0, 0])).tolist() == [0, 0]
    assert compute_shades(np.array([-100, 0, 100])).tolist() == [0, 2, 5]
    assert compute_shades(np.array([], dtype=np.int64)).tolist() == []


def test_the_highest_scores_follow_from_the_weights(scheduled: Decision) -> None:
    matrix = score_matrix(scheduled)
    for plugin in matrix.plugins:
        assert plugin.highest("weighted") == 100 * plugin.weight
        assert (plugin.highest("normalized"), plugin.highest("raw")) == (100, 0)
    assert matrix.highest_total == 100 * sum(plugin.weight for plugin in matrix.plugins)


def test_the_matrix_as_json_is_columns_in_its_order(scheduled: Decision) -> None:
    assert to_json(score_matrix(scheduled)) == {
        "nodes": ["f", "d", "e"],
        "ranks": [1, 1, 3],
        "total": [110, 110, 50],
        "tied": 2,
        "chosen": True,
        "plugins": [
            {"plugin": "Steep", "weight": 2, "raw": [50, 50, 20], "normalized": [50, 50, 20]},
            {"plugin": "Flat", "weight": 1, "raw": [10, 10, 10], "normalized": [10, 10, 10]},
        ],
    }


def test_an_attempt_that_scored_nothing_has_an_empty_matrix() -> None:
    matrix = score_matrix(unscheduled_decision("a"))
    assert to_json(matrix)["nodes"] == [] and matrix.find("a").tolist() == []
    assert sort(matrix, "node") == ""
