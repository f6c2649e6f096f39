"""Rows on which pods are taken away and given back to see whether the incoming pod then fits."""

from __future__ import annotations

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.filtering import ExtensionMethod, Filters
from apps.scheduler.framework.nodes import BoolArray
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.own_states import OwnStates
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.types import PodInfo


class Trial:
    """Many rows at once, each as if it were alone.

    Where plugins look beyond the row (not `Filters.is_local`) every row has its own state, and
    these plugins are told of each pod. Rows to which pods are nominated that the incoming pod has
    to respect are kept twice, with and without these pods: it has to fit both times.
    """

    def __init__(
        self,
        filters: Filters,
        state: CycleState,
        pod: PodInfo,
        nodes: Overlay,
        *,
        told: bool = True,
    ) -> None:
        """``told`` False: plugins are not told of pods; then only `local_refusals` may be asked."""
        self._filters = filters
        self._state = state
        self._pod = pod
        self._nodes = nodes
        #: whether nobody has to be told of single pods
        self.is_local = filters.is_local(state)
        self._own: OwnStates | None = None
        if told and not self.is_local:
            self._own = OwnStates(self._nodes, [state.clone() for _ in range(len(nodes))])
        self._nominated = filters.nominated_pods(pod, self._nodes)
        if self._nominated is not None:
            #: the rows of ``_nodes`` that are kept twice
            rows = self._nominated.rows
            #: each row's number among them, or -1
            self._place_of = np.full(len(nodes), -1, dtype=np.int64)
            self._place_of[rows] = np.arange(len(rows))
            self._promised = self._nodes.fork(rows)
            self._promises = self._nominated.renumbered()

    def add_pods(self, change: PodChange) -> None:
        """Give pods back; one on each row, unless the trial is local."""
        self._nodes.add_pods(change)
        self._tell("add_pod", change, self._own)
        if self._nominated is not None:
            self._promised.add_pods(self._of_promised(change))

    def remove_pods(self, change: PodChange) -> None:
        self._nodes.remove_pods(change)
        self._tell("remove_pod", change, self._own)
        if self._nominated is not None:
            self._promised.remove_pods(self._of_promised(change))

    def statuses(self) -> NodeStatuses:
        """The refusal of every row as it is now; with the nominated pods if these matter."""
        found = self._filter(self._nodes, self._own)
        if self._nominated is not None:
            found.overrule(self._nominated.rows, self._with_nominated_pods())
        return found

    def local_refusals(self) -> NodeStatuses:
        """As ``statuses``, but only refusals for which nobody needed to be told of single pods."""
        found = self._filters.run_local_filter_plugins(self._state, self._pod, self._nodes)
        if self._nominated is not None:
            rows = self._nominated.rows
            self._promised.add_pods(self._promises)
            others = self._filters.run_local_filter_plugins(self._state, self._pod, self._promised)
            self._promised.remove_pods(self._promises)
            # What is refused for the nominated pods' sake goes before what is refused anyway.
            found.ids[rows] = NodeStatuses.FEASIBLE
            found.overrule(rows, others)
        return found

    def fits(self) -> BoolArray:
        """(k,) bool: the rows on which the incoming pod fits now."""
        fits: BoolArray = self._filter(self._nodes, self._own).ids == NodeStatuses.FEASIBLE
        if self._nominated is not None:
            promised = self._with_nominated_pods().ids == NodeStatuses.FEASIBLE
            fits[self._nominated.rows] &= promised
        return fits

    def _filter(self, nodes: Overlay, own: OwnStates | None) -> NodeStatuses:
        return self._filters.run_filter_plugins(self._state, self._pod, nodes, own)

    def _with_nominated_pods(self) -> NodeStatuses:
        """Of the rows kept twice.

        The nominated pods come last: a host port that they share with a pod that was taken away is
        taken all the same.
        """
        assert self._nominated is not None
        own = self._own and self._own.fork(self._nominated.rows, self._promised)
        self._promised.add_pods(self._promises)
        self._tell("add_pod", self._promises, own)
        found = self._filter(self._promised, own)
        self._promised.remove_pods(self._promises)
        return found

    def _tell(self, method: ExtensionMethod, change: PodChange, own: OwnStates | None) -> None:
        if own is not None:
            self._filters.run_pre_filter_extensions(method, own, self._pod, change)

    def _of_promised(self, change: PodChange) -> PodChange:
        """The part of the change that is about rows kept twice, in their numbering."""
        numbers = self._place_of[change.rows]
        places = np.flatnonzero(numbers >= 0)
        return change.select(places, numbers[places])
