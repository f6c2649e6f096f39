"""Reprieve: which of the pods removed from a node may stay there after all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.evictable import Evictable
from apps.scheduler.preemption.trial import Trial


class Reprieve:
    """Removes the evictable pods from k rows and adds them again in rounds, one pod per row."""

    def __init__(
        self, trial: Trial, evictable: Sequence[Evictable], *, is_signed: bool = False
    ) -> None:
        """Each row of the trial has evictable pods; there is at least one row.

        ``is_signed``: the filters sign the pod, and each row passes without its evictable pods.
        """
        self._trial = trial
        self._is_signed = is_signed
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
        """For each row the indices (ascending) of the pods that cannot be added again.

        A status for a row on which the incoming pod does not fit even without all of them.
        """
        self._remove_all()
        room = self._trial.room() if self._is_signed else None
        if room is not None:
            return self._fill(*room)
        statuses = self._trial.statuses()
        fits = statuses.ids == NodeStatuses.FEASIBLE
        victims = [statuses.at(row) or list[int]() for row in range(len(self._evictable))]
        for place in range(self._amounts.shape[1]):
            change = self._pods_at(place, np.flatnonzero(fits & (self._counts > place)))
            for row in self._add_back(change).tolist():
                gone = victims[row]
                assert isinstance(gone, list)
                gone.append(place)
        return victims

    def _fill(self, indices: Int64Array, room: Int64Array) -> list[list[int] | Status]:
        """The same if only the amounts ``indices`` matter, of which rows have ``room`` left."""
        # (most pods of a row, m, k) int64
        amounts = np.ascontiguousarray(self._amounts[:, :, indices].transpose(1, 2, 0))
        gone = np.zeros((len(amounts), len(self._evictable)), dtype=np.bool_)
        for place, taken in enumerate(amounts):
            left = room - taken
            gone[place] = (left < 0).any(axis=0)
            room = np.where(gone[place], room, left)
        return [[place for place, is_gone in enumerate(row) if is_gone] for row in gone.T.tolist()]

    def _remove_all(self) -> None:
        if not self._trial.is_local:
            # RemovePod is called for one pod at a time, when the node is without it.
            for place in range(self._amounts.shape[1]):
                self._trial.remove_pods(self._pods_at(place, np.flatnonzero(self._counts > place)))
            return
        rows = np.arange(len(self._evictable))
        amounts = self._amounts.sum(axis=1).T
        self._trial.remove_pods(PodChange(rows, amounts, lambda i: self._evictable[i].pods))

    def _add_back(self, change: PodChange) -> Int64Array:
        """Add the pods again unless the incoming pod then no longer fits.

        Returns the rows on which they were removed again.
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
