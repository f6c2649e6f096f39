"""A decision to read: three feasible nodes of seven, two answers, two plugins that scored."""

from __future__ import annotations

import numpy as np

from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.plugin_scores import ScoreColumn
from apps.scheduler.framework.ranking import Ranking
from apps.scheduler.framework.status import Code, Status

CPU = Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "NodeResourcesFit")
TAINT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) had untolerated taint",), "Taint")
CLAIM = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("no claim",), "VolumeBinding")


def column(*values: int, weight: int = 1) -> ScoreColumn:
    raw = np.array(values, dtype=np.int64)
    return ScoreColumn(raw, raw, weight)


def scheduled_decision() -> Decision:
    """d to f are feasible; d and f tie, f was drawn. g was not evaluated."""
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
        ranking=Ranking(np.array([3, 4, 5]), np.array([110, 50, 110])),
        draw=1,
        durations={"Filter": 3000, "Score": 1000},
    )


def unscheduled_decision(*nodes: str) -> Decision:
    """An attempt at a pod in a cluster of these nodes, with nothing found yet."""
    return Decision(
        pod_key="default/p", pod_uid="1", profile="x", nodes=nodes, total_nodes=len(nodes)
    )
