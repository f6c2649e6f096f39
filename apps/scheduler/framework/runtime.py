"""One profile's plugins, and how each extension point is run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from apps.scheduler.config.types import Profile
from apps.scheduler.framework import guard
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import Diagnosis, NodeStatuses
from apps.scheduler.framework.events import EVERY_EVENT, ClusterEventWithHint
from apps.scheduler.framework.extender import EXTENDER_NAME
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import (
    EXTENSION_POINTS,
    BindPlugin,
    EnqueueExtensions,
    FilterPlugin,
    NormalizeScorePlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    Verdicts,
)
from apps.scheduler.framework.nodes import Int64Array, NodeTable
from apps.scheduler.framework.nominated import NominatedPods
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.own_states import OwnStates
from apps.scheduler.framework.per_node import LineFilter
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.status import (
    SKIP,
    SUCCESS,
    Code,
    Status,
    StatusError,
    error,
    unresolvable,
)
from apps.scheduler.framework.steps import Step, Steps
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.framework.waiting_pods import MAX_PERMIT_TIMEOUT

#: builds a plugin from its typed arguments (None if it takes none) and the handle
PluginFactory = Callable[[Any, Handle], Plugin]

#: the extension points at which a pod can be rejected
_REJECTING = (PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, ReservePlugin, PermitPlugin)


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """One plugin's scores, aligned with the feasible lines."""

    #: what Score returned
    raw: Int64Array
    #: after NormalizeScore, in 0..100
    normalized: Int64Array
    weight: int

    @property
    def weighted(self) -> Int64Array:
        return self.normalized * self.weight


class PluginError(Exception):
    """A plugin cannot be built, or is not what the profile takes it for."""


