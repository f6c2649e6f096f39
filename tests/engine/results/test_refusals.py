"""The refusals of a decision, each answer once with its nodes."""

from __future__ import annotations

import numpy as np
import pytest

from apps.answers import to_json
from apps.engine.results.presenting import read_node_result, read_results
from apps.engine.results.refusals import (
    NOT_EVALUATED,
    count_by_source,
    find_refusal,
    frequent_reasons,
    group_refusals,
)
from apps.scheduler.decision import Decision
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.status import Code, Status, unresolvable
from tests.engine.results.decisions import CLAIM, CPU, scheduled_decision, unscheduled_decision


@pytest.fixture
def scheduled() -> Decision:
    return scheduled_decision()


def test_refusals_are_grouped_with_their_nodes(scheduled: Decision) -> None:
    groups = group_refusals(scheduled)
    assert [(group.number, group.source, group.reason, group.nodes) for group in groups] == [
        (1, "NodeResourcesFit", "Insufficient cpu", ("a", "b")),
        (2, "Taint", "node(s) had untolerated taint", ("c",)),
        (NOT_EVALUATED, "", "not evaluated: 3 feasible nodes were enough", ("g",)),
    ]


def test_a_feasible_node_has_no_refusal(scheduled: Decision) -> None:
    assert find_refusal(scheduled, "d") is None
    found = find_refusal(scheduled, "b")
    assert found is not None and found.plugin == "NodeResourcesFit"


def test_a_large_group_lists_the_first_nodes_and_counts_the_others() -> None:
    decision = unscheduled_decision(*(f"n{number:04}" for number in reversed(range(5000))))
    decision.node_statuses = NodeStatuses(np.ones(5000, dtype=np.int32), [None, CPU])
    [group] = group_refusals(decision)
    assert (group.count, group.more) == (5000, 4988)
    assert list(group.first_nodes) == [f"n{number:04}" for number in range(12)]


def test_answers_with_as_many_nodes_are_ordered_by_plugin_and_reason() -> None:
    def status(reason: str, plugin: str) -> Status:
        return Status(Code.UNSCHEDULABLE, (reason,), plugin)

    answers = [status("y", "B"), status("z", "A"), status("x", "B")]
    decision = unscheduled_decision("a", "b", "c")
    decision.node_statuses = NodeStatuses(np.array([1, 2, 3], dtype=np.int32), [None, *answers])
    groups = group_refusals(decision)
    assert [(group.plugin, group.reason) for group in groups] == [
        ("A", "z"),
        ("B", "x"),
        ("B", "y"),
    ]


def test_nodes_that_pre_filter_left_out_are_told_apart_from_those_not_evaluated(
    scheduled: Decision,
) -> None:
    scheduled.pre_filter_nodes = frozenset("abcdeg")
    assert scheduled.node_statuses is not None
    scheduled.node_statuses.ids[5] = NodeStatuses.NOT_EVALUATED
    scheduled.node_statuses.absent = unresolvable("node(s) didn't satisfy plugin(s) [NodeAffinity]")
    _, left_out, _, unevaluated = group_refusals(scheduled)
    assert (left_out.extension_point, left_out.nodes) == ("PreFilter", ("f",))
    assert left_out.reason == "node(s) didn't satisfy plugin(s) [NodeAffinity]"
    assert (unevaluated.is_evaluated, unevaluated.nodes) == (False, ("g",))
    assert count_by_source(group_refusals(scheduled)) == [
        ("PreFilter", 1),
        ("NodeResourcesFit", 2),
        ("Taint", 1),
        ("", 1),
    ]


@pytest.mark.parametrize("statuses", [None, NodeStatuses.empty(2)])
def test_a_refusal_of_the_pod_by_pre_filter_is_one_of_every_node(
    statuses: NodeStatuses | None,
) -> None:
    decision = unscheduled_decision("b", "a")
    decision.pre_filter, decision.node_statuses = CLAIM, statuses
    [group] = group_refusals(decision)
    assert (group.extension_point, group.plugin) == ("PreFilter", "VolumeBinding")
    assert group.nodes == ("a", "b")


def test_nodes_that_were_not_needed_are_not_evaluated_also_where_pre_filter_left_reasons() -> None:
    """PreFilter names no nodes: none was left out, whatever its status says of absent nodes."""
    decision = unscheduled_decision("a", "b")
    decision.feasible = np.array([0])
    statuses = NodeStatuses(np.array([0, -1], dtype=np.int32), [None])
    statuses.absent = unresolvable("node(s) didn't satisfy plugin(s) [NodeAffinity]")
    decision.node_statuses = statuses
    [group] = group_refusals(decision)
    assert (group.is_evaluated, group.nodes) == (False, ("b",))
    assert group.reason == "not evaluated: 1 feasible nodes were enough"


def test_with_a_nominated_node_the_others_were_not_needed() -> None:
    decision = unscheduled_decision("a", "b")
    decision.node_statuses = NodeStatuses(np.array([0, -1], dtype=np.int32), [None])
    decision.nominated_fast_path = True
    [group] = group_refusals(decision)
    assert group.reason == "not evaluated: the pod fits its nominated node"


def test_an_attempt_that_ended_before_the_filters_has_no_refusals() -> None:
    assert group_refusals(unscheduled_decision("a")) == []


def test_rows_without_a_node_are_in_no_group() -> None:
    decision = unscheduled_decision("a", "")
    decision.node_statuses = NodeStatuses(np.array([1, -1], dtype=np.int32), [None, CPU])
    assert [group.nodes for group in group_refusals(decision)] == [("a",)]


def test_reasons_are_ordered_by_their_nodes_and_limited(scheduled: Decision) -> None:
    assert frequent_reasons(scheduled, 32) == ["Insufficient cpu", "node(s) had untolerated taint"]
    assert frequent_reasons(scheduled, 1) == ["Insufficient cpu"]
    scheduled.rejection = CLAIM
    assert frequent_reasons(scheduled, 1) == ["no claim"]


def test_refusals_as_json_count_and_name_their_nodes(scheduled: Decision) -> None:
    first, _, last = read_results(scheduled, first=1).refusals
    assert to_json(first) == {
        "extension_point": "Filter",
        "plugin": "NodeResourcesFit",
        "code": "Unschedulable",
        "reasons": ["Insufficient cpu"],
        "count": 2,
        "nodes": ["a"],
    }
    assert (last.extension_point, last.code, last.nodes) == ("", "", ("g",))


def test_a_node_as_json_has_its_refusal_or_its_scores(scheduled: Decision) -> None:
    refused = to_json(read_node_result(scheduled, "c"))
    assert refused["refusal"]["plugin"] == "Taint"
    assert (refused["scores"], refused["total"], refused["rank"]) == ([], None, None)
    feasible = to_json(read_node_result(scheduled, "e"))
    assert (feasible["refusal"], feasible["total"], feasible["rank"]) == (None, 50, 3)
    assert feasible["scores"][0] == {
        "plugin": "Steep",
        "weight": 2,
        "raw": 20,
        "normalized": 20,
        "weighted": 40,
    }
    with pytest.raises(KeyError):
        read_node_result(scheduled, "z")
