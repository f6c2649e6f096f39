"""Rows on which pods are removed and added again to see whether the incoming pod then fits."""

from __future__ import annotations

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.filtering import ExtensionMethod, Filters
from apps.scheduler.framework.node_columns import BoolArray, Int64Array
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.own_states import OwnStates
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.types import PodInfo


class Trial:
    """A trial of many rows at once, each as if it were alone.

    If the cycle is not local (`Filters.is_local`), every row has a state of its own, and AddPod or
    RemovePod is called for each pod. Rows to which pods are nominated that the incoming pod has to
    respect exist twice, with and without these pods: the incoming pod has to fit both times.
    """

    def __init__(
        self,
        filters: Filters,
        state: CycleState,
        pod: PodInfo,
        nodes: Overlay,
        *,
        notify_plugins: bool = True,
    ) -> None:
        """Without ``notify_plugins`` only `local_refusals` may be called."""
        self._filters = filters
        self._state = state
        self._pod = pod
        self._nodes = nodes
        #: whether pods can be added and removed without calling plugins
        self.is_local = filters.is_local(state)
        self._own: OwnStates | None = None
        if notify_plugins and not self.is_local:
            self._own = OwnStates(self._nodes, [state.clone() for _ in range(len(nodes))])
        self._nominated = filters.nominated_pods(pod, self._nodes)
        if self._nominated is not None:
            #: the rows of ``_nodes`` that exist twice
            rows = self._nominated.rows
            #: each row's index among them, or -1
            self._place_of = np.full(len(nodes), -1, dtype=np.int64)
            self._place_of[rows] = np.arange(len(rows))
            self._nominated_nodes = self._nodes.fork(rows)
            self._nominated_pods = self._nominated.renumber()

    def add_pods(self, change: PodChange) -> None:
        """Add pods; one on each row, unless the trial is local."""
        self._nodes.add_pods(change)
        self._run_extensions("add_pod", change, self._own)
        if self._nominated is not None:
            self._nominated_nodes.add_pods(self._on_nominated_rows(change))

    def remove_pods(self, change: PodChange) -> None:
        self._nodes.remove_pods(change)
        self._run_extensions("remove_pod", change, self._own)
        if self._nominated is not None:
            self._nominated_nodes.remove_pods(self._on_nominated_rows(change))

    def statuses(self) -> NodeStatuses:
        """The refusal of every row as it is now; with the nominated pods if these matter."""
        statuses = self._filter(self._nodes, self._own)
        if self._nominated is not None:
            statuses.overrule(self._nominated.rows, self._with_nominated_pods())
        return statuses

    def local_refusals(self) -> NodeStatuses:
        """As ``statuses``, but only by filters that need no call for each pod."""
        nominated = self._nominated
        if nominated is not None and len(nominated.rows) == len(self._nodes):
            # What the filters say without the nominated pods does not count on any row.
            statuses = NodeStatuses.untouched(self._nodes.alive)
        else:
            statuses = self._filters.run_local_filter_plugins(self._state, self._pod, self._nodes)
        if nominated is not None:
            rows = nominated.rows
            self._nominated_nodes.add_pods(self._nominated_pods)
            others = self._filters.run_local_filter_plugins(
                self._state, self._pod, self._nominated_nodes
            )
            self._nominated_nodes.remove_pods(self._nominated_pods)
            # A refusal because of the nominated pods comes before any other.
            statuses.ids[rows] = NodeStatuses.FEASIBLE
            statuses.overrule(rows, others)
        return statuses

    def fits(self) -> BoolArray:
        """(k,) bool: the rows on which the incoming pod fits now."""
        fits: BoolArray = self._filter(self._nodes, self._own).ids == NodeStatuses.FEASIBLE
        if self._nominated is not None:
            promised = self._with_nominated_pods().ids == NodeStatuses.FEASIBLE
            fits[self._nominated.rows] &= promised
        return fits

    def room(self) -> tuple[Int64Array, Int64Array] | None:
        """How much more each row may hold, nominated pods included: see `Filters.room`.

        Only if the filters sign the pod.
        """
        offered = self._filters.room(self._state, self._pod, self._nodes)
        if offered is None or self._nominated is None:
            return offered
        indices, room = offered
        room[:, self._nominated.rows] -= self._nominated.amounts[indices]
        return indices, room

    def _filter(self, nodes: Overlay, own: OwnStates | None) -> NodeStatuses:
        return self._filters.run_filter_plugins(self._state, self._pod, nodes, own)

    def _with_nominated_pods(self) -> NodeStatuses:
        """The statuses of the rows that exist twice.

        The nominated pods are added last: a host port that they share with a removed pod stays in
        use.
        """
        assert self._nominated is not None
        own = self._own and self._own.fork(self._nominated.rows, self._nominated_nodes)
        self._nominated_nodes.add_pods(self._nominated_pods)
        self._run_extensions("add_pod", self._nominated_pods, own)
        statuses = self._filter(self._nominated_nodes, own)
        self._nominated_nodes.remove_pods(self._nominated_pods)
        return statuses

    def _run_extensions(
        self, method: ExtensionMethod, change: PodChange, own: OwnStates | None
    ) -> None:
        if own is not None:
            self._filters.run_pre_filter_extensions(method, own, self._pod, change)

    def _on_nominated_rows(self, change: PodChange) -> PodChange:
        """The part of the change on rows that exist twice, by their indices there."""
        numbers = self._place_of[change.rows]
        places = np.flatnonzero(numbers >= 0)
        return change.select(places, numbers[places])
