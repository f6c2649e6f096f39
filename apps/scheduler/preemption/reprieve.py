"""Giving pods back: which of the pods taken off a node may stay there after all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.evictable import Evictable
from apps.scheduler.preemption.trial import Trial


class Reprieve:
    """Takes the evictable pods off k rows and gives them back in rounds, one per row in each."""

    def __init__(self, trial: Trial, evictable: Sequence[Evictable]) -> None:
        """Each row of the trial has evictable pods; there is at least one row."""
        self._trial = trial
        self._evictable = evictable
        #: (k,) int64
        self._counts = np.array([len(each.pods) for each in evictable])
        amounts = np.concatenate([each.amounts for each in evictable])
        rows = np.repeat(np.arange(len(evictable)), self._counts)
        ends = self._counts.cumsum()
        places = np.arange(len(amounts)) - (ends - self._counts)[rows]
        #: (k, most pods of a row, resources + 3) int64, 0 after a row's last pod
        self._amounts = np.zeros(
            (len(evictable), int(self._counts.max()), amounts.shape[1]), dtype=np.int64
        )
        self._amounts[rows, places] = amounts

    def run(self) -> list[list[int] | Status]:
        """For each row the places (ascending) of the pods that have to stay away.

        A status where the incoming pod does not fit although all are away.
        """
        self._take_away()
        statuses = self._trial.statuses()
        fits = statuses.ids == NodeStatuses.FEASIBLE
        found = [statuses.at(row) or list[int]() for row in range(len(self._evictable))]
        for place in range(self._amounts.shape[1]):
            change = self._pods_at(place, np.flatnonzero(fits & (self._counts > place)))
            for row in self._give_back(change).tolist():
                gone = found[row]
                assert isinstance(gone, list)
                gone.append(place)
        return found

    def _take_away(self) -> None:
        if not self._trial.is_local:
            # Plugins are told of one pod at a time, and look at a node without this one.
            for place in range(self._amounts.shape[1]):
                self._trial.remove_pods(self._pods_at(place, np.flatnonzero(self._counts > place)))
            return
        rows = np.arange(len(self._evictable))
        amounts = self._amounts.sum(axis=1).T
        self._trial.remove_pods(PodChange(rows, amounts, lambda i: self._evictable[i].pods))

    def _give_back(self, change: PodChange) -> Int64Array:
        """Let the pods stay unless the incoming pod then does not fit any more.

        Returns the rows where they may not.
        """
        if not len(change.rows):
            return change.rows
        self._trial.add_pods(change)
        refused = np.flatnonzero(~self._trial.fits()[change.rows])
        if len(refused):
            self._trial.remove_pods(change.select(refused, change.rows[refused]))
        return change.rows[refused]

    def _pods_at(self, place: int, rows: Int64Array) -> PodChange:
        def pods(number: int) -> tuple[PodInfo]:
            return (self._evictable[rows[number]].pods[place],)

        return PodChange(rows, self._amounts[rows, place].T, pods)
