"""Whether a pod may preempt others at all."""

from __future__ import annotations

from typing import Final

from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.diagnosis import Diagnosis
from apps.scheduler.framework.status import Code
from apps.scheduler.framework.types import PodInfo

REASON_NEVER: Final = "not eligible due to preemptionPolicy=Never."
REASON_TERMINATING: Final = "not eligible due to a terminating pod on the nominated node."
_DISRUPTION_TARGET: Final = "DisruptionTarget"
_PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"


def why_not_eligible(pod: PodInfo, snapshot: Snapshot, diagnosis: Diagnosis) -> str:
    """The reason why the pod may not preempt, "" if it may.

    A pod whose victims are still terminating on its nominated node waits for them, unless it cannot
    fit on that node any more.
    """
    if pod.pod.spec.preemption_policy == "Never":
        return REASON_NEVER
    row = snapshot.row_of(pod.pod.status.nominated_node_name)
    if row < 0:
        return ""
    status = diagnosis.node_statuses.at(row)
    if status is not None and status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return ""
    waits = any(
        other.priority < pod.priority and is_terminating_by_preemption(other)
        for other in snapshot.info(row).pods.values()
    )
    return REASON_TERMINATING if waits else ""


def is_terminating_by_preemption(pod: PodInfo) -> bool:
    """Whether the pod is terminating because a scheduler preempted it."""
    if not pod.is_terminating:
        return False
    for condition in pod.pod.status.conditions:
        if condition.type == _DISRUPTION_TARGET:
            return condition.status == "True" and condition.reason == _PREEMPTION_BY_SCHEDULER
    return False
