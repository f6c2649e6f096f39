"""Which nodes could be emptied: all their pods fit on other nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.clock import VirtualClock
from apps.scheduler.failure import handle_scheduling_failure, unreserve_and_forget
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.schedule_one import scheduling_cycle
from apps.scheduler.scheduler import Scheduler
from apps.studies.lab.base import LabAnswer, Progress, build_scheduler, ignore_progress
from apps.studies.lab.fitting import without_pods, without_preemption
from apps.studies.lab.simulated_changes import (
    apply_changes,
    is_bound_to_node,
    new_pod,
    with_unschedulable,
)
from apps.studies.lab.simulation import SimulationRequest, read_base_and_changes

#: Nodes that are tried by default.
DEFAULT_NODES: Final = 100


@dataclass(frozen=True, slots=True)
class EmptiedNode:
    """A node, and whether its pods fit elsewhere."""

    node: str
    #: `namespace/name` -> node, of this node alone
    moves: Mapping[str, str]
    #: the pod that fits nowhere else; empty if all do
    blocked_by: str = ""
    #: why it does not
    reason: str = ""
    #: pods that no controller would create again
    unmanaged: Sequence[str] = ()
    #: it is one of `together`
    together: bool = False

    ANSWER: ClassVar = ("node", "can_be_emptied", "together", ...)

    @property
    def can_be_emptied(self) -> bool:
        return not self.blocked_by


@dataclass(frozen=True, slots=True)
class Emptying(LabAnswer):
    """The nodes that were tried, those with the fewest pods first."""

    nodes: Sequence[EmptiedNode]

    ANSWER: ClassVar = ("state", "together", "nodes")

    @property
    def together(self) -> list[str]:
        """Nodes that can be emptied at the same time."""
        return [each.node for each in self.nodes if each.together]


def find_emptiable_nodes(
    cluster: Cluster,
    request: SimulationRequest,
    *,
    nodes: Sequence[str] = (),
    limit: int = DEFAULT_NODES,
    user: str = "",
    progress: Progress = ignore_progress,
) -> Emptying:
    """Try each of these nodes, or the `limit` ones with the fewest pods.

    Each node is tried alone. Those that could be emptied are then emptied one after the other, as
    long as all pods fit. Nothing is preempted; pods of DaemonSets and static pods do not count.
    BadRequest names an unknown node, or a wrong limit.
    """
    if not limits.EMPTIED_NODES.admits(limit):
        raise BadRequest(f"limit: must be {limits.EMPTIED_NODES}")
    base, changes = read_base_and_changes(cluster, request, user=user)
    apply_changes(base, without_pods(changes))
    for index, name in enumerate(nodes):
        if name not in base.nodes:
            raise BadRequest(f"nodes[{index}]: there is no node {name!r} at version {base.version}")
    clock = VirtualClock(base.at.timestamp())
    scheduler = build_scheduler(base, clock, seed=request.seed)
    try:
        given = list(dict.fromkeys(nodes))[: limits.EMPTIED_NODES.highest]
        wanted = given or _emptiest(scheduler, limit)
        alone: list[EmptiedNode] = []
        for name in wanted:
            progress(len(alone), len(wanted), f"node {name}")
            alone.append(_empty(scheduler, name, keeps=False))
        together = {
            each.node
            for each in alone
            if each.can_be_emptied and _empty(scheduler, each.node, keeps=True).can_be_emptied
        }
    finally:
        scheduler.close()
    return Emptying(base, [_mark(each, together=each.node in together) for each in alone])


def _mark(node: EmptiedNode, *, together: bool) -> EmptiedNode:
    return EmptiedNode(
        node.node, node.moves, node.blocked_by, node.reason, node.unmanaged, together
    )


def _emptiest(scheduler: Scheduler, limit: int) -> list[str]:
    nodes = (info for info in scheduler.cache.nodes.values() if info.node is not None)
    return [info.name for info in sorted(nodes, key=lambda i: (len(i.pods), i.name))[:limit]]


def _empty(scheduler: Scheduler, name: str, *, keeps: bool) -> EmptiedNode:
    """Move the pods of a node; afterwards all is as before, unless it worked and `keeps`."""
    cache = scheduler.cache
    info = cache.nodes[name]
    node = info.node
    assert node is not None
    leaving = sorted(
        (pod for pod in info.pods.values() if not is_bound_to_node(pod.pod)),
        key=lambda pod: (-pod.priority, pod.key),
    )
    cache.add_node(with_unschedulable(node, unschedulable=True))
    for pod in leaving:
        cache.remove_pod(pod.uid)
    attempts: list[Attempt] = []
    blocked_by = reason = ""
    for pod in leaving:
        if pod.is_terminating:
            continue
        if reason := _move(scheduler, pod, attempts):
            blocked_by = pod.key
            break
    if blocked_by or not keeps:
        for attempt in reversed(attempts):
            unreserve_and_forget(cache, attempt)
        cache.add_node(node)
        for pod in leaving:
            cache.add_pod(pod)
    return EmptiedNode(
        name,
        {attempt.pod.key: attempt.decision.node for attempt in attempts},
        blocked_by,
        reason,
        [pod.key for pod in leaving if pod.pod.metadata.controller is None],
    )


def _move(scheduler: Scheduler, pod: PodInfo, attempts: list[Attempt]) -> str:
    """Schedule the pod elsewhere; "" if it has a node now, which is added to `attempts`."""
    framework = scheduler.profiles.get(pod.pod.spec.scheduler_name)
    if framework is None:
        return f"no profile has the schedulerName {pod.pod.spec.scheduler_name}"
    attempt = new_attempt(framework, PodInfo(without_preemption(new_pod(pod.pod))))
    status = scheduling_cycle(scheduler.context, attempt)
    if status.is_success or status.is_wait:
        attempts.append(attempt)
        return ""
    handle_scheduling_failure(scheduler.queue, attempt, status)
    return attempt.decision.filter_message or attempt.decision.message
