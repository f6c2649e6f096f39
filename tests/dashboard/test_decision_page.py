"""The parts of a decision's page: the funnel, the scores, preemption, the durations."""

from __future__ import annotations

import numpy as np
import pytest

from apps.dashboard.decision_page.funnel import FunnelStep, funnel_steps
from apps.dashboard.decision_page.inputs import score_block
from apps.dashboard.decision_page.preemption import preemption_table
from apps.dashboard.decision_page.scores import ScoreTable, score_table
from apps.dashboard.decision_page.waterfall import waterfall_stages
from apps.engine.results.refusals import group_refusals
from apps.engine.results.scores import score_matrix
from apps.scheduler.decision import Decision
from apps.scheduler.explaining.scores import ScoreInputs
from apps.scheduler.framework.batch import BatchHint
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.interface import Candidate, NominatingInfo, PostFilterResult
from apps.scheduler.framework.status import Code, Status
from apps.scheduler.preemption.importance import NOT_STARTED
from apps.scheduler.preemption.ranking import PRIORITY_SHIFT
from tests.engine.results.decisions import CLAIM, CPU, scheduled_decision, unscheduled_decision


@pytest.fixture
def scheduled() -> Decision:
    """d to f are feasible; d and f tie, f was drawn. g was not evaluated."""
    return scheduled_decision()


def funnel(decision: Decision) -> list[FunnelStep]:
    return funnel_steps(decision, group_refusals(decision))


def names(table: ScoreTable) -> list[str]:
    return [row.node for row in table.page.rows]


def test_the_funnel_goes_from_all_nodes_to_one_and_names_the_plugins(
    scheduled: Decision,
) -> None:
    steps = funnel(scheduled)
    assert [(step.name, step.nodes, step.out, step.detail) for step in steps] == [
        ("nodes in the cluster", 7, False, ""),
        ("rejected by NodeResourcesFit", 2, True, ""),
        ("rejected by Taint", 1, True, ""),
        ("not evaluated", 1, True, ""),
        ("feasible", 3, False, ""),
        ("scored", 3, False, ""),
        ("with the best score", 2, False, "110 points"),
        ("selected", 1, False, "f"),
    ]
    first = steps[1]
    assert first.start == pytest.approx(500 / 7) and first.width == pytest.approx(200 / 7)


def test_nodes_that_pre_filter_excludes_are_not_counted_as_not_evaluated(
    scheduled: Decision,
) -> None:
    scheduled.pre_filter_nodes = frozenset("abcdef")
    out = [(step.name, step.nodes) for step in funnel(scheduled) if step.out]
    assert ("rejected by PreFilter", 1) in out
    assert "not evaluated" not in dict(out)


def test_a_rejection_by_pre_filter_rejects_every_node() -> None:
    decision = unscheduled_decision("a", "b")
    decision.pre_filter = CLAIM
    for statuses in (None, NodeStatuses.empty(2)):
        decision.node_statuses = statuses
        assert [(step.name, step.nodes) for step in funnel(decision)] == [
            ("nodes in the cluster", 2),
            ("rejected by VolumeBinding", 2),
            ("feasible", 0),
            ("selected", 0),
        ]


def test_rows_are_ranked_and_marked_as_tied_and_chosen(scheduled: Decision) -> None:
    table = score_table(score_matrix(scheduled), {})
    assert [(row.rank, row.node, row.total) for row in table.page.rows] == [
        (1, "f", 110),
        (1, "d", 110),
        (3, "e", 50),
    ]
    assert [(row.chosen, row.tied) for row in table.page.rows] == [
        (True, True),
        (False, True),
        (False, False),
    ]


def test_a_cell_shows_the_value_that_the_address_selects(scheduled: Decision) -> None:
    matrix = score_matrix(scheduled)
    steep, flat = score_table(matrix, {"value": "normalized"}).page.rows[0].cells
    assert (steep.score.plugin, steep.shown, steep.shade) == ("Steep", 50, 2)
    assert (flat.score.plugin, flat.shown, flat.shade) == ("Flat", 10, 0)
    assert score_table(matrix, {}).page.rows[0].cells[0].shown == 100


def test_scores_are_sorted_and_filtered_as_the_address_says(scheduled: Decision) -> None:
    matrix = score_matrix(scheduled)
    assert names(score_table(matrix, {"sort": "-node"})) == ["f", "e", "d"]
    assert names(score_table(matrix, {"sort": "Steep"})) == ["e", "f", "d"]
    assert names(score_table(matrix, {"only": "tied"})) == ["f", "d"]
    assert names(score_table(matrix, {"q": "d"})) == ["d"]
    assert names(score_table(matrix, {"sort": "nonsense", "value": "nonsense"})) == ["f", "d", "e"]


