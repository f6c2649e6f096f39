"""WaitForGroup: an example of Permit. Pods of a group are bound when enough of them have a node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.framework import activation
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.status import Code, Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.framework.waiting_pods import MAX_PERMIT_TIMEOUT
from apps.scheduler.objects import Pod

#: Labels of a pod: the name of its group in its namespace, and how many of it are bound together.
GROUP: Final = "example.schedweb.dev/group"
SIZE: Final = "example.schedweb.dev/group-size"


@dataclass(frozen=True)
class WaitForGroupArgs:
    timeout_seconds: int = described(
        60, "How long a pod waits for the others of its group, in seconds."
    )


class WaitForGroup:
    """Holds a pod at Permit until as many pods of its group as the label says have a node.

    When the time of one of them is over, it is rejected and returns to the queue. The next pod of
    the group that has to wait brings it back from there.
    """

    name = "WaitForGroup"
    args_type = WaitForGroupArgs

    def __init__(self, args: WaitForGroupArgs, handle: Handle) -> None:
        self._args = args
        self._handle = handle
        #: group -> uids of its pods that were allowed
        self._allowed: dict[tuple[str, str], set[str]] = defaultdict(set)

    @staticmethod
    def check_args(args: WaitForGroupArgs, path: str, problems: Problems) -> None:
        if not 1 <= args.timeout_seconds <= MAX_PERMIT_TIMEOUT:
            problems.invalid(
                f"{path}.timeoutSeconds", args.timeout_seconds, "must be from 1 to 900"
            )

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        changes = ActionType.ADD | ActionType.UPDATE_POD_LABEL
        return [
            ClusterEventWithHint(
                ClusterEvent(Resource.POD, changes),
                hint_pod_changed,
                "of the same group",
            )
        ]

    def permit(
        self, state: CycleState, pod: PodInfo, node_name: str
    ) -> tuple[Status | None, float]:
        group, size = _group_of(pod.pod), _size_of(pod.pod)
        if group is None or size <= 1:
            return None, 0.0
        held = [each for each in self._handle.waiting_pods if _group_of(each.pod.pod) == group]
        bound = {uid for uid in self._allowed[group] if self._handle.find_pod(uid) is not None}
        present = {pod.uid, *bound, *(each.pod.uid for each in held)}
        if len(present) < size:
            # a pod that was rejected meanwhile is tried again, and may complete the group
            for other in self._handle.pending_pods():
                if _group_of(other) == group:
                    activation.request(state, other)
            why = f"{len(present)} of {size} pods of group {group[1]} have a node"
            return Status(Code.WAIT, (why,)), float(self._args.timeout_seconds)
        self._allowed[group] = present
        for each in held:
            each.allow(self.name)
        return None, 0.0


def hint_pod_changed(pod: PodInfo, old: Pod | None, new: Pod) -> QueueingHint:
    """The changed pod is the rejected one, or belongs to its group."""
    same = new.metadata.uid == pod.uid or _group_of(new) == _group_of(pod.pod)
    return QueueingHint.QUEUE if same else QueueingHint.QUEUE_SKIP


def _group_of(pod: Pod) -> tuple[str, str] | None:
    """Namespace and name of the pod's group."""
    name = pod.metadata.labels.get(GROUP)
    return (pod.metadata.namespace, name) if name else None


def _size_of(pod: Pod) -> int:
    text = pod.metadata.labels.get(SIZE, "")
    return int(text) if text.isdecimal() else 0
