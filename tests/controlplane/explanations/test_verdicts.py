"""A decision as the page tells it: the refusals."""

from __future__ import annotations

import numpy as np
import pytest

from apps.controlplane.explanations import verdicts
from apps.controlplane.explanations.verdicts import NOT_LOOKED_AT
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.scoring import ScoreColumn
from apps.scheduler.framework.status import Code, Status

CPU = Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "NodeResourcesFit")
TAINT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) had untolerated taint",), "Taint")


def column(*values: int, weight: int = 1) -> ScoreColumn:
    raw = np.array(values, dtype=np.int64)
    return ScoreColumn(raw, raw, weight)


@pytest.fixture
def scheduled() -> Decision:
    """d to f are feasible; d and f tie, f was drawn. g was not looked at."""
    statuses = NodeStatuses(np.array([1, 1, 2, 0, 0, 0, -1], dtype=np.int32), [None, CPU, TAINT])
    return Decision(
        pod_key="default/p",
        pod_uid="1",
        profile="default-scheduler",
        result=Result.SCHEDULED,
        node="f",
        nodes=("a", "b", "c", "d", "e", "f", "g"),
        total_nodes=7,
        node_statuses=statuses,
        evaluated=6,
        feasible=np.array([3, 4, 5]),
        scores={"Flat": column(10, 10, 10), "Steep": column(50, 20, 50, weight=2)},
        total=np.array([110, 50, 110]),
        ties=np.array([3, 5]),
        draw=1,
        durations={"Filter": 3000, "Score": 1000},
    )


def test_refusals_are_grouped_with_their_nodes(scheduled: Decision) -> None:
    found = verdicts.refusals(scheduled)
    assert [(each.plugin, each.reason, each.count, each.first_nodes) for each in found] == [
        ("NodeResourcesFit", "Insufficient cpu", 2, ["a", "b"]),
        ("Taint", "node(s) had untolerated taint", 1, ["c"]),
        ("", "not looked at: enough feasible nodes were found before", 1, ["g"]),
    ]
    assert [each.address for each in found] == [1, 2, 0]
    assert verdicts.nodes_with(scheduled, NOT_LOOKED_AT) == ["g"]


def test_a_long_refusal_names_the_first_nodes_and_counts_the_others() -> None:
    names = tuple(f"n{number:04}" for number in range(5000))
    statuses = NodeStatuses(np.ones(5000, dtype=np.int32), [None, CPU])
    decision = Decision(
        pod_key="default/p", pod_uid="1", profile="x", nodes=names, node_statuses=statuses
    )
    [refusal] = verdicts.refusals(decision)
    assert refusal.count == 5000
    assert list(refusal.first_nodes) == [f"n{number:04}" for number in range(12)]
    assert refusal.more == 4988


def test_an_attempt_that_ended_before_the_filters_has_no_refusals() -> None:
    decision = Decision(pod_key="default/p", pod_uid="1", profile="x", total_nodes=0)
    assert verdicts.refusals(decision) == []
