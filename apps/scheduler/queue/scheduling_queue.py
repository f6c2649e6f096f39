"""The scheduling queue: pods that wait for a node, the most urgent first.

It consists of

- activeQ (`active_queue`): pods that are ready for an attempt, in the order of QueueSort;
- backoffQ (`backoff_queue`): pods that are to be retried after their backoff;
- the unschedulable pods (`unschedulable_pods`): pods that were rejected, or are gated by a
  PreEnqueue plugin, and wait for an event that may change that (`hinting`);
- the pods in flight (`in_flight`): popped and not yet done, with the events since then;
- the nominator (`nominator`): pods that are nominated to a node.

    add ──► activeQ ──pop──► in flight ──done──► (bound)
             ▲   ▲               │
     backoff │   │ an event, no  │ add_unschedulable_if_not_present
        over │   │ backoff left  ▼
             │   └───── unschedulable pods
          backoffQ ◄─────────────┘ an event, still backing off

Everything happens in the caller's thread; `pop` returns None where upstream would block.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.scheduler.clock import Clock
from apps.scheduler.framework import events
from apps.scheduler.framework.events import ClusterEvent, pod_update_events
from apps.scheduler.framework.interface import AwaitedObject
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.metrics.series import MetricsRegistry
from apps.scheduler.objects import KubeObject, Pod
from apps.scheduler.queue import persistence
from apps.scheduler.queue.active_queue import ActiveQueue, RankFn
from apps.scheduler.queue.backoff_queue import BackoffQueue, BackoffRules
from apps.scheduler.queue.contents import QueueContents
from apps.scheduler.queue.hinting import (
    AFTER_BACKOFF,
    QueueingHintMap,
    QueueingHints,
    QueueingStrategy,
)
from apps.scheduler.queue.nominator import Nominator
from apps.scheduler.queue.pre_enqueue import AwaitedObjects, PreEnqueueGate, PreEnqueuePlugins
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo, by_priority
from apps.scheduler.queue.records import Observer, QueueChanges, SavedEntry, SubQueue
from apps.scheduler.queue.sub_queues import SubQueues, place_among_unschedulable

DEFAULT_POD_MAX_IN_UNSCHEDULABLE_PODS_SECONDS = 300.0

_DEFAULT_BACKOFF = BackoffRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlugins:
    """What plugins contribute to the queue, where it differs by scheduler name."""

    #: the QueueSort plugin's: pods are popped in ascending order of it
    rank: RankFn = by_priority
    pre_enqueue: PreEnqueuePlugins = field(default_factory=dict)
    awaited: AwaitedObjects = field(default_factory=dict)
    #: scheduler name -> the hints of its plugins
    hints: Mapping[str, QueueingHintMap] = field(default_factory=dict)


class PriorityQueue:
    """`nominator` holds the nominations; plugins, which are built before the queue, may know it.

    `view` returns a pod without the fields that the scheduler ignores.
    """

    def __init__(
        self,
        clock: Clock,
        plugins: QueuePlugins,
        *,
        backoff: BackoffRules = _DEFAULT_BACKOFF,
        observer: Observer | None = None,
        metrics: MetricsRegistry | None = None,
        nominator: Nominator | None = None,
        view: Callable[[PodInfo], PodInfo] = lambda pod: pod,
    ) -> None:
        metrics = metrics or MetricsRegistry()
        parts = SubQueues(
            clock,
            ActiveQueue(plugins.rank),
            BackoffQueue(clock, backoff, plugins.rank),
            PreEnqueueGate(plugins.pre_enqueue, plugins.awaited),
            Nominator() if nominator is None else nominator,
            observer,
            metrics,
        )
        self._parts = parts
        #: the pods in the queue
        self.contents = QueueContents(parts)
        #: how many pods were popped in all
        self.scheduling_cycle = 0
        #: the scheduling cycle in which an event last asked to move pods
        self.move_request_cycle = 0
        #: how long a pod may stay unschedulable, in seconds; can be changed at any time
        self.max_in_unschedulable = DEFAULT_POD_MAX_IN_UNSCHEDULABLE_PODS_SECONDS
        self._clock = clock
        self._view = view
        self._hints = QueueingHints(plugins.hints, metrics)
        self._closed = False

    def __len__(self) -> int:
        """The number of waiting pods, without those in flight."""
        parts = self._parts
        return len(parts.active) + len(parts.backoff) + len(parts.unschedulable)

    @property
    def nominator(self) -> Nominator:
        """Read-only; nominate with `PriorityQueue.add_nominated_pod`, which also saves it."""
        return self._parts.nominator

    def pending_pods(self) -> list[Pod]:
        """All waiting pods, without those in flight."""
        return self.contents.pending_pods()[0]

    def has_pod_to_pop(self) -> bool:
        return bool(len(self._parts.active) or self._parts.backoff.has_pod_to_pop())

    # --- changes of pending pods ----------------------------------------------------------------

    def add(self, pod: Pod, at: float | None = None) -> None:
        """Add a new pending pod; one that is here already is updated.

        `at` is when it was created, from when on it waits; None for now.
        """
        known = self._parts.known(pod)
        if known is not None:
            if known != pod:
                self.update(known, pod)
            return
        self._add_new(pod, events.EVENT_UNSCHEDULED_POD_ADD.label, at)

    def _add_new(self, pod: Pod, event: str, at: float | None = None) -> None:
        info = QueuedPodInfo(self._view(PodInfo(pod)), self._clock.now() if at is None else at)
        self._parts.to_active(info, event, SubQueue.OUTSIDE)

    def update(self, old: Pod, new: Pod) -> None:
        """Update a pending pod; a rejected pod may be retried because of it.

        For a pod in flight the current attempt uses the old version; the new version, and the
        change, count when it returns. An unknown pod is added.
        """
        pod_info = self._view(PodInfo(new))
        changes = pod_update_events(old, new)
        if pod_info.uid in self._parts.in_flight:
            for event in changes:
                self._parts.in_flight.record(event, old, new)
            self._parts.in_flight.update(pod_info)
            return
        for sub_queue in (self._parts.active, self._parts.backoff):
            if (info := sub_queue.update(old.key, pod_info)) is not None:
                self._parts.nominator.update(old, pod_info)
                self._parts.note_change(info)
                return
        if (info := self._parts.unschedulable.get(new.key)) is not None:
            self._update_unschedulable(info, changes, old, pod_info)
            return
        self._add_new(new, events.EVENT_UNSCHEDULED_POD_UPDATE.label)

    def _update_unschedulable(
        self, info: QueuedPodInfo, changes: Iterable[ClusterEvent], old: Pod, pod_info: PodInfo
    ) -> None:
        info.pod_info = pod_info
        self._parts.nominator.update(old, pod_info)
        for event in changes:
            source = place_among_unschedulable(info)
            verdict = self._hints.judge(info, event, old, pod_info.pod)
            target = self._parts.requeue(info, verdict, event.label, source)
            if target in (SubQueue.ACTIVE, SubQueue.BACKOFF):
                return

    def note_version(self, new: Pod) -> None:
        """Store the newest version of a pod in flight; the change is no reason to retry it."""
        if new.metadata.uid in self._parts.in_flight:
            self._parts.in_flight.update(self._view(PodInfo(new)))

    def delete(self, pod: Pod) -> None:
        """Remove the pod, which was deleted, or bound by another scheduler.

        For a pod in flight only the nomination is removed: the attempt ends by itself, and the pod
        does not return after a failure.
        """
        uid = pod.metadata.uid
        self._parts.nominator.delete(uid)
        if (flying := self._parts.in_flight.get(uid)) is not None:
            self._parts.in_flight.mark_deleted(uid)
            self._parts.note_change(flying)
        queued = self._parts.find(pod.key)
        if queued is not None:
            for sub_queue in (self._parts.active, self._parts.backoff, self._parts.unschedulable):
                sub_queue.delete(pod.key)
            self._parts.leave(queued[1], events.EVENT_UNSCHEDULED_POD_DELETE.label, queued[0])

    # --- an attempt ---------------------------------------------------------------------------

    def pop(self) -> QueuedPodInfo | None:
        """Take the next pod for an attempt; None if none is ready, or the queue is closed.

        If activeQ is empty, the rejected pod in backoffQ whose backoff ends first is taken, even
        before it ends: backoff gives precedence to other pods, and there are none. `done` or
        `add_unschedulable_if_not_present` must follow.
        """
        while not self._closed:
            source, event = SubQueue.ACTIVE, events.POP
            info = self._parts.active.pop()
            if info is None:
                source, event = SubQueue.BACKOFF, events.POP_FROM_BACKOFF_QUEUE
                info = self._parts.backoff.pop()
            if info is None:
                return None
            if info.uid not in self._parts.in_flight:
                self.scheduling_cycle += 1
                self._parts.start_attempt(info, event, source)
                return info
        return None

    def pop_specific(self, pod: Pod) -> QueuedPodInfo | None:
        """Take this pod for an attempt, wherever it waits; None if it is not here, or gated.

        As for `activate`, its backoff does not count.
        """
        self.activate([pod])
        info = self._parts.active.delete(pod.key)
        if info is not None:
            self._parts.start_attempt(info, events.POP, SubQueue.ACTIVE)
        return info

    def done(self, uid: str) -> None:
        """The attempt has ended and the pod does not return: it is bound or deleted."""
        info = self._parts.in_flight.done(uid)
        if info is not None:
            self._parts.leave(info, events.DONE, SubQueue.IN_FLIGHT)

    def add_unschedulable_if_not_present(
        self,
        info: QueuedPodInfo,
        *,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
    ) -> SubQueue:
        """Add a pod whose attempt failed; returns where it was put (OUTSIDE = not added).

        Without rejecting plugins it failed with an error and is retried after its backoff; else it
        waits for an event, unless a helpful one happened during the attempt. A pod that was deleted
        in flight, or is in the queue again, is not added.
        """
        flight = self._parts.in_flight
        if flight.is_deleted(info.uid) or self._parts.find(info.key) is not None:
            self.done(info.uid)
            return SubQueue.OUTSIDE
        if info.uid in flight:
            info.pod_info = flight.newest_version(info.uid)
        now = self._parts.distinct(self._clock.now(), info.pod)
        info.note_failure(now, frozenset(unschedulable_plugins), frozenset(pending_plugins))
        # A member of a group never waits for an event.
        verdict = AFTER_BACKOFF
        if not info.pod.group_name:
            verdict = self._hints.judge_all(info, flight.events_since(info.uid))
        flight.done(info.uid)
        failure = events.SCHEDULE_ATTEMPT_FAILURE
        return self._parts.requeue(info, verdict, failure, SubQueue.IN_FLIGHT)

    # --- events of the cluster ------------------------------------------------------------------

    def move_all_to_active_or_backoff_queue(
        self,
        event: ClusterEvent,
        old: Any = None,
        new: Any = None,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Retry the unschedulable pods that the event may help and that pass `pre_check`."""
        plugins = self._hints.interested_plugins(event)
        if event.is_wildcard:
            candidates = list(self._parts.unschedulable)
        elif plugins:
            concerned = _named_object(event, old if new is None else new)
            candidates = self._parts.unschedulable.rejected_by(plugins, concerned)
        else:
            return
        if pre_check is not None:
            candidates = [info for info in candidates if pre_check(info.pod)]
        self._move(candidates, event, old, new)

    def assigned_pod_added(self, pod: Pod) -> None:
        self.move_all_to_active_or_backoff_queue(events.EVENT_ASSIGNED_POD_ADD, new=pod)

    def assigned_pod_updated(self, old: Pod, new: Pod, event: ClusterEvent) -> None:
        """A running pod changed by `event`, one of `pod_update_events`."""
        self.move_all_to_active_or_backoff_queue(event, old, new)

    def assigned_pod_deleted(self, pod: Pod) -> None:
        self.move_all_to_active_or_backoff_queue(events.EVENT_ASSIGNED_POD_DELETE, old=pod)

    def _move(
        self, candidates: Iterable[QueuedPodInfo], event: ClusterEvent, old: Any, new: Any
    ) -> None:
        for info in sorted(candidates, key=_name_in_group):
            if info.is_gated and not self._hints.is_registered(info.gating_plugin, event):
                continue
            if self._parts.is_still_gated(info):
                continue
            verdict = self._hints.judge(info, event, old, new)
            if verdict.strategy is not QueueingStrategy.SKIP:
                self._parts.requeue(info, verdict, event.label, place_among_unschedulable(info))
        self.move_request_cycle = self.scheduling_cycle
        self._parts.in_flight.record(event, old, new)

    def activate(
        self, pods: Iterable[Pod], event: str = events.FORCE_ACTIVATE, reason: str = ""
    ) -> None:
        """Move these pods to activeQ at once, whatever they wait for.

        A pod in flight is retried when it returns; an unknown one, or one in activeQ, is ignored.
        `event` and `reason` are reported to the observer.
        """
        for pod in pods:
            queued = self._parts.find(pod.key)
            if queued is not None and queued[0] is not SubQueue.ACTIVE:
                self._parts.backoff.delete(pod.key)
                self._parts.to_active(queued[1], event, queued[0], reason=reason)
            elif pod.metadata.uid in self._parts.in_flight:
                self._parts.in_flight.record(events.EVENT_FORCE_ACTIVATE, None, pod)

    # --- flushes --------------------------------------------------------------------------------

    def flush_backoff_completed(self) -> None:
        """Move the pods whose backoff has ended to activeQ; to be called every second."""
        for info in self._parts.backoff.pop_all_completed():
            self._parts.to_active(info, events.BACKOFF_COMPLETE, SubQueue.BACKOFF)

    def flush_unschedulable_leftover(self) -> None:
        """Retry pods that no event has helped for too long; to be called every 30 seconds."""
        now = self._clock.now()
        leftover = [
            info
            for info in self._parts.unschedulable
            # to the microsecond, like the clock
            if round(now - info.timestamp, 6) > self.max_in_unschedulable
        ]
        for info in leftover:
            info.was_flushed_from_unschedulable = True
            self._parts.note_change(info)
        if leftover:
            self._move(leftover, events.EVENT_UNSCHEDULABLE_TIMEOUT, None, None)

    def close(self) -> None:
        """From now on `pop` returns None. The queue can still be dumped."""
        self._closed = True

    # --- nominations --------------------------------------------------------------------------

    def add_nominated_pod(self, pod_info: PodInfo, node_name: str | None = None) -> None:
        """Nominate the pod to the node; "" withdraws, None uses the pod's status."""
        self._parts.nominator.add(pod_info, node_name)
        self._parts.note_change_of(pod_info)

    def delete_nominated_pod(self, pod_info: PodInfo) -> None:
        """Withdraw the pod's nomination, if it has one."""
        self._parts.nominator.delete(pod_info.uid)
        self._parts.note_change_of(pod_info)

    # --- saving and restoring ---------------------------------------------------------------------

    def dump(self) -> list[SavedEntry]:
        """The whole state as plain values; a pod in flight as if it were in activeQ."""
        return persistence.dump(self._parts)

    def take_changes(self) -> QueueChanges:
        """What changed since the last call (or since the restore)."""
        return persistence.take_changes(self._parts)

    def restore(
        self,
        entries: Iterable[SavedEntry],
        pod_by_uid: Callable[[str], Pod | None],
        scheduling_cycle: int = 0,
        move_request_cycle: int = 0,
        kept_gates: Collection[str] = (),
        *,
        has_other_plugins: bool = False,
    ) -> None:
        """Fill the queue with the entries of another one's dump; ValueError if it is not empty.

        `pod_by_uid` returns the pods as they were when the entries were saved; changes since then
        follow with `update` and `delete`. An entry whose pod no longer exists is left out. Pods
        that a plugin of `kept_gates` gated stay gated until an event: it does not know them any
        more. Other gated pods are moved if their plugin lets them pass; with `has_other_plugins`,
        pods in activeQ if a plugin gates them.
        """
        if len(self) or len(self._parts.in_flight):
            raise ValueError("only an empty queue can be restored")
        persistence.restore(
            self._parts,
            entries,
            pod_by_uid,
            self._view,
            kept_gates,
            has_other_plugins=has_other_plugins,
        )
        self.scheduling_cycle = scheduling_cycle
        self.move_request_cycle = move_request_cycle


def _named_object(event: ClusterEvent, about: Any) -> AwaitedObject | None:
    """The object that changed, as plugins name it; None for an event without one."""
    if not isinstance(about, KubeObject):
        return None
    return event.resource, about.metadata.namespace, about.metadata.name


def _name_in_group(info: QueuedPodInfo) -> str:
    """Members of groups by name, after the others, which keep their order.

    Members are tried in the order in which they first became ready; upstream moves them in the
    order of a map, so at random.
    """
    return info.key if info.pod.spec.scheduling_group is not None else ""
