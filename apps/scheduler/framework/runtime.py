"""Running a profile's plugins at each extension point."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from apps.scheduler.config.types import Profile
from apps.scheduler.framework import guard
from apps.scheduler.framework.batch import OpportunisticBatch
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import Diagnosis
from apps.scheduler.framework.events import EVERY_EVENT, ClusterEventWithHint
from apps.scheduler.framework.extender import EXTENDER_NAME
from apps.scheduler.framework.filtering import Filters
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import (
    AwaitedObject,
    AwaitingPlugin,
    EnqueueExtensions,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    implements,
)
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.node_search import NodeSearch, search_plainly
from apps.scheduler.framework.nominated import NominatedPods
from apps.scheduler.framework.plugin_scores import ScoreColumn
from apps.scheduler.framework.profile_plugins import PluginError, PluginFactory, ProfilePlugins
from apps.scheduler.framework.reuse.signed_answers import NOTHING_KNOWN, SignedAnswers
from apps.scheduler.framework.reuse.signed_scores import Cycle, Scores, SignedScores
from apps.scheduler.framework.reuse.signing import Signing
from apps.scheduler.framework.status import SKIP, SUCCESS, Code, Status, error, unresolvable
from apps.scheduler.framework.steps import Step, Steps
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.framework.waiting_pods import MAX_PERMIT_TIMEOUT

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot

P = TypeVar("P", bound=Plugin)

_EVERY_NODE = PreFilterResult()
#: the extension points at which a pod can be rejected
_REJECTING = (PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, ReservePlugin, PermitPlugin)


class Framework:
    """Built once per profile; keeps no state of a cycle itself (that is in CycleState).

    ``slow``: plugins whose PreBind and Bind may be slow. Raises what ProfilePlugins raises.
    """

    def __init__(
        self,
        profile: Profile,
        registry: Mapping[str, PluginFactory],
        handle: Handle,
        slow: Collection[str] = (),
    ) -> None:
        self.profile = profile
        self.handle = handle
        self._slow = slow
        self._at = ProfilePlugins(profile, registry, handle)
        self.plugins = self._at.by_name
        nominated = NominatedPods(handle.nominator, handle.snapshot)
        self.filters = Filters(self._at.filter, self._at.pre_filter, nominated)
        handle.attach(self.filters)
        #: whether a step of a binding may be slow
        self.has_slow_steps = any(
            each.name in slow for each in (*self._at.pre_bind, *self._at.bind)
        )
        #: extension point -> its plugins with 0, if all of them say ``is_idle_when_skipped``
        self._idle: dict[str, dict[str, int]] = {
            point: dict.fromkeys((each.name for each in plugins), 0)
            for point, plugins in (("Reserve", self._at.reserve), ("PreBind", self._at.pre_bind))
            # Not inherited: a subclass may do more.
            if all("is_idle_when_skipped" in vars(type(each)) for each in plugins)
        }
        #: what is known for pods by signature
        self.signing = Signing(self.plugins.values())
        reuses = handle.gates.enabled("OpportunisticBatching") and not handle.extenders
        #: how the nodes for a pod are found in this cycle
        self.search_for: Callable[[PodInfo, Snapshot], NodeSearch] = (
            self.signing.search_for if reuses else search_plainly
        )
        self.has_score_plugins = bool(self._at.score)
        scoring = (self.plugins[each.name] for each in self._at.score)
        #: the ranking that the next pod may continue
        self.batch = OpportunisticBatch(
            [*self._at.pre_filter, *self._at.filter, *self._at.pre_score, *scoring]
        )

    # -- the profile ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The profile's ``schedulerName``."""
        return self.profile.scheduler_name

    @property
    def has_post_filter_plugins(self) -> bool:
        return bool(self._at.post_filter)

    def queue_sort_key(self, pod: Any) -> Any:
        """The rank of a queued pod, by the profile's QueueSort plugin.

        A pod for which the plugin fails comes last.
        """
        plugin = self._at.queue_sort[0]
        try:
            return 0, plugin.sort_key(pod)
        except Exception as raised:
            guard.failure(plugin.name, "QueueSort", raised)
            return 1, pod.timestamp

    def pre_enqueue_functions(self) -> list[tuple[str, Callable[[PodInfo], Status | None]]]:
        """(plugin, its PreEnqueue), for the scheduling queue."""
        return [
            (plugin.name, partial(guard.call, plugin.name, "PreEnqueue", plugin.pre_enqueue))
            for plugin in self._at.pre_enqueue
        ]

    def awaited_functions(self) -> dict[str, Callable[[PodInfo], frozenset[AwaitedObject]]]:
        """Plugin -> the objects that a pod waits for in its PreEnqueue, of plugins that say so."""
        plugins: list[Any] = [*self._at.pre_enqueue]
        return {
            plugin.name: plugin.awaited for plugin in plugins if implements(plugin, AwaitingPlugin)
        }

    def registered_events(self) -> list[tuple[str, Sequence[ClusterEventWithHint]]]:
        """(plugin, events that it registers), for the scheduling queue.

        A plugin that may reject pods but registers nothing gets every event, and so do extenders,
        which cannot register events. Raises PluginError for a plugin that fails.
        """
        events: dict[str, Sequence[ClusterEventWithHint]] = {}
        if self.handle.extenders:
            events[EXTENDER_NAME] = EVERY_EVENT
        plugin: Any
        for name, plugin in self.plugins.items():
            if implements(plugin, EnqueueExtensions):
                events[name] = _events_of(plugin)
            elif any(implements(plugin, protocol) for protocol in _REJECTING):
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
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: NodeColumns,
        known: SignedAnswers = NOTHING_KNOWN,
    ) -> tuple[PreFilterResult, Status, set[str]]:
        """The nodes still allowed, the outcome, and the plugins that narrowed the nodes.

        If the plugins together leave no node, the outcome is a rejection that names them.
        ``known``: for pods of this signature.
        """
        watch = Stopwatch(state, "PreFilter")
        plugins: Sequence[PreFilterPlugin] = self._at.pre_filter
        if known.replay(state, state.skip_filter, watch):
            plugins = _named(plugins, known.asked)
        result, narrowing = _EVERY_NODE, set[str]()
        outcome = SUCCESS
        for plugin in plugins:
            if known.answers_for(plugin.name, state, state.skip_filter):
                watch.note(plugin.name)
                continue
            before = state.keys()
            narrowed, status = _pre_filter(plugin, state, pod, nodes)
            watch.lap(plugin.name)
            if narrowed is None:
                known.add(plugin.name, status, state.written_since(before))
            if status.is_skip:
                state.skip_filter.add(plugin.name)
                continue
            if status.code is Code.UNSCHEDULABLE:
                # Preemption may help, and it needs the state of the other plugins.
                outcome = status.by(plugin.name)
                continue
            if not status.is_success:
                outcome = status.by(plugin.name)
                break
            if narrowed is not None and narrowed.node_names is not None:
                narrowing.add(plugin.name)
                result = result.merge(narrowed)
                if not result.node_names:
                    outcome = _no_node_left(narrowing)
                    break
        known.complete(self._at.pre_filter)
        watch.stop()
        return result, outcome, narrowing

    def run_post_filter_plugins(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        """Run each in turn until one makes room; else all their reasons, in the first one's name.

        Any status but Unschedulable ends the loop.
        """
        watch = Stopwatch(state, "PostFilter")
        result: PostFilterResult | None = None
        refusals: list[Status] = []
        for plugin in self._at.post_filter:
            returned, outcome = _post_filter(plugin, state, pod, diagnosis)
            watch.lap(plugin.name)
            if outcome.code is not Code.UNSCHEDULABLE:
                watch.stop()
                return returned, outcome
            refusals.append(outcome)
            if returned is not None and returned.nominating is not None:
                result = returned
        watch.stop()
        reasons = tuple(reason for status in refusals for reason in status.reasons)
        return result, Status(Code.UNSCHEDULABLE, reasons, refusals[0].plugin)

    # -- scoring -------------------------------------------------------------------------------

    def run_pre_score_plugins(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: NodeColumns,
        rows: Int64Array,
        known: SignedAnswers = NOTHING_KNOWN,
    ) -> Status:
        """Success, or an internal error; ``known``: for pods of this signature."""
        watch = Stopwatch(state, "PreScore")
        plugins: Sequence[PreScorePlugin] = self._at.pre_score
        if known.replay(state, state.skip_score, watch):
            plugins = _named(plugins, known.asked)
        for plugin in plugins:
            if known.answers_for(plugin.name, state, state.skip_score):
                watch.note(plugin.name)
                continue
            before = state.keys()
            try:
                status = plugin.pre_score(state, pod, nodes, rows)
            except Exception as raised:
                status = guard.failure(plugin.name, "PreScore", raised)
            watch.lap(plugin.name)
            known.add(plugin.name, status or SUCCESS, state.written_since(before))
            if status is None or status.is_success:
                continue
            if not status.is_skip:
                return error(f'running PreScore plugin "{plugin.name}": {status.message}')
            state.skip_score.add(plugin.name)
        known.complete(self._at.pre_score)
        watch.stop()
        return SUCCESS

    def run_score_plugins(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: NodeColumns,
        rows: Int64Array,
        part: NodeColumns | None = None,
    ) -> dict[str, ScoreColumn]:
        """Score and normalize; plugin -> its column. Raises StatusError on an internal error.

        ``part``: these ``rows`` as a table, for plugins whose score of a node depends on nothing
        but the node and its pods.
        """
        watch = Stopwatch(state, "Score")
        columns: dict[str, ScoreColumn] = {}
        for scorer in self._at.score:
            if scorer.name in state.skip_score:
                continue
            if part is not None and self.signing.looks_at_rows(scorer.name, pod):
                columns[scorer.name] = scorer.score(state, pod, part, np.arange(len(rows)))
            else:
                columns[scorer.name] = scorer.score(state, pod, nodes, rows)
            watch.lap(scorer.name)
        watch.stop()
        return columns

    def run_signed_score_plugins(
        self,
        state: CycleState,
        pod: PodInfo,
        snapshot: Snapshot,
        rows: Int64Array,
        known: SignedScores,
    ) -> Scores:
        """The same with what is known for pods of this signature, and the totals."""
        watch = Stopwatch(state, "Score")
        skipped = state.skip_score
        scorers = [each for each in self._at.score if each.name not in skipped]
        cycle = Cycle(state, pod, snapshot, self.filters)
        scores = known.score(scorers, cycle, rows, watch)
        watch.stop()
        return scores

    # -- with a node ---------------------------------------------------------------------------

    def run_reserve_plugins_reserve(self, state: CycleState, pod: PodInfo, node: str) -> Status:
        """The first failure, or SUCCESS; after a failure the caller runs unreserve."""
        return self._call_until_failure("Reserve", "reserve", self._at.reserve, state, pod, node)

    def run_reserve_plugins_unreserve(self, state: CycleState, pod: PodInfo, node: str) -> None:
        """All Reserve plugins in reverse order, also those whose Reserve was not reached."""
        for plugin in reversed(self._at.reserve):
            guard.call_without_answer(plugin.name, "Unreserve", plugin.unreserve, state, pod, node)

    def run_permit_plugins(self, state: CycleState, pod: PodInfo, node: str) -> Status:
        """Success, a rejection, or WAIT: the pod is then held in ``handle.waiting_pods``."""
        outcome, timeouts = self.ask_permit_plugins(state, pod, node)
        if not timeouts:
            return outcome
        self.handle.waiting_pods.hold(pod, node, timeouts, self.handle.clock.now())
        return Status(Code.WAIT, (f"one or more plugins asked to wait: {list(timeouts)}",))

    def ask_permit_plugins(
        self, state: CycleState, pod: PodInfo, node: str
    ) -> tuple[Status, Mapping[str, float]]:
        """Success, a rejection, or WAIT with the reasons of the plugins that ask to wait.

        With WAIT, plugin -> seconds after which it rejects the pod; empty otherwise.
        """
        if not self._at.permit:
            state.durations["Permit"], state.plugin_durations["Permit"] = 0, {}
            return SUCCESS, {}
        watch = Stopwatch(state, "Permit")
        outcome = SUCCESS
        reasons: list[str] = []
        timeouts: dict[str, float] = {}
        for plugin in self._at.permit:
            status, timeout = _permit(plugin, state, pod, node)
            watch.lap(plugin.name)
            if status.is_wait:
                reasons += status.reasons
                timeouts[plugin.name] = min(timeout, MAX_PERMIT_TIMEOUT)
            elif not status.is_success:
                outcome, timeouts = status, {}
                break
        watch.stop()
        return Status(Code.WAIT, tuple(reasons)) if timeouts else outcome, timeouts

    def run_pre_bind_plugins(
        self, state: CycleState, pod: PodInfo, node: str, since: str = ""
    ) -> Steps:
        """The first failure, or success; a step for each plugin that may be slow.

        ``since``: only this plugin, which has asked to be called again, and those after it.
        """
        watch = Stopwatch(state, "PreBind")
        outcome = SUCCESS
        for plugin in self._pre_bind_since(since):
            if plugin.name in self._slow:
                args = (plugin.name, "PreBind", plugin.pre_bind, state, pod, node)
                outcome = yield Step(plugin.name, partial(guard.call, *args))
            else:
                outcome = guard.call(plugin.name, "PreBind", plugin.pre_bind, state, pod, node)
            watch.lap(plugin.name)
            if outcome is not SUCCESS:
                break
        watch.stop()
        return outcome

    def run_bind_plugins(self, state: CycleState, pod: PodInfo, node: str) -> Steps:
        """The status of the first plugin that does not skip, or Skip; steps as in PreBind."""
        watch = Stopwatch(state, "Bind")
        outcome = SKIP
        for plugin in self._at.bind:
            if plugin.name in self._slow:
                args = (plugin.name, "Bind", plugin.bind, state, pod, node)
                outcome = yield Step(plugin.name, partial(guard.call, *args))
            else:
                outcome = guard.call(plugin.name, "Bind", plugin.bind, state, pod, node)
            watch.lap(plugin.name)
            if not outcome.is_skip:
                break
        watch.stop()
        return outcome

    def _pre_bind_since(self, name: str) -> Sequence[PreBindPlugin]:
        plugins = self._at.pre_bind
        if not name:
            return plugins
        places = [place for place, plugin in enumerate(plugins) if plugin.name == name]
        return plugins[places[0] :] if places else plugins

    def bind_at_once(self, state: CycleState, pod: PodInfo, node: str, since: str = "") -> Status:
        """PreBind and Bind, if no step may be slow; ``since`` as in ``run_pre_bind_plugins``."""
        plugins = self._pre_bind_since(since)
        status = self._call_until_failure("PreBind", "pre_bind", plugins, state, pod, node)
        if status is not SUCCESS:
            return status
        spent: dict[str, int] = {}
        outcome = SKIP
        begun = before = perf_counter_ns()
        for plugin in self._at.bind:
            name = plugin.name
            outcome = guard.call(name, "Bind", plugin.bind, state, pod, node)
            now = perf_counter_ns()
            spent[name] = now - before
            before = now
            if outcome is SUCCESS or outcome.code is not Code.SKIP:
                break
        state.plugin_durations["Bind"] = spent
        state.durations["Bind"] = before - begun
        return outcome

    def _call_until_failure(
        self,
        point: str,
        method: str,
        plugins: Sequence[Plugin],
        state: CycleState,
        pod: PodInfo,
        node: str,
    ) -> Status:
        """Call each plugin at an extension point that may reject the pod, until one does."""
        idle = self._idle.get(point)
        if idle is not None and idle.keys() <= state.skip_filter:
            state.plugin_durations[point], state.durations[point] = idle.copy(), 0
            return SUCCESS
        spent: dict[str, int] = {}
        outcome = SUCCESS
        begun = before = perf_counter_ns()
        for plugin in plugins:
            try:
                status = getattr(plugin, method)(state, pod, node)
            except Exception as raised:
                status = guard.failure(plugin.name, point, raised)
            now = perf_counter_ns()
            spent[plugin.name] = now - before
            before = now
            if status is not None:
                outcome = guard.sign(plugin.name, point, status)
                if outcome is not SUCCESS:
                    break
        state.plugin_durations[point] = spent
        state.durations[point] = before - begun
        return outcome

    def run_post_bind_plugins(self, state: CycleState, pod: PodInfo, node: str) -> None:
        for plugin in self._at.post_bind:
            guard.call_without_answer(plugin.name, "PostBind", plugin.post_bind, state, pod, node)


def _events_of(plugin: EnqueueExtensions) -> Sequence[ClusterEventWithHint]:
    try:
        return plugin.events_to_register()
    except Exception as raised:
        raise PluginError(f'events of plugin "{plugin.name}": {raised}') from raised


def _no_node_left(narrowing: set[str]) -> Status:
    """No node satisfies the plugins that narrowed the search."""
    names = " ".join(sorted(narrowing))
    if len(narrowing) == 1:
        reason = f"node(s) didn't satisfy plugin {names}"
    else:
        reason = f"node(s) didn't satisfy plugin(s) [{names}] simultaneously"
    return unresolvable(reason)


def _named(plugins: Sequence[P], names: Collection[str]) -> Sequence[P]:
    """The plugins with these names."""
    return [each for each in plugins if each.name in names] if names else ()


def _pre_filter(
    plugin: PreFilterPlugin, state: CycleState, pod: PodInfo, nodes: NodeColumns
) -> tuple[PreFilterResult | None, Status]:
    """The plugin's result; an internal error as a status."""
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
        failure = guard.failure(plugin.name, "PostFilter", raised)
        result, status = None, guard.sign(plugin.name, "PostFilter", failure)
    return result, status if status.is_success else status.by(plugin.name)


def _permit(
    plugin: PermitPlugin, state: CycleState, pod: PodInfo, node: str
) -> tuple[Status, float]:
    """The plugin's status, and for how many seconds at most it wants to hold the pod."""
    try:
        status, timeout = plugin.permit(state, pod, node)
    except Exception as raised:
        status, timeout = guard.failure(plugin.name, "Permit", raised), 0.0
    return guard.sign(plugin.name, "Permit", status), timeout