class Framework:
    """Built once per profile; keeps no state of a cycle itself (that is in CycleState).

    ``slow``: plugins whose PreBind and Bind may take their time. Raises KeyError for a plugin that
    the registry does not know, PluginError for one that fails to
    be built or lacks the methods of an extension point at which the profile has it.
    """

    def __init__(
        self,
        profile: Profile,
        registry: Mapping[str, PluginFactory],
        handle: Handle,
        slow: Collection[str] = (),
    ) -> None:
        self.profile = profile
        self._slow = slow
        self.handle = handle
        self.plugins: dict[str, Plugin] = {
            name: _built(name, registry[name], profile.args.get(name), handle)
            for name in profile.plugin_names
        }
        at = {point: self._at(point) for point in EXTENSION_POINTS}
        self._pre_enqueue: list[PreEnqueuePlugin] = at["preEnqueue"]
        self._queue_sort: list[QueueSortPlugin] = at["queueSort"]
        self._pre_filter: list[PreFilterPlugin] = at["preFilter"]
        self._filter: list[FilterPlugin] = at["filter"]
        self._post_filter: list[PostFilterPlugin] = at["postFilter"]
        self._pre_score: list[PreScorePlugin] = at["preScore"]
        self._score = [_scorer(plugin, profile) for plugin in at["score"]]
        self._reserve: list[ReservePlugin] = at["reserve"]
        self._permit: list[PermitPlugin] = at["permit"]
        self._pre_bind: list[PreBindPlugin] = at["preBind"]
        self._bind: list[BindPlugin] = at["bind"]
        self._post_bind: list[PostBindPlugin] = at["postBind"]
        self._by_line = {p.name: p for p in self._filter if isinstance(p, LineFilter)}
        self._extensions = [p for p in self._pre_filter if isinstance(p, PreFilterExtensions)]
        self._extending = frozenset(plugin.name for plugin in self._extensions)
        self._nominated: NominatedPods | None = None
        handle.attach(self)

    def _at(self, point: str) -> list[Any]:
        protocol = EXTENSION_POINTS[point]
        found = [self.plugins[name] for name in self.profile.plugins.get(point, ())]
        for plugin in found:
            if not isinstance(plugin, protocol):
                raise PluginError(f"plugin {plugin.name} does not implement {point}")
        return found

    # -- what the profile has ------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The profile's ``schedulerName``."""
        return self.profile.scheduler_name

    @property
    def has_post_filter_plugins(self) -> bool:
        return bool(self._post_filter)

    @property
    def has_score_plugins(self) -> bool:
        return bool(self._score)

    def queue_sort_key(self, pod: Any) -> Any:
        """The rank of a queued pod, by the profile's QueueSort plugin.

        One that the plugin cannot rank comes last.
        """
        plugin = self._queue_sort[0]
        try:
            return 0, plugin.sort_key(pod)
        except Exception as raised:
            guard.failure(plugin.name, "QueueSort", raised)
            return 1, pod.timestamp

    def pre_enqueue_functions(self) -> list[tuple[str, Callable[[PodInfo], Status | None]]]:
        """(plugin, its PreEnqueue), for the scheduling queue."""
        return [
            (plugin.name, partial(guard.answer, plugin.name, "PreEnqueue", plugin.pre_enqueue))
            for plugin in self._pre_enqueue
        ]

    def registered_events(self) -> list[tuple[str, Sequence[ClusterEventWithHint]]]:
        """(plugin, events it wants to hear of), for the scheduling queue.

        A plugin that may reject pods and does not say what would help hears of every event, and so
        do extenders, which have no way of saying it.
        """
        events: dict[str, Sequence[ClusterEventWithHint]] = {}
        if self.handle.extenders:
            events[EXTENDER_NAME] = EVERY_EVENT
        for name, plugin in self.plugins.items():
            if isinstance(plugin, EnqueueExtensions):
                events[name] = plugin.events_to_register()
            elif isinstance(plugin, _REJECTING):
                events[name] = EVERY_EVENT
        return list(events.items())

    # -- before the queue ----------------------------------------------------------------------

    def run_pre_enqueue_plugins(self, pod: PodInfo) -> Status:
        """The first refusal, or success."""
        for name, pre_enqueue in self.pre_enqueue_functions():
            status = pre_enqueue(pod)
            if status is not None and not status.is_success:
                return status.by(name)
        return SUCCESS

    # -- filtering -----------------------------------------------------------------------------

    def run_pre_filter_plugins(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable
    ) -> tuple[PreFilterResult, Status, set[str]]:
        """The nodes still allowed, the outcome, and the plugins that narrowed the nodes.

        When no node is left by the plugins together, the outcome is a rejection that names them.
        """
        watch = Stopwatch(state, "PreFilter")
        result, narrowing = PreFilterResult(), set[str]()
        outcome = SUCCESS
        for plugin in self._pre_filter:
            narrowed, status = _pre_filter(plugin, state, pod, nodes)
            watch.lap(plugin.name)
            if status.is_skip:
                state.skip_filter.add(plugin.name)
                continue
            if status.code is Code.UNSCHEDULABLE:
                # Preemption may help, and it needs what the other plugins prepare.
                outcome = status.by(plugin.name)
                continue
            if not status.is_success:
                outcome = status.by(plugin.name)
                break
            if narrowed is not None and narrowed.node_names is not None:
                narrowing.add(plugin.name)
                result = result.merge(narrowed)
                if not result.node_names:
                    outcome = _nothing_left(narrowing)
                    break
        watch.stop()
        return result, outcome, narrowing

    def run_filter_plugins(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: NodeTable,
        own: OwnStates | None = None,
        watch: Stopwatch | None = None,
    ) -> NodeStatuses:
        """The first refusal for every line that is alive. Raises StatusError on an internal error.

        ``nodes`` may be an overlay; see framework.interface. If its lines have states of their
        ``own``, plugins with PreFilterExtensions are asked with these.
        """
        return self._run_filters(self._filter, state, pod, nodes, own, watch)

    @property
    def filter_names(self) -> list[str]:
        """The filters in the order in which they are asked."""
        return [plugin.name for plugin in self._filter]

    def run_filter_plugin(
        self, name: str, state: CycleState, pod: PodInfo, nodes: NodeTable
    ) -> NodeStatuses:
        """What one filter says of every line that is alive, whatever the others say."""
        only = [plugin for plugin in self._filter if plugin.name == name]
        return self._run_filters(only, state, pod, nodes, None)

    def run_local_filter_plugins(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable
    ) -> NodeStatuses:
        """Only the filters before the first that looks beyond the line: refusals are final."""
        local = itertools.takewhile(
            lambda plugin: plugin.name in state.skip_filter or plugin.name not in self._extending,
            self._filter,
        )
        return self._run_filters(local, state, pod, nodes, None)

    def _run_filters(
        self,
        plugins: Iterable[FilterPlugin],
        state: CycleState,
        pod: PodInfo,
        nodes: NodeTable,
        own: OwnStates | None,
        watch: Stopwatch | None = None,
    ) -> NodeStatuses:
        found = NodeStatuses(np.where(nodes.alive, 0, NodeStatuses.NOT_EVALUATED), [None])
        for plugin in plugins:
            if plugin.name in state.skip_filter:
                continue
            verdicts: Verdicts | None
            try:
                by_line = self._by_line.get(plugin.name)
                if own is not None and plugin.name in self._extending:
                    open_lines = np.flatnonzero(found.ids == NodeStatuses.FEASIBLE)
                    verdicts = own.filter_lines(plugin, pod, open_lines)
                elif by_line is None:
                    verdicts = plugin.filter(state, pod, nodes)
                else:
                    open_lines = np.flatnonzero(found.ids == NodeStatuses.FEASIBLE)
                    verdicts = by_line.filter_lines(state, pod, nodes, open_lines)
                goes_on = verdicts is None or _refuse(found, verdicts, plugin.name)
            except Exception as raised:
                raise guard.while_running(plugin.name, "filter", raised) from raised
            if watch is not None:
                watch.lap(plugin.name)
            if not goes_on:
                break
        return found

    def run_filter_plugins_with_nominated_pods(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: NodeTable,
        watch: Stopwatch | None = None,
    ) -> NodeStatuses:
        """Filter as if pods nominated to a node ran there, and as if not: both must pass.

        Only nominated pods of equal or higher priority count: they keep the room they were
        promised, while required affinity must not lean on pods that are not there yet.
        """
        found = self.run_filter_plugins(state, pod, nodes, watch=watch)
        nominated = self.nominated_pods(pod, nodes)
        if nominated is None:
            return found
        overlay, change = nodes.fork(nominated.lines), nominated.renumbered()
        overlay.add_pods(change)
        own = None
        if not self.is_local(state):
            own = OwnStates(overlay, [state.clone() for _ in range(len(overlay))])
            self.tell_each("add_pod", own, pod, change)
        others = self.run_filter_plugins(state, pod, overlay, own, watch)
        found.overrule(nominated.lines, others)
        return found

    def nominated_pods(self, pod: PodInfo, nodes: NodeTable) -> PodChange | None:
        """The pods nominated to lines of ``nodes`` that ``pod`` has to respect, if any."""
        known = self._nominated
        if known is None or known.nominator is not self.handle.nominator:
            known = NominatedPods(self.handle.nominator, self.handle.snapshot)
            self._nominated = known
        return known.respected_by(pod, nodes)

    def is_local(self, state: CycleState) -> bool:
        """Whether, in this cycle, every filter looks at nothing but the line itself.

        If so, many modified rows may be filtered in one overlay; else one row at a time, each with
        its own clone of the state.
        """
        return all(plugin.name in state.skip_filter for plugin in self._extensions)

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, nodes: Overlay) -> None:
        """Let ``added`` run on the overlay's only line, and tell the plugins (AddPod)."""
        nodes.add_pod(0, added)
        self.run_pre_filter_extension("add_pod", state, pod, added, nodes)

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, nodes: Overlay) -> None:
        """Take ``removed`` off the overlay's only line, and tell the plugins (RemovePod)."""
        nodes.remove_pod(0, removed.key)
        self.run_pre_filter_extension("remove_pod", state, pod, removed, nodes)

    def run_pre_filter_extension(
        self,
        what: Literal["add_pod", "remove_pod"],
        state: CycleState,
        pod: PodInfo,
        other: PodInfo,
        nodes: NodeTable,
    ) -> None:
        """Tell the plugins that ``other`` has come to the only line of ``nodes``, or left it."""
        for plugin in self._extensions:
            if plugin.name not in state.skip_filter:
                try:
                    getattr(plugin, what)(state, pod, other, nodes)
                except Exception as raised:
                    raise guard.while_running(plugin.name, "PreFilterExtension", raised) from raised

    def tell_each(
        self,
        what: Literal["add_pod", "remove_pod"],
        own: OwnStates,
        pod: PodInfo,
        change: PodChange,
    ) -> None:
        """Tell the plugins of every pod of a change, each with the state of its line."""
        for place, line in enumerate(change.lines.tolist()):
            for other in change.pods(place):
                self.run_pre_filter_extension(what, own.states[line], pod, other, own.view(line))

    def run_post_filter_plugins(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        """Ask each in turn until one makes room; else all their reasons, signed by the first.

        Any answer but Unschedulable ends the round.
        """
        watch = Stopwatch(state, "PostFilter")
        result: PostFilterResult | None = None
        refusals: list[Status] = []
        for plugin in self._post_filter:
            found, outcome = _post_filter(plugin, state, pod, diagnosis)
            watch.lap(plugin.name)
            if outcome.code is not Code.UNSCHEDULABLE:
                watch.stop()
                return found, outcome
            refusals.append(outcome)
            if found is not None and found.nominating is not None:
                result = found
        watch.stop()
        reasons = tuple(reason for status in refusals for reason in status.reasons)
        return result, Status(Code.UNSCHEDULABLE, reasons, refusals[0].plugin)

    # -- scoring -------------------------------------------------------------------------------

    def run_pre_score_plugins(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable, lines: Int64Array
    ) -> Status:
        watch = Stopwatch(state, "PreScore")
        for plugin in self._pre_score:
            try:
                status = plugin.pre_score(state, pod, nodes, lines)
            except Exception as raised:
                status = guard.failure(plugin.name, "PreScore", raised)
            watch.lap(plugin.name)
            if status is None or status.is_success:
                continue
            if not status.is_skip:
                return error(f'running PreScore plugin "{plugin.name}": {status.message}')
            state.skip_score.add(plugin.name)
        watch.stop()
        return SUCCESS

    def run_score_plugins(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable, lines: Int64Array
    ) -> dict[str, ScoreColumn]:
        """Score and normalise; plugin -> its column. Raises StatusError on an internal error."""
        watch = Stopwatch(state, "Score")
        columns: dict[str, ScoreColumn] = {}
        for name, scorer, normalizer, weight in self._score:
            if name in state.skip_score:
                continue
            try:
                raw = normalized = scorer.score(state, pod, nodes, lines)
                if normalizer is not None:
                    normalized = normalizer.normalize_score(state, pod, raw)
                _check_shape(raw, normalized, lines)
            except Exception as raised:
                raise guard.while_running(name, "Score", raised) from raised
            _check_range(name, normalized)
            columns[name] = ScoreColumn(raw, normalized, weight)
            watch.lap(name)
        watch.stop()
        return columns

    # -- after a node was chosen ---------------------------------------------------------------

    def run_reserve_plugins_reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status:
        """The first failure, or success; after a failure the caller runs unreserve."""
        watch = Stopwatch(state, "Reserve")
        outcome = SUCCESS
        for plugin in self._reserve:
            outcome = guard.answer(plugin.name, "Reserve", plugin.reserve, state, pod, node)
            watch.lap(plugin.name)
            if not outcome.is_success:
                break
        watch.stop()
        return outcome

    def run_reserve_plugins_unreserve(self, state: CycleState, pod: PodInfo, node: str) -> None:
        """All Reserve plugins in reverse order, also those whose Reserve was not reached."""
        for plugin in reversed(self._reserve):
            guard.without_answer(plugin.name, "Unreserve", plugin.unreserve, state, pod, node)

    def run_permit_plugins(self, state: CycleState, pod: PodInfo, node: str) -> Status:
        """Success, a rejection, or WAIT: the pod is then held in ``handle.waiting_pods``."""
        watch = Stopwatch(state, "Permit")
        outcome = SUCCESS
        timeouts: dict[str, float] = {}
        for plugin in self._permit:
            status, timeout = _permit(plugin, state, pod, node)
            watch.lap(plugin.name)
            if status.is_wait:
                timeouts[plugin.name] = min(timeout, MAX_PERMIT_TIMEOUT)
            elif not status.is_success:
                outcome, timeouts = status, {}
                break
        watch.stop()
        if not timeouts:
            return outcome
        self.handle.waiting_pods.hold(pod, node, timeouts, self.handle.clock.now())
        return Status(Code.WAIT, (f"one or more plugins asked to wait: {list(timeouts)}",))

    def run_pre_bind_plugins(self, state: CycleState, pod: PodInfo, node: str) -> Steps:
        """The first failure, or success; a step for each plugin that may take its time."""
        watch = Stopwatch(state, "PreBind")
        outcome = SUCCESS
        for plugin in self._pre_bind:
            if plugin.name in self._slow:
                args = (plugin.name, "PreBind", plugin.pre_bind, state, pod, node)
                outcome = yield Step(plugin.name, partial(guard.answer, *args))
            else:
                outcome = guard.answer(plugin.name, "PreBind", plugin.pre_bind, state, pod, node)
            watch.lap(plugin.name)
            if not outcome.is_success:
                break
        watch.stop()
        return outcome

    def run_bind_plugins(self, state: CycleState, pod: PodInfo, node: str) -> Steps:
        """The answer of the first that does not skip, Skip if all do; steps as in PreBind."""
        watch = Stopwatch(state, "Bind")
        outcome = SKIP
        for plugin in self._bind:
            if plugin.name in self._slow:
                args = (plugin.name, "Bind", plugin.bind, state, pod, node)
                outcome = yield Step(plugin.name, partial(guard.answer, *args))
            else:
                outcome = guard.answer(plugin.name, "Bind", plugin.bind, state, pod, node)
            watch.lap(plugin.name)
            if not outcome.is_skip:
                break
        watch.stop()
        return outcome

    def run_post_bind_plugins(self, state: CycleState, pod: PodInfo, node: str) -> None:
        for plugin in self._post_bind:
            guard.without_answer(plugin.name, "PostBind", plugin.post_bind, state, pod, node)


def _built(name: str, factory: PluginFactory, args: Any, handle: Handle) -> Plugin:
    try:
        return factory(args, handle)
    except Exception as raised:
        raise PluginError(f'initializing plugin "{name}": {raised}') from raised


def _scorer(
    plugin: ScorePlugin, profile: Profile
) -> tuple[str, ScorePlugin, NormalizeScorePlugin | None, int]:
    """What running a score plugin takes: name, Score, NormalizeScore if it has one, weight."""
    normalizer = plugin if isinstance(plugin, NormalizeScorePlugin) else None
    return plugin.name, plugin, normalizer, profile.score_weights[plugin.name]


def _refuse(found: NodeStatuses, verdicts: Verdicts, plugin: str) -> bool:
    """Enter a plugin's refusals where nobody refused before; False if no line is left."""
    open_lines = found.ids == NodeStatuses.FEASIBLE
    refused = open_lines & (verdicts.ids != 0)
    if not refused.any():
        return True
    said = verdicts.ids[refused]
    numbers = np.zeros(int(said.max()) + 1, dtype=found.ids.dtype)
    for verdict in map(int, np.flatnonzero(np.bincount(said))):
        status = verdicts.statuses[verdict]
        assert status is not None
        if status.code is Code.ERROR:
            raise StatusError(status)
        numbers[verdict] = len(found.statuses)
        found.statuses.append(status.by(plugin))
    found.ids[refused] = numbers[said]
    return bool(np.count_nonzero(refused) < np.count_nonzero(open_lines))


def _nothing_left(narrowing: set[str]) -> Status:
    """No node satisfies the plugins that narrowed the search."""
    names = " ".join(sorted(narrowing))
    if len(narrowing) == 1:
        reason = f"node(s) didn't satisfy plugin {names}"
    else:
        reason = f"node(s) didn't satisfy plugin(s) [{names}] simultaneously"
    return unresolvable(reason)


def _pre_filter(
    plugin: PreFilterPlugin, state: CycleState, pod: PodInfo, nodes: NodeTable
) -> tuple[PreFilterResult | None, Status]:
    """The plugin's answer; an internal error as a status."""
    try:
        result, status = plugin.pre_filter(state, pod, nodes)
    except Exception as raised:
        result, status = None, guard.failure(plugin.name, "PreFilter", raised)
    if status is not None and status.code is Code.ERROR:
        status = error(f'running PreFilter plugin "{plugin.name}": {status.message}')
    return result, status or SUCCESS


def _post_filter(
    plugin: PostFilterPlugin, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
) -> tuple[PostFilterResult | None, Status]:
    try:
        result, status = plugin.post_filter(state, pod, diagnosis)
    except Exception as raised:
        result, status = None, guard.failure(plugin.name, "PostFilter", raised)
    return result, status if status.is_success else status.by(plugin.name)


def _permit(
    plugin: PermitPlugin, state: CycleState, pod: PodInfo, node: str
) -> tuple[Status, float]:
    """The plugin's answer, and for how many seconds at most it wants to hold the pod."""
    try:
        status, timeout = plugin.permit(state, pod, node)
    except Exception as raised:
        status, timeout = guard.failure(plugin.name, "Permit", raised), 0.0
    return guard.described(plugin.name, "Permit", status), timeout


def _check_shape(raw: Int64Array, normalized: Int64Array, lines: Int64Array) -> None:
    for column in (raw, normalized):
        if column.dtype != np.int64 or column.shape != lines.shape:
            wanted = f"{len(lines)} scores of type int64"
            raise TypeError(f"{wanted} are wanted, not {column.shape} of type {column.dtype}")


def _check_range(plugin: str, scores: Int64Array) -> None:
    # As unsigned numbers, negative scores are greater than any valid one: one pass for both ends.
    if len(scores) and scores.view(np.uint64).max() > 100:
        raise StatusError(
            error(
                f'plugin "{plugin}" returns an invalid score, '
                "it should in the range of [0, 100] after normalizing"
            )
        )
