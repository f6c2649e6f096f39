"""DefaultPreemption: pods of lower priority make room."""

from __future__ import annotations

from collections.abc import Sequence

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
from apps.scheduler.framework.interface import NominatingInfo, PostFilterResult
from apps.scheduler.framework.status import Status, unschedulable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.plugins import names

NAME = names.DEFAULT_PREEMPTION


class DefaultPreemption:
    name = NAME

    def __init__(self, args: DefaultPreemptionArgs | None, handle: Handle) -> None:
        self._handle = handle

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return None

    def post_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        nothing = PostFilterResult(NominatingInfo())
        return nothing, unschedulable("preemption: preemption is not supported yet")

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        deleted = ClusterEvent(Resource.POD, ActionType.DELETE)
        return (ClusterEventWithHint(deleted, _hint_pod_deleted),)


def _hint_pod_deleted(pod: PodInfo, old: Pod, new: Pod | None) -> QueueingHint:
    """Preemption never speaks for a retry: the plugins that rejected the pod do, when it helps."""
    return QueueingHint.QUEUE_SKIP
