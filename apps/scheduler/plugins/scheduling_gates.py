"""SchedulingGates: a pod with gates does not enter the queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apps.scheduler.framework.events import (
    ITSELF,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.status import Status, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod

NAME: Final = "SchedulingGates"


class SchedulingGates:
    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        gates = [gate.name for gate in pod.pod.spec.scheduling_gates]
        if not gates:
            return None
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]")

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        eliminated = ClusterEvent(Resource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        return (ClusterEventWithHint(eliminated, _hint_gates_eliminated, looks_for=ITSELF),)


def _hint_gates_eliminated(pod: PodInfo, old: Pod | None, new: Pod) -> QueueingHint:
    """Only the pod's own gates count."""
    own = new.metadata.uid == pod.uid
    return QueueingHint.QUEUE if own else QueueingHint.QUEUE_SKIP
