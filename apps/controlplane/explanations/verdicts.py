"""Who refused which nodes: every answer of a decision once, with the nodes that got it.

Pure functions over the columns of a `Decision`: counts and the first rows, never a row a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.decision import Decision
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.status import Status

#: Node names shown of each refusal before one asks for all.
FIRST_NODES = 12
NOT_LOOKED_AT = NodeStatuses.NOT_EVALUATED


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nodes that got the same answer."""

    #: Index of the answer among the decision's statuses; NOT_LOOKED_AT for those nobody asked.
    number: int
    plugin: str
    code: str
    reason: str
    count: int
    first_nodes: Sequence[str]

    @property
    def more(self) -> int:
        return self.count - len(self.first_nodes)

    @property
    def address(self) -> int:
        """The number in addresses, where 0 stands for the nodes nobody asked."""
        return max(self.number, 0)


def refusals(decision: Decision) -> list[Refusal]:
    """Every answer that kept nodes out, the most frequent first, those nobody asked last."""
    statuses = decision.node_statuses
    if statuses is None:
        return []
    known: dict[int, Status | None] = dict(enumerate(statuses.statuses))
    known[NOT_LOOKED_AT] = statuses.absent
    found = [
        _refusal(decision, number, status, rows)
        for number, status in known.items()
        if status is not None and len(rows := rows_with(decision, number))
    ]
    return sorted(found, key=lambda each: (each.number == NOT_LOOKED_AT, -each.count))


def rows_with(decision: Decision, number: int) -> NDArray[np.int64]:
    """The rows that got an answer, by its number."""
    if decision.node_statuses is None:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(decision.node_statuses.ids == number)


def nodes_with(decision: Decision, number: int) -> list[str]:
    """The nodes that got an answer, by name."""
    return sorted(decision.nodes[row] for row in rows_with(decision, number))


def _refusal(decision: Decision, number: int, status: Status, rows: NDArray[np.int64]) -> Refusal:
    names = sorted(decision.nodes[row] for row in rows)
    if number == NOT_LOOKED_AT:
        reason = status.message or "not looked at: enough feasible nodes were found before"
        return Refusal(number, "", "not looked at", reason, len(rows), names[:FIRST_NODES])
    return Refusal(
        number, status.plugin, status.code.label, status.message, len(rows), names[:FIRST_NODES]
    )
