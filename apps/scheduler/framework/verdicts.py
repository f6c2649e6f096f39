"""Entering the verdicts of a filter into the statuses of the nodes."""

from __future__ import annotations

import numpy as np

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.node_columns import Int32Array, Int64Array
from apps.scheduler.framework.status import Code, StatusError
from apps.scheduler.framework.summary import Summary, summarize


def add_refusals(
    statuses: NodeStatuses,
    verdicts: Verdicts,
    plugin: str,
    used: dict[int, int] | None = None,
) -> bool:
    """Enter a plugin's refusals for rows that still pass; False if no row is left.

    ``used`` gets the verdicts that such rows have, and the ids of their statuses. Raises
    StatusError if one of them is an internal error.
    """
    open_rows = statuses.ids == NodeStatuses.FEASIBLE
    refused = open_rows & (verdicts.ids != 0)
    if not refused.any():
        return True
    verdict_ids = verdicts.ids[refused]
    numbers = np.zeros(int(verdict_ids.max()) + 1, dtype=statuses.ids.dtype)
    for verdict in map(int, np.flatnonzero(np.bincount(verdict_ids))):
        status = verdicts.statuses[verdict]
        assert status is not None
        if status.code is Code.ERROR:
            raise StatusError(status)
        numbers[verdict] = len(statuses.statuses)
        if used is not None:
            used[verdict] = len(statuses.statuses)
        statuses.statuses.append(status.by(plugin))
    statuses.ids[refused] = numbers[verdict_ids]
    return bool(np.count_nonzero(refused) < np.count_nonzero(open_rows))


def has_errors(verdicts: Verdicts) -> bool:
    """Whether one of the verdicts is an internal error, also on rows that do not pass."""
    for verdict in np.bincount(verdicts.ids).nonzero()[0].tolist():
        status = verdicts.statuses[verdict] if verdict else None
        if status is not None and status.code is Code.ERROR:
            return True
    return False


class Passed:
    """What filters left. Arrays are read-only and never change."""

    def __init__(
        self, statuses: NodeStatuses, feasible: Int64Array, summary: Summary | None = None
    ) -> None:
        """``summary``: if it is known."""
        self.statuses = statuses
        self._summary = summary
        #: the rows that pass, ascending
        self.feasible = feasible
        statuses.ids.setflags(write=False)
        feasible.setflags(write=False)

    @classmethod
    def left_by(cls, statuses: NodeStatuses) -> Passed:
        """The rows that these statuses leave."""
        return cls(statuses, np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE))

    @lazy
    def summary(self) -> Summary:
        """What the filters refused."""
        return summarize(self.statuses) if self._summary is None else self._summary

    def shown(self) -> NodeStatuses:
        """The statuses, with a list of its own to which others may be added."""
        known = self.statuses
        return NodeStatuses(known.ids, known.statuses.copy(), known.absent)

    def replace(self, ids: Int32Array, feasible: Int64Array) -> Passed:
        """With the verdicts ``ids``, which use the same statuses, on the same nodes."""
        statuses = NodeStatuses(ids, list(self.statuses.statuses), self.statuses.absent)
        rejected = self.summary.rejected + len(self.feasible) - len(feasible)
        return Passed(statuses, feasible, Summary(rejected, self.summary.statuses))
