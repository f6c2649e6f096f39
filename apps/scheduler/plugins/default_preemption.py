"""DefaultPreemption: pods of lower priority make room."""

from __future__ import annotations

from apps.scheduler.config.args import DefaultPreemptionArgs
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import Diagnosis
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import NominatingInfo, PostFilterResult
from apps.scheduler.framework.status import Status, unschedulable
from apps.scheduler.framework.types import PodInfo
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
