"""Overlays of many rows in cycles where plugins look beyond the row: each row has its own state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.interface import FilterPlugin, Verdicts
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from apps.scheduler.framework.types import NodeInfo


class OneLine(Overlay):
    """A line of an overlay as the overlay shows it, also later; for looking at only."""

    def __init__(self, whole: Overlay, line: int) -> None:
        super().__init__(whole.base, whole.rows[line : line + 1])
        self._whole = whole
        self._line = line
        self._modified.add(0)
        # The overlay changes its columns in place, so these slices follow it.
        self.__dict__["requested"] = whole.requested[:, line : line + 1]
        self.__dict__["pod_count"] = whole.pod_count[line : line + 1]

    @lazy
    def nonzero_requested(self) -> Int64Array:
        return self._whole.nonzero_requested[:, self._line : self._line + 1]

    def info(self, line: int) -> NodeInfo:
        return self._whole.info(self._line)


class OwnStates:
    """For every line of an overlay a clone of the cycle's state, as if the line were alone.

    Plugins with PreFilterExtensions are told of pods that come to a line or leave it, and filter
    it, each time with the line's own state; what they look at is a table of this line only.
    """

    def __init__(self, nodes: Overlay, states: list[CycleState]) -> None:
        self._nodes = nodes
        #: by line
        self.states = states
        self._views: dict[int, OneLine] = {}

    def view(self, line: int) -> OneLine:
        known = self._views.get(line)
        if known is None:
            known = self._views[line] = OneLine(self._nodes, line)
        return known

    def fork(self, lines: Int64Array, nodes: Overlay) -> OwnStates:
        """Copies of the states of ``lines``, for an overlay of just these."""
        return OwnStates(nodes, [self.states[line].clone() for line in lines.tolist()])

    def filter_lines(self, plugin: FilterPlugin, pod: PodInfo, lines: Int64Array) -> Verdicts:
        """What the plugin says of these lines; of the others it says nothing."""
        ids = np.zeros(len(self._nodes), dtype=np.uint16)
        statuses: list[Status | None] = [None]
        for line in lines.tolist():
            found = plugin.filter(self.states[line], pod, self.view(line))
            if found is not None and found.ids[0]:
                status = found.statuses[int(found.ids[0])]
                if status not in statuses:
                    statuses.append(status)
                ids[line] = statuses.index(status)
        return Verdicts(ids, statuses)
