"""GangScheduling: the pods of a gang are bound together, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.status import Code, Status, error, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod, PodGroup

NAME: Final = "GangScheduling"
#: how long a member is held for the others, in seconds
PERMIT_TIMEOUT: Final = 300.0
# the texts are upstream's, to the letter
_NO_GROUP: Final = 'waiting for pods\'s pod group "{}" to appear in scheduling queue'
_TOO_FEW: Final = "waiting for minCount pods from a gang to appear in scheduling queue"
_TOO_FEW_SCHEDULED: Final = "waiting for minCount pods from a gang to be scheduled"


class GangScheduling:
    """Needs the feature gate GangScheduling. A group with the basic policy passes everywhere."""

    name = NAME
    feature_gate = "GangScheduling"

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Hold a member back until its group exists and has enough pods."""
        if not pod.pod.group_name:
            return None
        group = self._group(pod)
        if group is None:
            return unresolvable(_NO_GROUP.format(pod.pod.group_name))
        if self._handle.pod_groups.of(pod.pod).count < group.min_count:
            return unresolvable(_TOO_FEW)
        return None

    def permit(
        self, state: CycleState, pod: PodInfo, node_name: str
    ) -> tuple[Status | None, float]:
        """Hold a member until so many have a node that the gang can run; then allow them all."""
        if not pod.pod.group_name:
            return None, 0.0
        group = self._group(pod)
        if group is None:
            name = pod.pod.group_name
            missing = f'podgroup.scheduling.k8s.io "{name}" not found'
            return error(f"failed to get podGroup {pod.namespace}/{name}: {missing}"), 0.0
        members = self._handle.pod_groups.of(pod.pod)
        if len(members.placed) < group.min_count:
            self._handle.activate(members.unscheduled())
            return Status(Code.WAIT, (_TOO_FEW_SCHEDULED,)), PERMIT_TIMEOUT
        held = filter(None, map(self._handle.waiting_pods.get, members.placed))
        for waiting in sorted(held, key=lambda each: each.pod.name):
            waiting.allow(NAME)
        return None, 0.0

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        pod_added = ClusterEvent(Resource.POD, ActionType.ADD)
        group_added = ClusterEvent(Resource.POD_GROUP, ActionType.ADD)
        return (
            ClusterEventWithHint(pod_added, _hint_pod_added, looks_for="that joins the pod group"),
            ClusterEventWithHint(group_added, _hint_group_added, looks_for="of the pod"),
        )

    def _group(self, pod: PodInfo) -> PodGroup | None:
        return self._handle.listers.pod_groups.get(pod.pod.group_name, pod.namespace)


def _hint_pod_added(pod: PodInfo, old: Pod | None, new: Pod) -> QueueingHint:
    """A pod of the same group may be the one that was missing."""
    joins = bool(pod.pod.group_name) and (
        (new.metadata.namespace, new.group_name) == (pod.namespace, pod.pod.group_name)
    )
    return QueueingHint.QUEUE if joins else QueueingHint.QUEUE_SKIP


def _hint_group_added(pod: PodInfo, old: PodGroup | None, new: PodGroup) -> QueueingHint:
    """The pod waits for its own group."""
    own = (new.metadata.namespace, new.metadata.name) == (pod.namespace, pod.pod.group_name)
    return QueueingHint.QUEUE if own else QueueingHint.QUEUE_SKIP
