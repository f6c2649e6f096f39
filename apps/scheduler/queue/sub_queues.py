"""The parts of the queue and the moves of a pod between them.

Every move happens here: it is reported to the observer, and the pod is marked as changed for the
next save.
"""

from __future__ import annotations

from apps.scheduler.clock import Clock
from apps.scheduler.framework import events
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.series import MetricsRegistry
from apps.scheduler.objects import Pod
from apps.scheduler.queue.active_queue import ActiveQueue
from apps.scheduler.queue.backoff_queue import BackoffQueue
from apps.scheduler.queue.hinting import SKIP, QueueingStrategy, Verdict
from apps.scheduler.queue.in_flight import InFlight
from apps.scheduler.queue.nominator import Nominator
from apps.scheduler.queue.pre_enqueue import PreEnqueueGate
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.queue.records import Observer, PodMove, SubQueue
from apps.scheduler.queue.unschedulable_pods import UnschedulablePods

#: a pod that enters activeQ by one of these is nominated to the node that its status names
_NOMINATING = frozenset(
    {
        events.EVENT_UNSCHEDULED_POD_ADD.label,
        events.EVENT_UNSCHEDULED_POD_UPDATE.label,
    }
)
_MICROSECOND = 1e-6


class SubQueues:
    def __init__(
        self,
        clock: Clock,
        active: ActiveQueue,
        backoff: BackoffQueue,
        gate: PreEnqueueGate,
        nominator: Nominator,
        observer: Observer | None,
        metrics: MetricsRegistry,
    ) -> None:
        self.metrics = metrics
        self.active = active
        self.backoff = backoff
        self.unschedulable = UnschedulablePods(gate.awaited)
        self.in_flight = InFlight()
        self.nominator = nominator
        self._clock = clock
        self._gate = gate
        self._observer = observer
        #: the last time that was given to a member of a group
        self._last_member = 0.0
        #: uid -> key of the pods whose entry changed since the last `take_changed`
        self._changed: dict[str, str] = {}

    def find(self, key: str) -> tuple[SubQueue, QueuedPodInfo] | None:
        """The part in which the pod waits (not: in flight), and the pod."""
        if (info := self.active.get(key)) is not None:
            return SubQueue.ACTIVE, info
        if (info := self.backoff.get(key)) is not None:
            return SubQueue.BACKOFF, info
        if (info := self.unschedulable.get(key)) is not None:
            return place_among_unschedulable(info), info
        return None

    def known(self, pod: Pod) -> Pod | None:
        """The stored version of this pod (same uid), waiting or in flight; None if unknown."""
        uid = pod.metadata.uid
        if uid in self.in_flight and not self.in_flight.is_deleted(uid):
            return self.in_flight.newest_version(uid).pod
        queued = self.find(pod.key)
        return queued[1].pod if queued is not None and queued[1].uid == uid else None

    def requeue(
        self, info: QueuedPodInfo, verdict: Verdict, event: str, source: SubQueue
    ) -> SubQueue:
        """Put the pod, which is in neither heap, where the verdict says; returns where that is."""
        if verdict.strategy is QueueingStrategy.SKIP:
            return self.to_unschedulable(info, event, source)
        if verdict.strategy is QueueingStrategy.AFTER_BACKOFF and self.backoff.is_backing_off(info):
            return self.to_backoff(info, event, source, verdict)
        return self.to_active(info, event, source, verdict)

    def is_still_gated(self, info: QueuedPodInfo) -> bool:
        """Whether a gated pod would only be gated again, so that it need not move."""
        return info.is_gated and self._gate.still_refuses(info)

    def to_active(
        self,
        info: QueuedPodInfo,
        event: str,
        source: SubQueue,
        verdict: Verdict = SKIP,
        reason: str = "",
    ) -> SubQueue:
        """Put the pod into activeQ, or among the unschedulable ones if PreEnqueue gates it.

        A pod that comes from backoffQ passed PreEnqueue when it went there, if Pop may take from
        backoffQ.
        """
        if source is not SubQueue.BACKOFF or not self.backoff.is_popped_early:
            status = self._gate.run(info)
            if info.is_gated:
                return self._to_gated(info, event, source, status)
        if info.initial_attempt_timestamp is None:
            # A pod from outside has waited for its first attempt since it was created.
            is_new = source is SubQueue.OUTSIDE
            moment = info.timestamp if is_new else self._clock.now()
            info.initial_attempt_timestamp = self.distinct(moment, info.pod)
        self.unschedulable.delete(info.key)
        self.active.add(info)
        if event in _NOMINATING:
            self.nominator.add(info.pod_info)
        return self._note_arrival(info, SubQueue.ACTIVE, event, source, verdict, reason)

    def distinct(self, moment: float, pod: Pod) -> float:
        """`moment`; for a member of a group, later than that of any member that came before.

        Members are tried in the order of their times, and a clock may stand still meanwhile.
        """
        if pod.spec.scheduling_group is not None:
            moment = self._last_member = max(moment, self._last_member + _MICROSECOND)
        return moment

    def to_backoff(
        self, info: QueuedPodInfo, event: str, source: SubQueue, verdict: Verdict = SKIP
    ) -> SubQueue:
        """Put the pod into backoffQ, or among the unschedulable ones if PreEnqueue gates it.

        PreEnqueue runs before, if Pop may take from backoffQ directly.
        """
        if self.backoff.is_popped_early:
            status = self._gate.run(info)
            if info.is_gated:
                return self._to_gated(info, event, source, status)
        else:
            info.gating_plugin = ""
        self.unschedulable.delete(info.key)
        self.backoff.add(info)
        return self._note_arrival(info, SubQueue.BACKOFF, event, source, verdict)

    def to_unschedulable(self, info: QueuedPodInfo, event: str, source: SubQueue) -> SubQueue:
        self.unschedulable.put(info)
        return self._note_arrival(info, place_among_unschedulable(info), event, source, SKIP)

    def _to_gated(
        self, info: QueuedPodInfo, event: str, source: SubQueue, status: Status
    ) -> SubQueue:
        self.unschedulable.put(info)
        verdict = Verdict(QueueingStrategy.SKIP, plugin=info.gating_plugin)
        return self._note_arrival(info, SubQueue.GATED, event, source, verdict, status.message)

    def start_attempt(self, info: QueuedPodInfo, event: str, source: SubQueue) -> None:
        """Start an attempt with a pod that was popped from `source`."""
        self.in_flight.start(info)
        info.attempts += 1
        self._report(info, SubQueue.IN_FLIGHT, event, source)
        if source is SubQueue.BACKOFF:
            self.note_change(info)

    def leave(self, info: QueuedPodInfo, event: str, source: SubQueue) -> None:
        """Report that the pod was removed from the queue."""
        self._report(info, SubQueue.OUTSIDE, event, source)
        self.note_change(info)

    def note_change(self, info: QueuedPodInfo) -> None:
        self.note_change_of(info.pod_info)

    def note_change_of(self, pod_info: PodInfo) -> None:
        self._changed[pod_info.uid] = pod_info.key

    def take_changed(self) -> dict[str, str]:
        """uid -> key of the pods whose entry changed since the last call."""
        changed, self._changed = self._changed, {}
        return changed

    def _note_arrival(
        self,
        info: QueuedPodInfo,
        target: SubQueue,
        event: str,
        source: SubQueue,
        verdict: Verdict,
        reason: str = "",
    ) -> SubQueue:
        self.note_change(info)
        if event != events.RESTORED:
            self.metrics.count(definitions.QUEUE_INCOMING, (target.value, event))
        self._report(info, target, event, source, verdict, reason)
        return target

    def _report(
        self,
        info: QueuedPodInfo,
        target: SubQueue,
        event: str,
        source: SubQueue,
        verdict: Verdict = SKIP,
        reason: str = "",
    ) -> None:
        if self._observer is None or source is target:
            return
        now = self._clock.now()
        self._observer(
            PodMove(
                info.key,
                info.uid,
                source,
                target,
                event,
                now,
                plugin=verdict.plugin,
                hint=verdict.hint,
                reason=reason,
                attempt=info.attempts,
            )
        )


def place_among_unschedulable(info: QueuedPodInfo) -> SubQueue:
    return SubQueue.GATED if info.is_gated else SubQueue.UNSCHEDULABLE
