"""Applies the effects of earlier decisions that are not yet visible in the objects."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.controlplane.ledger.reading import read
from apps.controlplane.models import SchedulingDecision
from apps.scheduler.attempt import new_attempt
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.schedule_one import with_node
from apps.scheduler.scheduler import Scheduler


def apply_earlier(
    scheduler: Scheduler, pending: Mapping[str, Pod], row: SchedulingDecision
) -> None:
    """Apply a decision: assume its pod on the node, nominate the pod, or do nothing."""
    pod = pending.get(str(row.pod_uid))
    if pod is None:
        return
    if row.result == Result.SCHEDULED:
        assume_pod(scheduler, pod, row.node)
        return
    record = read(row)
    decision = record.decision
    if record.undone:
        assume_pod(scheduler, pod, decision.node)
    elif decision.nominating is not None:
        _nominate(scheduler, PodInfo(pod), decision)


def assume_pod(scheduler: Scheduler, pod: Pod, node: str) -> None:
    """Assume the pod on the node and reserve its volumes there."""
    if scheduler.cache.find_pod(pod.metadata.uid) is not None:
        return
    info = PodInfo(pod)
    if any(volume.persistent_volume_claim or volume.ephemeral for volume in pod.spec.volumes):
        _reserve(scheduler, info, node)
    scheduler.cache.assume_pod(with_node(info, node), node)
    scheduler.queue.delete_nominated_pod(info)


def _reserve(scheduler: Scheduler, pod: PodInfo, node: str) -> None:
    """Reserve the pod's volumes like a scheduling cycle that selects this node."""
    framework = scheduler.profiles.get(pod.pod.spec.scheduler_name)
    scheduler.snapshot.update(scheduler.cache)
    row = scheduler.snapshot.row_of(node)
    if framework is None or row < 0:
        return
    attempt = new_attempt(framework, pod)
    _, outcome, _ = framework.run_pre_filter_plugins(attempt.state, pod, scheduler.snapshot)
    if outcome.is_success:
        nodes = scheduler.snapshot.select(np.array([row], dtype=np.int64))
        framework.filters.run_filter_plugins_with_nominated_pods(attempt.state, pod, nodes)
        framework.run_reserve_plugins_reserve(attempt.state, with_node(pod, node), node)


def _nominate(scheduler: Scheduler, pod: PodInfo, decision: Decision) -> None:
    """Nominate the pod, and clear the nominations of pods of lower priority on the node."""
    assert decision.nominating is not None
    node, queue = decision.nominating.nominated_node, scheduler.queue
    queue.add_nominated_pod(pod, node)
    if not node or not _evicts(scheduler, node, decision):
        return
    for other in queue.nominator.pods_for_node(node):
        if other.priority < pod.priority:
            queue.delete_nominated_pod(other)


def _evicts(scheduler: Scheduler, node: str, decision: Decision) -> bool:
    """Whether any victim was not terminating already."""
    info = scheduler.cache.nodes.get(node)
    candidates = decision.post_filter.candidates if decision.post_filter is not None else ()
    victims = next((each.victims for each in candidates if each.node == node), ())
    pods = info.pods if info is not None else {}
    return any(key in pods and not pods[key].is_terminating for key in victims)
