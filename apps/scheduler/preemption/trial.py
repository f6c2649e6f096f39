"""Rows on which pods are taken away and given back to see whether the incoming pod then fits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.nodes import BoolArray, Int64Array
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.pod_change import PodChange
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
        self._filter: Callable[[Overlay], NodeStatuses] = lambda nodes: (
            framework.run_filter_plugins(state, pod, nodes)
        )
        self._nodes = framework.handle.snapshot.select(rows)
        self._nominated = framework.nominated_pods(pod, self._nodes)
        if self._nominated is not None:
            #: the lines of ``_nodes`` that are kept twice
            lines = self._nominated.lines
            #: each line's number among them, or -1
            self._place_of = np.full(len(rows), -1, dtype=np.int64)
            self._place_of[lines] = np.arange(len(lines))
            self._promised = self._nodes.fork(lines)
            self._promises = self._nominated.renumbered()

    def add_pods(self, change: PodChange) -> None:
        """Give pods back."""
        self._nodes.add_pods(change)
        if self._nominated is not None:
            self._promised.add_pods(self._of_promised(change))

    def remove_pods(self, change: PodChange) -> None:
        self._nodes.remove_pods(change)
        if self._nominated is not None:
            self._promised.remove_pods(self._of_promised(change))

    def statuses(self) -> NodeStatuses:
        """The refusal of every line as it is now; with the nominated pods if these matter."""
        found = self._filter(self._nodes)
        if self._nominated is not None:
            found.overrule(self._nominated.lines, self._with_nominated_pods())
        return found

    def fits(self) -> BoolArray:
        """(k,) bool: the lines on which the incoming pod fits now."""
        fits: BoolArray = self._filter(self._nodes).ids == NodeStatuses.FEASIBLE
        if self._nominated is not None:
            promised = self._with_nominated_pods().ids == NodeStatuses.FEASIBLE
            fits[self._nominated.lines] &= promised
        return fits

    def _with_nominated_pods(self) -> NodeStatuses:
        """Of the lines kept twice.

        The nominated pods come last: a host port that they share with a pod that was taken away is
        taken all the same.
        """
        self._promised.add_pods(self._promises)
        found = self._filter(self._promised)
        self._promised.remove_pods(self._promises)
        return found

    def _of_promised(self, change: PodChange) -> PodChange:
        """The part of the change that is about lines kept twice, in their numbering."""
        numbers = self._place_of[change.lines]
        places = np.flatnonzero(numbers >= 0)
        return change.select(places, numbers[places])
