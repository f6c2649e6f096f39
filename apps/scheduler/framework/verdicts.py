"""Entering the verdicts of a filter into the statuses of the nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.nodes import BoolArray, Int32Array, Int64Array
from apps.scheduler.framework.status import Code, StatusError
from apps.scheduler.framework.summary import Summary, summarize

#: rows whose verdicts are entered one by one; more than these are worth the whole column
_MAX_PATCHES: Final = 64


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

    @lazy
    def summary(self) -> Summary:
        """What the filters refused."""
        return summarize(self.statuses) if self._summary is None else self._summary

    def replace(self, ids: Int32Array, feasible: Int64Array) -> Passed:
        """With the verdicts ``ids``, which use the same statuses, on the same nodes."""
        statuses = NodeStatuses(ids, list(self.statuses.statuses), self.statuses.absent)
        rejected = self.summary.rejected + len(self.feasible) - len(feasible)
        return Passed(statuses, feasible, Summary(rejected, self.summary.statuses))


class VerdictLayer:
    """The refusals of one filter on top of those of the filters before it.

    Only the rows on which its verdicts differ from those of the last cycle are entered.
    """

    def __init__(self, plugin: str) -> None:
        self._plugin = plugin
        self._below: Passed | None = None
        self._verdicts: Verdicts | None = None
        self._result: Passed | None = None
        #: rows that passed below, as a mask; how many of them have each verdict, and its status id
        self._open: BoolArray = np.empty(0, dtype=np.bool_)
        self._used: list[int] = []
        self._numbers: list[int] = []

    def on(self, below: Passed, verdicts: Verdicts | None) -> Passed:
        """``below`` with the refusals among ``verdicts``; the same object if there are none.

        Raises StatusError if a verdict on a row that passes is an internal error.
        """
        if verdicts is None:
            return below
        result = None
        if below is self._below and self._verdicts is not None and self._result is not None:
            result = self._patch(self._result, self._verdicts, verdicts)
        if result is None:
            result = self._enter_all(below, verdicts)
        self._below, self._verdicts, self._result = below, verdicts, result
        return result

    def _enter_all(self, below: Passed, verdicts: Verdicts) -> Passed:
        self._below = None  # until all is entered, should a verdict be an error
        statuses = below.statuses.copy()
        first = len(statuses.statuses)
        add_refusals(statuses, verdicts, self._plugin)
        self._open = below.statuses.ids == NodeStatuses.FEASIBLE
        self._used = np.bincount(
            verdicts.ids[below.feasible], minlength=len(verdicts.statuses)
        ).tolist()
        self._numbers = [NodeStatuses.FEASIBLE]
        for used in self._used[1:]:
            self._numbers.append(first)
            first += used > 0
        if len(statuses.statuses) == len(below.statuses.statuses):
            return below
        return Passed(statuses, np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE))

    def _patch(self, result: Passed, before: Verdicts, verdicts: Verdicts) -> Passed | None:
        """``result`` with the verdicts that changed; None if the whole column has to be entered."""
        if verdicts is before:
            return result
        if verdicts.statuses is not before.statuses:
            return None
        rows = np.flatnonzero(verdicts.ids != before.ids)
        if len(rows) > _MAX_PATCHES:
            return None
        rows = rows[self._open[rows]]
        if not len(rows):
            return result
        return self._enter(result, rows, before.ids[rows].tolist(), verdicts.ids[rows].tolist())

    def _enter(
        self, result: Passed, rows: Int64Array, old: list[int], new: list[int]
    ) -> Passed | None:
        """Replace the verdicts ``old`` by ``new``; None if other statuses are used then."""
        used = list(self._used)
        for before, after in zip(old, new, strict=True):
            used[before] -= 1
            used[after] += 1
        if any(map(_differ, used[1:], self._used[1:])):
            return None
        self._used = used
        ids = result.statuses.ids.copy()
        ids[rows] = [self._numbers[verdict] for verdict in new]
        return result.replace(ids, moved(result.feasible, rows.tolist(), old, new))


def moved(
    feasible: Int64Array, rows: Iterable[int], old: Iterable[int], new: Iterable[int]
) -> Int64Array:
    """``feasible`` when the verdicts on ``rows`` change; 0 means that a row passes."""
    for row, before, after in zip(rows, old, new, strict=True):
        place = int(feasible.searchsorted(row))
        if before == 0 != after:
            feasible = np.concatenate((feasible[:place], feasible[place + 1 :]))
        elif after == 0 != before:
            feasible = np.concatenate((feasible[:place], [row], feasible[place:]))
    return feasible


def _differ(used: int, before: int) -> bool:
    """Whether only one of the two is 0."""
    return (used == 0) != (before == 0)
