"""Filtering: a profile's filters on whole tables, on overlays, and with nominated pods."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from apps.scheduler.framework import guard
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import (
    FilterPlugin,
    Plugin,
    PreFilterExtensions,
    RowFilter,
    Verdicts,
    implements,
)
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.nominated import NominatedPods
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.own_states import OwnStates
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.resources import has_counted_status
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.framework.verdicts import Passed, add_refusals, has_errors

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot
    from apps.scheduler.framework.reuse.signed_verdicts import SignedVerdicts

#: the methods of PreFilterExtensions
ExtensionMethod = Literal["add_pod", "remove_pod"]


class Filters:
    """The Filter plugins of a profile; keeps no state of a cycle (that is in CycleState).

    Nominated pods and preemption add pods to rows and remove pods from them; plugins with
    PreFilterExtensions are then called for each of these pods. If all of these plugins are skipped
    in a cycle, the cycle is local (``is_local``).
    """

    def __init__(
        self,
        filters: Sequence[FilterPlugin],
        pre_filters: Iterable[Plugin],
        nominated: NominatedPods,
    ) -> None:
        self._filters = filters
        by_row: list[Any] = [*filters]
        extending: list[Any] = [*pre_filters]
        self._by_row: dict[str, RowFilter] = {p.name: p for p in by_row if implements(p, RowFilter)}
        self._extensions: list[PreFilterExtensions] = [
            p for p in extending if implements(p, PreFilterExtensions)
        ]
        self._extending = frozenset(plugin.name for plugin in self._extensions)
        # Not inherited: a subclass that changes a method may read more than its base.
        self._signing: dict[str, Any] = {
            p.name: p
            for p in filters
            if "sign" in vars(type(p)) and getattr(p, "sign_reads", "pods") != "domains"
        }
        self._measuring: dict[str, Any] = {p.name: p for p in filters if "room" in vars(type(p))}
        self._nominated = nominated

    @property
    def names(self) -> list[str]:
        """The names of the filters in their order."""
        return [plugin.name for plugin in self._filters]

    def run_filter_plugins_with_nominated_pods(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: Snapshot | Overlay,
        watch: Stopwatch | None = None,
    ) -> NodeStatuses:
        """Filter with and without the pods nominated to a node: both must pass.

        Only nominated pods of equal or higher priority count: the room they are waiting for is
        kept, while a required affinity cannot be satisfied by pods that are not there yet.
        """
        statuses = self.run_filter_plugins(state, pod, nodes, watch=watch)
        nominated = self.nominated_pods(pod, nodes)
        if nominated is not None:
            others = self._with_nominated(nominated, state, pod, nodes, watch)
            statuses.overrule(nominated.rows, others)
        return statuses

    def _with_nominated(
        self,
        nominated: PodChange,
        state: CycleState,
        pod: PodInfo,
        nodes: Snapshot | Overlay,
        watch: Stopwatch | None,
    ) -> NodeStatuses:
        """The refusals of the filters on the rows with ``nominated`` pods, with these pods."""
        overlay, change = nodes.fork(nominated.rows), nominated.renumber()
        overlay.add_pods(change)
        own = None
        if not self.is_local(state):
            own = OwnStates(overlay, [state.clone() for _ in range(len(overlay))])
            self.run_pre_filter_extensions("add_pod", own, pod, change)
        return self.run_filter_plugins(state, pod, overlay, own, watch)

    def run_signed_filter_plugins(
        self,
        state: CycleState,
        pod: PodInfo,
        snapshot: Snapshot,
        watch: Stopwatch,
        verdicts: SignedVerdicts,
    ) -> Passed:
        """The same for the whole snapshot, with what is known for pods of this signature.

        Nominated pods are not among what a signature stands for: the rows that have some are
        filtered a second time with them.
        """
        run = partial(self.run, state, pod)

        def ask(plugin: FilterPlugin) -> Verdicts | None:
            answer = self._verdicts(plugin, state, pod, snapshot)
            watch.lap(plugin.name)
            return answer

        active = [each for each in self._filters if each.name not in state.skip_filter]
        passed = verdicts.filter(active, snapshot, run, ask, watch)
        nominated = self.nominated_pods(pod, snapshot)
        if nominated is None:
            return passed
        others = partial(self._with_nominated, nominated, state, pod, snapshot, watch)
        return verdicts.with_nominated(passed, nominated, snapshot, others)

    def run(
        self,
        state: CycleState,
        pod: PodInfo,
        filters: Sequence[FilterPlugin],
        statuses: NodeStatuses,
        nodes: NodeColumns,
        watch: Stopwatch | None,
        answers: list[Verdicts | None] | None = None,
    ) -> int:
        """Run ``filters`` for the pod; see framework.reuse.signed_verdicts.Run."""
        last = filters[-1] if answers is not None and filters else None
        return self._continue(statuses, filters, state, pod, nodes, None, watch, answers, last)

    def _verdicts(
        self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, snapshot: Snapshot
    ) -> Verdicts | None:
        try:
            return plugin.filter(state, pod, snapshot)
        except Exception as raised:
            raise guard.running_error(plugin.name, "filter", raised) from raised

    def nominated_pods(self, pod: PodInfo, nodes: NodeColumns) -> PodChange | None:
        """The pods nominated to rows of ``nodes`` that ``pod`` has to respect, if any."""
        return self._nominated.pods_to_respect(pod, nodes)

    def run_filter_plugins(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: NodeColumns,
        own: OwnStates | None = None,
        watch: Stopwatch | None = None,
    ) -> NodeStatuses:
        """The first refusal for every row that is alive. Raises StatusError on an internal error.

        ``nodes`` may be an overlay; see framework.interface. If its rows have states of their
        ``own``, plugins with PreFilterExtensions are asked with these.
        """
        return self._run(self._filters, state, pod, nodes, own, watch)

    def run_filter_plugin(
        self, name: str, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> NodeStatuses:
        """The refusals of one filter alone, for every row that is alive."""
        only = [plugin for plugin in self._filters if plugin.name == name]
        return self._run(only, state, pod, nodes, None)

    def run_local_filter_plugins(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> NodeStatuses:
        """Only the filters before the first that uses more than the row: refusals are final."""
        local = itertools.takewhile(
            lambda plugin: plugin.name in state.skip_filter or plugin.name not in self._extending,
            self._filters,
        )
        return self._run(local, state, pod, nodes, None)

    def _run(
        self,
        plugins: Iterable[FilterPlugin],
        state: CycleState,
        pod: PodInfo,
        nodes: NodeColumns,
        own: OwnStates | None,
        watch: Stopwatch | None = None,
    ) -> NodeStatuses:
        statuses = NodeStatuses.untouched(nodes.alive)
        active = (each for each in plugins if each.name not in state.skip_filter)
        self._continue(statuses, active, state, pod, nodes, own, watch)
        return statuses

    def _continue(
        self,
        statuses: NodeStatuses,
        plugins: Iterable[FilterPlugin],
        state: CycleState,
        pod: PodInfo,
        nodes: NodeColumns,
        own: OwnStates | None,
        watch: Stopwatch | None,
        answers: list[Verdicts | None] | None = None,
        last: FilterPlugin | None = None,
    ) -> int:
        """Enter the refusals of ``plugins`` into ``statuses`` until no row is left.

        Returns how many plugins ran; ``answers`` gets what each of them returned. The refusals of
        ``last`` stand in ``answers`` alone; no plugin comes after it.
        """
        ran = 0
        for plugin in plugins:
            try:
                verdicts = self._ask(plugin, state, pod, nodes, own, statuses)
                any_left = (
                    verdicts is None
                    or (plugin is last and not has_errors(verdicts))
                    or add_refusals(statuses, verdicts, plugin.name)
                )
                if answers is not None:
                    answers.append(verdicts)
            except Exception as raised:
                raise guard.running_error(plugin.name, "filter", raised) from raised
            if watch is not None:
                watch.lap(plugin.name)
            ran += 1
            if not any_left:
                break
        return ran

    def _ask(
        self,
        plugin: FilterPlugin,
        state: CycleState,
        pod: PodInfo,
        nodes: NodeColumns,
        own: OwnStates | None,
        statuses: NodeStatuses,
    ) -> Verdicts | None:
        if own is not None and plugin.name in self._extending:
            open_rows = np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)
            return own.filter_rows(plugin, pod, open_rows)
        by_row = self._by_row.get(plugin.name)
        if by_row is not None:
            open_rows = np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)
            return by_row.filter_rows(state, pod, nodes, open_rows)
        return plugin.filter(state, pod, nodes)

    # -- what the filters of a cycle depend on ---------------------------------------------------

    def signature(self, state: CycleState, pod: PodInfo) -> Hashable | None:
        """Equal for pods to which the filters of this cycle give the same answers on any row.

        None if a filter does not sign the pod, or uses more than the row.
        """
        if not self.is_local(state) or has_counted_status(pod.pod):
            return None
        signs = []
        for plugin in self._filters:
            if plugin.name not in state.skip_filter:
                signing = self._signing.get(plugin.name)
                sign = signing.sign(pod) if signing is not None else None
                if sign is None:
                    return None
                signs.append((plugin.name, sign))
        return tuple(signs)

    def room(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[Int64Array, Int64Array] | None:
        """How much more each row may hold beside the pod; for a cycle whose filters sign the pod.

        As framework.interface.MeasuringFilter.room. None if filters depend on more of the pods on a
        row than their amounts.
        """
        measured = []
        for plugin in self._filters:
            if plugin.name in state.skip_filter:
                continue
            if plugin.name in self._measuring:
                measured.append(self._measuring[plugin.name].room(state, nodes))
            elif getattr(plugin, "sign_reads", "pods") != "nodes":
                return None
        if not measured:
            return None
        indices, room = zip(*measured, strict=True)
        return np.concatenate(indices), np.concatenate(room)

    # -- pods that are added or removed in the middle of a cycle --------------------------------

    def is_local(self, state: CycleState) -> bool:
        """Whether, in this cycle, every filter uses nothing but the row itself.

        If so, many modified rows may be filtered in one overlay; else one row at a time, each
        with its own clone of the state.
        """
        return all(plugin.name in state.skip_filter for plugin in self._extensions)

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, nodes: Overlay) -> None:
        """Add ``added`` to the overlay's only row, and run AddPod."""
        nodes.add_pod(0, added)
        self._run_pre_filter_extension("add_pod", state, pod, added, nodes)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, nodes: Overlay) -> None:
        """Remove ``removed`` from the overlay's only row, and run RemovePod."""
        nodes.remove_pod(0, removed.key)
        self._run_pre_filter_extension("remove_pod", state, pod, removed, nodes)

    def run_pre_filter_extensions(
        self, method: ExtensionMethod, own: OwnStates, pod: PodInfo, change: PodChange
    ) -> None:
        """Run AddPod or RemovePod for every pod of a change, each with the state of its row."""
        for place, row in enumerate(change.rows.tolist()):
            for other in change.pods(place):
                state, view = own.states[row], own.view(row)
                self._run_pre_filter_extension(method, state, pod, other, view)

    def _run_pre_filter_extension(
        self,
        method: ExtensionMethod,
        state: CycleState,
        pod: PodInfo,
        other: PodInfo,
        nodes: NodeColumns,
    ) -> None:
        for plugin in self._extensions:
            if plugin.name not in state.skip_filter:
                try:
                    getattr(plugin, method)(state, pod, other, nodes)
                except Exception as raised:
                    raise guard.running_error(plugin.name, "PreFilterExtension", raised) from raised
