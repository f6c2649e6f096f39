"""A decision told to people: who refused which nodes, and why one node was not taken.

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


@dataclass(frozen=True, slots=True)
class PluginScore:
    """What one plugin gave one node."""

    raw: int
    normalized: int
    weighted: int


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A feasible node's place and scores, in the order of the columns."""

    rank: int
    node: str
    total: int
    scores: Sequence[PluginScore]
    tied: bool
    chosen: bool


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """Why one node was not taken, or that it was."""

    node: str
    refused: Status | None = None
    looked_at: bool = True
    row: ScoreRow | None = None
    chosen: ScoreRow | None = None

    @property
    def behind(self) -> int:
        """How many points it is behind the chosen node."""
        return self.chosen.total - self.row.total if self.row and self.chosen else 0


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


def plugin_columns(decision: Decision) -> list[str]:
    """The scoring plugins: those whose weighted scores differ most between nodes first."""
    spread = {
        name: int(np.ptp(column.weighted)) if len(column.raw) else 0
        for name, column in decision.scores.items()
    }
    return sorted(decision.scores, key=lambda name: (-spread[name], name))


def answer_about(decision: Decision, node: str) -> NodeAnswer | None:
    """Why this node was not taken; None when it was not there."""
    if node not in decision.nodes:
        return None
    row = decision.nodes.index(node)
    if row not in decision.feasible:
        looked_at = decision.node_statuses is not None and bool(
            decision.node_statuses.ids[row] != NOT_LOOKED_AT
        )
        return NodeAnswer(node, refused=decision.status_of(node), looked_at=looked_at)
    return NodeAnswer(node, row=_row_of(decision, node), chosen=_row_of(decision, decision.node))


def _refusal(decision: Decision, number: int, status: Status, rows: NDArray[np.int64]) -> Refusal:
    names = sorted(decision.nodes[row] for row in rows)
    if number == NOT_LOOKED_AT:
        reason = status.message or "not looked at: enough feasible nodes were found before"
        return Refusal(number, "", "not looked at", reason, len(rows), names[:FIRST_NODES])
    return Refusal(
        number, status.plugin, status.code.label, status.message, len(rows), names[:FIRST_NODES]
    )


def _score_row(decision: Decision, columns: Sequence[str], rank: int, place: int) -> ScoreRow:
    row = int(decision.feasible[place])
    scores = [
        PluginScore(
            int(column.raw[place]),
            int(column.normalized[place]),
            int(column.normalized[place]) * column.weight,
        )
        for column in (decision.scores[name] for name in columns)
    ]
    name = decision.nodes[row]
    tied = row in decision.ties
    return ScoreRow(rank, name, int(decision.total[place]), scores, tied, name == decision.node)


def _row_of(decision: Decision, node: str) -> ScoreRow | None:
    """A feasible node's row; None when it has no scores."""
    if not node or not len(decision.total):
        return None
    place = int(np.flatnonzero(decision.feasible == decision.nodes.index(node))[0])
    rank = int((decision.total > decision.total[place]).sum()) + 1
    return _score_row(decision, plugin_columns(decision), rank, place)
