"""DefaultPreemption: pods of lower priority make room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from apps.scheduler.config.args import DefaultPreemptionArgs
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import Diagnosis
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PostFilterResult
from apps.scheduler.framework.status import Status, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.plugins import names
from apps.scheduler.preemption.evaluator import Evaluator

NAME = names.DEFAULT_PREEMPTION
REASON_IN_FLIGHT: Final = "waiting for the preemption for this pod to be finished"


class DefaultPreemption:
    name = NAME

    def __init__(self, args: DefaultPreemptionArgs | None, handle: Handle) -> None:
        self._evaluator = Evaluator(NAME, args or DefaultPreemptionArgs(), handle)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """A pod whose victims are still there had better not try again yet."""
        waits = self._evaluator.in_flight.is_running(pod.uid)
        return unresolvable(REASON_IN_FLIGHT) if waits else None

    def post_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        result, status = self._evaluator.preempt(state, pod, diagnosis)
        if status.reasons:
            status = replace(status, reasons=(f"preemption: {status.message}",))
        return result, status

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        deleted = ClusterEvent(Resource.POD, ActionType.DELETE)
        return (ClusterEventWithHint(deleted, _hint_pod_deleted),)


def _hint_pod_deleted(pod: PodInfo, old: Pod, new: Pod | None) -> QueueingHint:
    """Preemption never speaks for a retry: the plugins that rejected the pod do, when it helps."""
    return QueueingHint.QUEUE_SKIP
