"""Giving pods back: which of the pods taken off a node may stay there after all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.evictable import Evictable
from apps.scheduler.preemption.trial import Trial


class Reprieve:
    """Gives the evictable pods of k lines back in rounds, one pod per line in each."""

    def __init__(self, trial: Trial, evictable: Sequence[Evictable]) -> None:
        """``trial`` has been rid of all ``evictable`` pods; at least one line is given."""
        self._trial = trial
        self._evictable = evictable
        #: (k,) int64
        self._counts = np.array([len(each.pods) for each in evictable])
        amounts = np.concatenate([each.amounts for each in evictable])
        lines = np.repeat(np.arange(len(evictable)), self._counts)
        ends = self._counts.cumsum()
        places = np.arange(len(amounts)) - (ends - self._counts)[lines]
        #: (k, most pods of a line, resources + 3) int64, 0 after a line's last pod
        self._amounts = np.zeros(
            (len(evictable), int(self._counts.max()), amounts.shape[1]), dtype=np.int64
        )
        self._amounts[lines, places] = amounts

    def run(self) -> list[list[int]]:
        """For each line the places (ascending) of the pods that have to stay away."""
        gone: list[list[int]] = [[] for _ in self._evictable]
        for place in range(self._amounts.shape[1]):
            for line in self._give_back(np.flatnonzero(self._counts > place), place).tolist():
                gone[line].append(place)
        return gone

    def _give_back(self, lines: Int64Array, place: int) -> Int64Array:
        """Let the pods at ``place`` stay unless the incoming pod then does not fit any more.

        Returns the lines where they may not.
        """

        def pods(number: int) -> tuple[PodInfo]:
            return (self._evictable[lines[number]].pods[place],)

        change = PodChange(lines, self._amounts[lines, place].T, pods)
        self._trial.add_pods(change)
        refused = np.flatnonzero(~self._trial.fits()[lines])
        if len(refused):
            self._trial.remove_pods(change.select(refused, lines[refused]))
        return lines[refused]
