"""Rows on which pods are taken away and given back to see whether the incoming pod then fits."""

from __future__ import annotations

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.nodes import BoolArray, Int64Array
from apps.scheduler.framework.overlay import Overlay, PodChange
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.types import PodInfo


class Trial:
    """Many rows at once; only for cycles in which filters are local (`Framework.is_local`).

    Rows to which pods are nominated that the incoming pod has to respect are kept twice, with and
    without these pods: it has to fit both times.
    """

    def __init__(
        self, framework: Framework, state: CycleState, pod: PodInfo, rows: Int64Array
    ) -> None:
        self._framework = framework
        self._state = state
        self._pod = pod
        self._nodes = framework.handle.snapshot.select(rows)
        nominated = framework.nominated_pods(pod, self._nodes)
        #: lines of ``_nodes`` that are kept twice
        self._promised_lines = np.fromiter(nominated, dtype=np.int64, count=len(nominated))
        self._promised: Overlay | None = None
        if nominated:
            self._promised = self._nodes.fork(self._promised_lines)
            for place, others in enumerate(nominated.values()):
                for other in others:
                    self._promised.add_pod(place, other)

    def add_pods(self, change: PodChange) -> None:
        """Give pods back."""
        self._nodes.add_pods(change)
        if self._promised is not None:
            self._promised.add_pods(self._of_promised(change))

    def remove_pods(self, change: PodChange) -> None:
        self._nodes.remove_pods(change)
        if self._promised is not None:
            self._promised.remove_pods(self._of_promised(change))

    def statuses(self) -> NodeStatuses:
        """The refusal of every line as it is now; with the nominated pods if these matter."""
        found = self._filter(self._nodes)
        if self._promised is not None:
            promised = self._filter(self._promised)
            for place, line in enumerate(self._promised_lines.tolist()):
                status = promised.at(place)
                if status is not None:
                    found.set(line, status)
        return found

    def fits(self) -> BoolArray:
        """(k,) bool: the lines on which the incoming pod fits now."""
        fits: BoolArray = self._filter(self._nodes).ids == NodeStatuses.FEASIBLE
        if self._promised is not None:
            promised = self._filter(self._promised).ids == NodeStatuses.FEASIBLE
            fits[self._promised_lines] &= promised
        return fits

    def _filter(self, nodes: Overlay) -> NodeStatuses:
        return self._framework.run_filter_plugins(self._state, self._pod, nodes)

    def _of_promised(self, change: PodChange) -> PodChange:
        """The part of the change that is about lines kept twice, in their numbering."""
        place_of = np.full(len(self._nodes), -1, dtype=np.int64)
        place_of[self._promised_lines] = np.arange(len(self._promised_lines))
        places = place_of[change.lines]
        return select(change, np.flatnonzero(places >= 0), places[places >= 0])


def select(change: PodChange, places: Int64Array, lines: Int64Array) -> PodChange:
    """The entries at ``places`` of a change, for other lines."""
    return PodChange(
        lines,
        [change.pods[place] for place in places.tolist()],
        change.requested[:, places],
        change.nonzero_requested[:, places],
    )
