"""Continues a replay with a scheduler of its own, on a virtual clock.

Changes from outside arrive in the groups in which the recorded engine read them, at the recorded
times. In between, the scheduler tries whatever is ready; backoffs, evictions from tainted nodes and
ends of pods come when they are due.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from apps.cluster.log.changelog import LoggedChange
from apps.controllers import taint_eviction
from apps.controllers.workloads.replicas import surplus
from apps.engine.loop.informer import WATCHED, decode
from apps.scheduler.clock import VirtualClock
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Eviction
from apps.scheduler.objects import KubeObject, Node, Pod
from apps.scheduler.scheduler import Scheduler
from apps.studies.lab.simulated_changes import is_bound_to_node
from apps.studies.replay import replacement_pods
from apps.studies.replay.inputs import Input, Inputs
from apps.studies.replay.levels import Levels, Samples

_WATCHED = frozenset(kind.name for kind in WATCHED)
#: As often upstream flushes pods that have been unschedulable for too long.
_FLUSH_SECONDS = 30.0


class _Due(StrEnum):
    """What a timer does to a pod."""

    EVICT = "evict"
    FINISH = "finish"


@dataclass(slots=True)
class Continuing:
    """A cluster from the first decision that differs on."""

    scheduler: Scheduler
    clock: VirtualClock
    inputs: Inputs
    levels: Levels
    samples: Samples
    #: called with each decision before it takes effect
    decided: Callable[[Decision], None]
    #: uid -> seconds from the binding of a pod to its end, as recorded
    durations: Mapping[str, float]
    #: uid -> pod, with and without a node
    known: dict[str, Pod] = field(default_factory=dict)
    #: uid of a recorded pod -> uid of the pod that has its place in the replay
    instead: dict[str, str] = field(default_factory=dict)
    attempts: int = 0
    #: uid of a recorded pod -> uid of the pod that leaves when it does, selected by its controller
    _leaving: dict[str, str] = field(default_factory=dict)
    #: uid of such a pod -> uid of the one that has its place for what the record does later
    _swapped: dict[str, str] = field(default_factory=dict)
    #: uid of a controller -> uids of its pods
    _owned: defaultdict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    _nodes: dict[str, Node] = field(default_factory=dict)
    _objects: dict[tuple[str, str, str], KubeObject] = field(default_factory=dict)
    #: (time, number, what, uid)
    _timers: list[tuple[float, int, _Due, str]] = field(default_factory=list)
    _numbers: int = 0
    _flushed_at: float = 0.0

    def start(
        self,
        known: Mapping[str, Pod],
        nodes: Mapping[str, Node],
        objects: Iterable[tuple[str, KubeObject]],
        victims: Collection[str],
    ) -> None:
        """Begin with these objects, which the scheduler has already.

        `victims` are pods, as "namespace/name", that the last decisions have preempted.
        """
        self.known, self._nodes = dict(known), dict(nodes)
        for kind, item in objects:
            self._objects[kind, item.metadata.namespace, item.metadata.name] = item
        self._flushed_at = self.clock.at
        for pod in list(self.known.values()):
            self._owned[_controller_uid(pod)][pod.metadata.uid] = None
            self.levels.put_pod(pod, self.clock.at)
            if pod.spec.node_name:
                self._set_timers(pod, bound_at=None)
        for pod in [each for each in self.known.values() if each.key in victims]:
            self._evict(pod)

    def pass_until(self, at: float) -> None:
        """Let time pass, and do what is due until then."""
        while (due := self._next_due()) is not None and due <= at:
            self._set_clock(due)
            while self._timers and self._timers[0][0] <= self.clock.at:
                _, _, what, uid = heapq.heappop(self._timers)
                self._fire(what, uid)
            self._flush()
            self.schedule()
        self._set_clock(at)
        self._flush()

    def schedule(self) -> None:
        """Try all pods that are ready."""
        while True:
            decision = self.scheduler.schedule_one()
            if decision is not None:
                self._take(decision)
                continue
            resolved = self.scheduler.resolve_waiting()
            for each in resolved:
                self._take(each)
            if not resolved:
                return

    def apply(self, change: LoggedChange) -> None:
        """Apply a change of the record, if it came from outside."""
        meaning = self.inputs.classify(change)
        if meaning is Input.SURPLUS:
            chosen = self._select_surplus(change.uid)
            if chosen is not None and not chosen.spec.node_name:
                # without a node, it is deleted at once
                self._remove(chosen.metadata.uid)
        elif meaning is Input.REPLACED:
            evicted = self.resolve(self.inputs.replaced[change.uid])
            self.instead[change.uid] = evicted
        elif meaning is not Input.NONE and change.kind in _WATCHED:
            item = decode(change.kind, change.object)
            if isinstance(item, Pod):
                self._apply_pod(item, meaning, change.at.timestamp())
            elif isinstance(item, Node):
                self._apply_node(item, meaning)
            elif item is not None:
                self._apply_other(change.kind, item, meaning)

    def resolve(self, uid: str) -> str:
        """The uid of the pod that has the place of a recorded pod."""
        while (successor := self.instead.get(uid)) is not None and successor != uid:
            uid = successor
        return uid

    def _replayed_uid(self, uid: str) -> str:
        """The uid of the pod to which the changes of a recorded pod apply."""
        resolved = self.resolve(uid)
        while (other := self._swapped.get(resolved)) is not None:
            resolved = self.resolve(other)
        return resolved

    def _apply_pod(self, item: Pod, meaning: Input, at: float) -> None:
        uid = self._replayed_uid(item.metadata.uid)
        known = self.known.get(uid)
        if meaning is Input.DELETED:
            if item.metadata.uid in self.inputs.surplus:
                self._select_surplus(item.metadata.uid)
            self._remove(self._leaving.pop(item.metadata.uid, uid))
        elif known is None and meaning is Input.CREATED:
            self._put(
                None, item if item.spec.node_name else replacement_pods.without_node(item), at
            )
        elif known is not None and uid == item.metadata.uid:
            self._put(known, replacement_pods.as_in_replay(item, known))

    def _select_surplus(self, recorded: str) -> Pod | None:
        """The pod that a controller deletes here where it deleted another one in the record.

        It depends on which of its pods are bound. If both are not the same, the one that the record
        deletes takes the place of the other. None if it was selected already, or there is none.
        """
        known = self.known.get(self._replayed_uid(recorded))
        if recorded in self._leaving or known is None:
            return None
        leaving = set(self._leaving.values())
        owned = (self.known[uid] for uid in self._owned[_controller_uid(known)])
        chosen = surplus([pod for pod in owned if pod.metadata.uid not in leaving], 1)
        if not chosen:
            return None
        ours, theirs = known.metadata.uid, chosen[0].metadata.uid
        self._leaving[recorded] = theirs
        if ours != theirs:
            self._swapped[theirs] = ours
        return chosen[0]

    def _apply_node(self, item: Node, meaning: Input) -> None:
        name = item.metadata.name
        before = self._nodes.get(name)
        if meaning is Input.DELETED:
            if before is None:
                return
            for pod in self._on(name):
                self._evict(pod)
            del self._nodes[name]
            self.levels.remove_node(name)
            self.scheduler.handle("Node", before, None)
            return
        self._nodes[name] = item
        self.levels.put_node(item)
        self.scheduler.handle("Node", before, item)
        if taint_eviction.evicting_taints(item):
            for pod in self._on(name):
                self._set_eviction(pod)

    def _apply_other(self, kind: str, item: KubeObject, meaning: Input) -> None:
        key = kind, item.metadata.namespace, item.metadata.name
        before = self._objects.pop(key, None)
        if meaning is not Input.DELETED:
            self._objects[key] = item
            self.scheduler.handle(kind, before, item)
        elif before is not None:
            self.scheduler.handle(kind, before, None)

    def _take(self, decision: Decision) -> None:
        """Act on a decision as the control plane would."""
        self.attempts += 1
        self.decided(decision)
        pod = self.known.get(decision.pod_uid)
        if pod is None:
            return
        if decision.result is Result.SCHEDULED:
            self.scheduler.bound(decision)
            placed = replacement_pods.place(pod, decision.node, self.clock.at)
            self._put(pod, placed)
            self._set_timers(placed, bound_at=self.clock.at)
        elif decision.nominating is not None:
            self._put(pod, replacement_pods.nominate(pod, decision.nominating.nominated_node))
            for intent in decision.intents:
                if isinstance(intent, Eviction) and intent.delete and intent.uid in self.known:
                    self.levels.preempted.add(intent.uid)
                    self._evict(self.known[intent.uid])

    def _evict(self, pod: Pod) -> None:
        """Delete a pod; its controller, if it has one and not too many, creates it again."""
        self._remove(pod.metadata.uid)
        if pod.metadata.uid in self._leaving.values():
            return
        if pod.metadata.controller is not None and not is_bound_to_node(pod):
            new = replacement_pods.replace(pod, self.clock.at)
            self.instead[pod.metadata.uid] = new.metadata.uid
            self._put(None, new)

    def _put(self, before: Pod | None, now: Pod, at: float | None = None) -> None:
        """`at`: when it was created, which orders the queue; None for now."""
        at = self.clock.at if at is None else at
        self.known[now.metadata.uid] = now
        self._owned[_controller_uid(now)][now.metadata.uid] = None
        self.levels.put_pod(now, at)
        self.scheduler.handle("Pod", before, now, at if before is None else None)

    def _remove(self, uid: str) -> None:
        pod = self.known.pop(uid, None)
        if pod is not None:
            self._owned[_controller_uid(pod)].pop(uid, None)
            self.levels.remove_pod(uid)
            self.scheduler.handle("Pod", pod, None)

    def _on(self, node: str) -> list[Pod]:
        pods = (self.known[uid] for uid in self.levels.pods_on(node) if uid in self.known)
        return sorted(pods, key=lambda pod: pod.key)

    def _set_timers(self, pod: Pod, *, bound_at: float | None) -> None:
        """`bound_at` None: the pod was on its node before; its end is the recorded one."""
        duration = self.durations.get(pod.metadata.uid)
        if duration is not None:
            start = self.clock.at if bound_at is None else bound_at
            self._add_timer(start + duration, _Due.FINISH, pod.metadata.uid)
        self._set_eviction(pod)

    def _set_eviction(self, pod: Pod) -> None:
        end = self._eviction_of(pod)
        if end is not None:
            self._add_timer(max(end, self.clock.at), _Due.EVICT, pod.metadata.uid)

    def _eviction_of(self, pod: Pod) -> float | None:
        """When the taints of its node evict a pod; None if they do not."""
        node = self._nodes.get(pod.spec.node_name)
        taints = taint_eviction.evicting_taints(node) if node is not None else []
        if not taints:
            return None
        now = datetime.fromtimestamp(self.clock.at, UTC)
        end = taint_eviction.deadline(pod, taints, now)
        return end.timestamp() if end is not None else None

    def _add_timer(self, at: float, what: _Due, uid: str) -> None:
        self._numbers += 1
        heapq.heappush(self._timers, (at, self._numbers, what, uid))

    def _fire(self, what: _Due, uid: str) -> None:
        pod = self.known.get(uid)
        if pod is None:
            return
        if what is _Due.FINISH:
            self._remove(uid)
            return
        # the taint may be gone by now, or another one decides later
        end = self._eviction_of(pod)
        if end is not None and end <= self.clock.at:
            self._evict(pod)

    def _next_due(self) -> float | None:
        queue = self.scheduler.queue.contents
        times = list(self._dues())
        waiting = queue.backoff_pods()
        if waiting:
            # a backoff ends with the second that its expiry names
            ends = min(info.backoff_expiry or 0.0 for info in waiting) + 1.0
            times.append(max(ends, self.clock.at + 0.1))
        if queue.unschedulable_pods():
            times.append(max(self._flushed_at + _FLUSH_SECONDS, self.clock.at))
        return min(times, default=None)

    def _dues(self) -> Iterator[float]:
        if self._timers:
            yield self._timers[0][0]
        if (deadline := self.scheduler.next_deadline()) is not None:
            yield max(deadline, self.clock.at + 0.1)

    def _flush(self) -> None:
        self.scheduler.queue.flush_backoff_completed()
        if self.clock.at >= self._flushed_at + _FLUSH_SECONDS:
            self._flushed_at = self.clock.at
            self.scheduler.queue.flush_unschedulable_leftover()

    def _set_clock(self, at: float) -> None:
        if at > self.clock.at:
            self.samples.pass_until(at, self.levels)
            self.clock.at = at


def _controller_uid(pod: Pod) -> str:
    """The uid of the pod's controller; "" without one."""
    controller = pod.metadata.controller
    return "" if controller is None else controller.uid
