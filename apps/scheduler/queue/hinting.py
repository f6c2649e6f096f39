"""Whether an event is a reason to retry a rejected pod, according to the plugins that rejected it.

Only the plugins that rejected the pod are asked, each by the hint function that it registered for
the event: other plugins cannot change the result.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from time import perf_counter_ns
from typing import Any

from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    QueueingHintFn,
    Resource,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.series import MetricsRegistry
from apps.scheduler.objects import Pod
from apps.scheduler.queue.in_flight import ObservedEvent
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo

logger = logging.getLogger(__name__)

#: one profile's registrations: event -> the plugins that registered it, with their hint functions
QueueingHintMap = dict[ClusterEvent, list[tuple[str, QueueingHintFn]]]


def always_queue(pod: PodInfo, old: Any, new: Any) -> QueueingHint:
    return QueueingHint.QUEUE


def build_queueing_hint_map(
    registrations: Iterable[tuple[str, Sequence[ClusterEventWithHint]]],
) -> QueueingHintMap:
    """Collect the registrations of a profile's plugins: (plugin name, its events).

    A plugin that registers added nodes, but not taint updates, gets the latter too: a node is often
    added with a taint and only becomes usable, for any plugin, when the taint is removed.
    """
    hint_map: QueueingHintMap = {}
    for plugin, events in registrations:
        for registered in [*events, *_implied_events(events)]:
            hint = registered.hint or always_queue
            hint_map.setdefault(registered.event, []).append((plugin, hint))
    return hint_map


def _implied_events(events: Sequence[ClusterEventWithHint]) -> list[ClusterEventWithHint]:
    node_actions = ActionType(0)
    for registered in events:
        if registered.event.resource == Resource.NODE:
            node_actions |= registered.event.action
    if node_actions & ActionType.ADD and not node_actions & ActionType.UPDATE_NODE_TAINT:
        return [ClusterEventWithHint(ClusterEvent(Resource.NODE, ActionType.UPDATE_NODE_TAINT))]
    return []


class QueueingStrategy(IntEnum):
    """What to do with a rejected pod after an event; a higher value takes precedence."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    strategy: QueueingStrategy
    #: the plugin whose hint decided; "" if no hint was asked
    plugin: str = ""
    #: "Queue", or "Error" for a hint function that failed; "" if no hint was asked
    hint: str = ""


SKIP = Verdict(QueueingStrategy.SKIP)
AFTER_BACKOFF = Verdict(QueueingStrategy.AFTER_BACKOFF)

_Listeners = tuple[tuple[str, QueueingHintFn], ...]


class QueueingHints:
    """The hint maps of all profiles, by scheduler name."""

    def __init__(self, by_profile: Mapping[str, QueueingHintMap], metrics: MetricsRegistry) -> None:
        self._metrics = metrics
        self._by_profile = by_profile
        #: the results of `_find_listeners`, by (scheduler name, event)
        self._listeners: dict[tuple[str, ClusterEvent], _Listeners] = {}
        self._interested: dict[ClusterEvent, frozenset[str]] = {}

    def interested_plugins(self, event: ClusterEvent) -> frozenset[str]:
        """The plugins, of any profile, that registered the event."""
        known = self._interested.get(event)
        if known is None:
            known = frozenset(
                plugin
                for profile in self._by_profile
                for plugin, _ in self._find_listeners(profile, event)
            )
            self._interested[event] = known
        return known

    def is_registered(self, plugin: str, event: ClusterEvent) -> bool:
        """Whether the plugin, in any profile, registered the event."""
        return plugin in self.interested_plugins(event)

    def judge(self, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any) -> Verdict:
        """Ask the plugins that rejected the pod; the highest of their verdicts counts.

        After Queue from a plugin for which the pod is pending the pod skips its backoff. A pod
        without rejectors failed with an error and is always retried. A wildcard event is for all
        pods, or for the one pod that is its new object.
        """
        if not info.rejector_plugins:
            return AFTER_BACKOFF
        if event.is_wildcard:
            aimed_elsewhere = new is not None and not _is_pod(new, info.uid)
            return SKIP if aimed_elsewhere else AFTER_BACKOFF
        profile = info.pod.spec.scheduler_name
        if profile not in self._by_profile:
            return AFTER_BACKOFF
        return self._ask(info, event, self._find_listeners(profile, event), old, new)

    def judge_all(self, info: QueuedPodInfo, observed: Iterable[ObservedEvent]) -> Verdict:
        """The highest verdict on any of the events; the first of equal ones."""
        if not info.rejector_plugins:
            return AFTER_BACKOFF
        best = SKIP
        enough = (
            QueueingStrategy.IMMEDIATELY if info.pending_plugins else QueueingStrategy.AFTER_BACKOFF
        )
        for seen in observed:
            verdict = self.judge(info, seen.event, seen.old, seen.new)
            if verdict.strategy > best.strategy:
                best = verdict
            if best.strategy >= enough:
                break
        return best

    def _ask(
        self, info: QueuedPodInfo, event: ClusterEvent, listeners: _Listeners, old: Any, new: Any
    ) -> Verdict:
        best = SKIP
        for plugin, hint_fn in listeners:
            if plugin not in info.rejector_plugins:
                continue
            start = perf_counter_ns()
            hint = _run_hint(plugin, hint_fn, info, old, new)
            labels = (plugin, event.label, hint)
            self._metrics.observe_since(definitions.HINT_DURATION, labels, start)
            if hint == QueueingHint.QUEUE_SKIP.value:
                continue
            if plugin in info.pending_plugins:
                return Verdict(QueueingStrategy.IMMEDIATELY, plugin, hint)
            if best is SKIP:
                best = Verdict(QueueingStrategy.AFTER_BACKOFF, plugin, hint)
            if not info.pending_plugins:
                break
        return best

    def _find_listeners(self, profile: str, event: ClusterEvent) -> _Listeners:
        known = self._listeners.get((profile, event))
        if known is None:
            known = tuple(
                listener
                for registered, listeners in self._by_profile[profile].items()
                if registered.matches(event)
                for listener in listeners
            )
            self._listeners[profile, event] = known
        return known


def _is_pod(candidate: Any, uid: str) -> bool:
    return isinstance(candidate, Pod) and candidate.metadata.uid == uid


def _run_hint(plugin: str, hint_fn: QueueingHintFn, info: QueuedPodInfo, old: Any, new: Any) -> str:
    try:
        return hint_fn(info.pod_info, old, new).value
    except Exception:
        # A bug in a plugin must not make the pod wait for the five-minute flush.
        logger.exception("the queueing hint of %s failed for pod %s", plugin, info.key)
        return "Error"
