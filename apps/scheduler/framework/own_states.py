"""Overlays of many rows in cycles that are not local: each row has a state of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.interface import FilterPlugin, Verdicts
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from apps.scheduler.framework.types import NodeInfo


class OneRow(Overlay):
    """A read-only view of one row of an overlay; it follows the overlay's changes."""

    def __init__(self, whole: Overlay, row: int) -> None:
        super().__init__(whole.base, whole.snapshot_rows[row : row + 1])
        self._whole = whole
        self._row = row
        self._modified.add(0)
        # The overlay changes its columns in place, so these slices follow it.
        self.__dict__["requested"] = whole.requested[:, row : row + 1]
        self.__dict__["pod_count"] = whole.pod_count[row : row + 1]

    @lazy
    def nonzero_requested(self) -> Int64Array:
        return self._whole.nonzero_requested[:, self._row : self._row + 1]

    def info(self, row: int) -> NodeInfo:
        return self._whole.info(self._row)


class OwnStates:
    """A clone of the cycle's state for every row of an overlay, as if the row were alone.

    AddPod, RemovePod and the filters of plugins with PreFilterExtensions run on each row with the
    row's own state and a table of this row only.
    """

    def __init__(self, nodes: Overlay, states: list[CycleState]) -> None:
        self._nodes = nodes
        #: by row
        self.states = states
        self._views: dict[int, OneRow] = {}

    def view(self, row: int) -> OneRow:
        known = self._views.get(row)
        if known is None:
            known = self._views[row] = OneRow(self._nodes, row)
        return known

    def fork(self, rows: Int64Array, nodes: Overlay) -> OwnStates:
        """Copies of the states of ``rows``, for an overlay of just these."""
        return OwnStates(nodes, [self.states[row].clone() for row in rows.tolist()])

    def filter_rows(self, plugin: FilterPlugin, pod: PodInfo, rows: Int64Array) -> Verdicts:
        """The plugin's verdicts on these rows; all others pass."""
        ids = np.zeros(len(self._nodes), dtype=np.uint16)
        statuses: list[Status | None] = [None]
        for row in rows.tolist():
            verdicts = plugin.filter(self.states[row], pod, self.view(row))
            if verdicts is not None and verdicts.ids[0]:
                status = verdicts.statuses[int(verdicts.ids[0])]
                if status not in statuses:
                    statuses.append(status)
                ids[row] = statuses.index(status)
        return Verdicts(ids, statuses)