def test_an_attempt_that_scored_nothing_has_no_rows() -> None:
    assert list(score_table(score_matrix(unscheduled_decision()), {}).page.rows) == []


def candidate(node: str, *victims: str, pdb: int = 0, top: int = 5, start: int = 1) -> Candidate:
    total = len(victims) * (PRIORITY_SHIFT + top)
    return Candidate(node, victims, pdb, (pdb, top, total, len(victims), start))


def test_each_candidate_for_preemption_shows_the_criterion_that_eliminated_it() -> None:
    decision = unscheduled_decision("a", "b", "c")
    decision.post_filter_status = Status(Code.SUCCESS)
    decision.nominating = NominatingInfo("b")
    decision.post_filter = PostFilterResult(
        candidates=(
            candidate("a", "default/x", pdb=1),
            candidate("b", "default/y", start=NOT_STARTED),
            candidate("c", "default/z", "default/w"),
            candidate("d", "default/v", top=9),
        ),
        decided_by="smallest sum of the victims' priorities",
    )
    table = preemption_table(decision)
    assert table is not None and table.decided_by == "smallest sum of the victims' priorities"
    assert [(row.node, row.chosen, row.lost_by) for row in table.rows] == [
        ("b", True, ""),
        ("c", False, "smallest sum of the victims' priorities"),
        ("d", False, "lowest priority of the most important victim"),
        ("a", False, "fewest PodDisruptionBudget violations"),
    ]
    taken = table.rows[0]
    assert [figure.text for figure in taken.figures] == [
        "0",
        "5",
        "2,147,483,653",
        "1",
        "not started",
    ]
    assert [figure.lost for figure in table.rows[1].figures] == [False, False, True, False, False]
    assert table.rows[1].figures[4].text == "1970-01-01 00:00:00"


def test_without_preemption_there_is_no_table() -> None:
    assert preemption_table(unscheduled_decision("a", "b", "c")) is None


def test_nodes_where_evictions_would_not_help_are_counted_by_reason() -> None:
    decision = unscheduled_decision("a", "b", "c")
    decision.post_filter_status = Status(Code.UNSCHEDULABLE, ("preemption: nothing helps",))
    tried = NodeStatuses(np.array([1, 1, -1], dtype=np.int32), [None, CPU])
    decision.post_filter = PostFilterResult(node_statuses=tried)
    table = preemption_table(decision)
    assert table is not None and not table.rows
    assert [(each.reason, each.count) for each in table.unhelpful] == [("Insufficient cpu", 2)]


def test_durations_are_shares_of_the_attempt_with_plugins_below_extension_points(
    scheduled: Decision,
) -> None:
    scheduled.plugin_durations = {"Score": {"Flat": 400, "Steep": 200}}
    first, second = waterfall_stages(scheduled)
    assert (first.span.name, first.span.start, first.span.width) == ("Filter", 0, 75)
    assert (second.span.name, second.span.start, second.span.share) == ("Score", 75, 25)
    assert list(first.plugins) == []
    assert [(each.name, each.start, each.width) for each in second.plugins] == [
        ("Flat", 75, 10),
        ("Steep", 85, 5),
    ]


def test_shares_are_shown_with_the_digits_that_the_score_needs() -> None:
    """With a deviation of 0.03 the evenness would be 97."""
    figures = {"mean": 0.0574829, "deviation": 0.030017089, "evenness": 96}
    balance = Detail("mean 0.0574829, standard deviation 0.0300171", figures)
    inputs = (balance, Detail("50 + (50 + 96 − 100) / 2 = 73", {"score": 73}))
    (table,) = score_block(
        ScoreInputs("n", "NodeResourcesBalancedAllocation", 1, 73, 73, 73, inputs, ())
    ).tables
    assert [each.label for each in table.columns] == ["Mean", "Deviation", "Evenness"]
    assert list(map(list, table.rows)) == [["0.0574829", "0.0300171", "96"]]


def test_a_pod_of_a_batch_has_no_scores_in_its_funnel(scheduled: Decision) -> None:
    scheduled.hint = BatchHint("f", "default/first", "0", 1)
    scheduled.nominated_fast_path = True
    names = [step.name for step in funnel(scheduled)]
    assert "scored" not in names and "with the best score" not in names
