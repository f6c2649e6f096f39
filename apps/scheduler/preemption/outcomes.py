"""What the dry run found on each row, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import Candidate, Victims
from apps.scheduler.framework.node_columns import BoolArray, Int64Array
from apps.scheduler.framework.status import Status
from apps.scheduler.preemption.ranking import CRITERIA, build_candidate

#: kinds of outcomes
UNKNOWN: Final = 0
REJECTED: Final = 1
CANDIDATE: Final = 2


@dataclass(frozen=True, slots=True)
class NodeVictims:
    """A candidate with its victims."""

    candidate: Candidate
    victims: Victims


class Outcomes:
    """The outcome of each row of the snapshot; not all of them are known."""

    def __init__(self, rows: int) -> None:
        #: (rows,) int8
        self.kinds = np.zeros(rows, dtype=np.int8)
        #: (criteria, rows) int64, of candidates: see ranking.figures
        self.figures = np.zeros((len(CRITERIA), rows), dtype=np.int64)
        #: why rows were rejected
        self.statuses = NodeStatuses.empty(rows)
        self._candidates: list[NodeVictims | None] = [None] * rows

    def forget(self, rows: Int64Array) -> None:
        self.kinds[rows] = UNKNOWN

    def reject(self, rows: Int64Array, status: Status) -> None:
        """Enter the same status for many rows."""
        self.kinds[rows] = REJECTED
        self.statuses.ids[rows] = self.statuses.intern(status)

    def reject_all(self, rows: Int64Array, statuses: NodeStatuses) -> BoolArray:
        """Enter the refusals among ``statuses``, whose i-th row is ``rows[i]`` here.

        Returns which of the rows were not refused.
        """
        passed: BoolArray = statuses.ids == NodeStatuses.FEASIBLE
        self.statuses.overrule(rows, statuses)
        self.kinds[rows[~passed]] = REJECTED
        return passed

    def enter(
        self, rows: Int64Array, names: Sequence[str], outcomes: Sequence[Victims | Status]
    ) -> None:
        """Enter the outcomes of ``rows``; ``names`` are the nodes by row."""
        candidates, figures = [], []
        for row, outcome in zip(rows.tolist(), outcomes, strict=True):
            if isinstance(outcome, Status):
                self.kinds[row] = REJECTED
                self.statuses.set(row, outcome)
            else:
                self._candidates[row] = known = _with_figures(names[row], outcome)
                candidates.append(row)
                figures.append(known.candidate.figures)
        if candidates:
            self.kinds[candidates] = CANDIDATE
            self.figures[:, candidates] = np.array(figures, dtype=np.int64).T

    def rejections(self, rows: Int64Array) -> NodeStatuses:
        """The statuses of those of ``rows`` that were rejected; all others were not evaluated."""
        rejected = rows[self.kinds[rows] == REJECTED]
        statuses = NodeStatuses(
            np.full(len(self.kinds), NodeStatuses.NOT_EVALUATED, dtype=np.int32),
            list(self.statuses.statuses),
        )
        statuses.ids[rejected] = self.statuses.ids[rejected]
        return statuses

    def candidates(self, rows: Iterable[int]) -> list[NodeVictims]:
        """The candidates of rows that are candidates."""
        known = self._candidates
        return [each for row in rows if (each := known[row]) is not None]


# Preemptors of different kinds often have the same victims.
@lru_cache(maxsize=1 << 14)
def _with_figures(node: str, victims: Victims) -> NodeVictims:
    return NodeVictims(build_candidate(node, victims), victims)
