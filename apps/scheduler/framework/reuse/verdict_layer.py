"""The verdicts of a filter that looks at domains, on top of those of the filters before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.node_columns import BoolArray, Int64Array
from apps.scheduler.framework.verdicts import Passed, add_refusals

#: rows whose verdicts are entered one by one; more than these are worth the whole column
_MAX_PATCHES: Final = 64


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
        return Passed.left_by(statuses)

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
