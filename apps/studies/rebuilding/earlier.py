"""Applies the effects of earlier decisions that are not yet visible in the objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.scheduler.attempt import new_attempt
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.claim_allocations import ClaimAllocation
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import (
    NodeAllocatableResourceClaimStatus,
    ObjectMeta,
    Pod,
    ResourceClaim,
)
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import consumer, is_reserved_for
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
        claims = read(row).decision.claims if uses_claims(pod) else ()
        assume_pod(scheduler, pod, row.node, claims)
        return
    record = read(row)
    decision = record.decision
    if record.undone:
        assume_pod(scheduler, pod, decision.node, decision.claims)
    elif decision.nominating is not None:
        _nominate(scheduler, PodInfo(pod), decision)


def assume_pod(
    scheduler: Scheduler, pod: Pod, node: str, claims: Sequence[ClaimAllocation] = ()
) -> None:
    """Assume the pod on the node, reserve its volumes there, and give its claims their devices."""
    if scheduler.cache.find_pod(pod.metadata.uid) is not None:
        return
    info = PodInfo(pod)
    if any(volume.persistent_volume_claim or volume.ephemeral for volume in pod.spec.volumes):
        _reserve(scheduler, info, node)
    _allocate(scheduler, info, claims)
    devices = tuple(
        NodeAllocatableResourceClaimStatus(each.name, (), each.node_resources)
        for each in claims
        if each.node_resources
    )
    scheduler.cache.assume_pod(with_node(info, node, devices), node)
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


def _allocate(scheduler: Scheduler, pod: PodInfo, claims: Sequence[ClaimAllocation]) -> None:
    """The claims as they are after Reserve, or after PreBind has requested their writes."""
    listers = scheduler.cache.listers
    known, group = listers.device_claims, None
    of_groups = scheduler.gates.enabled("DRAWorkloadResourceClaims")
    if of_groups and pod.pod.group_name:
        group = listers.pod_groups.get(pod.pod.group_name, pod.namespace)
    if pod.pod.group_name:
        known.begin_group()
    for each in claims:
        known.drop_flight(each.uid)
        claim = known.get(each.name, each.namespace) or _created(each)
        if claim.metadata.uid != each.uid or is_reserved_for(claim, pod, of_groups=of_groups):
            continue
        status = msgspec.structs.replace(
            claim.status, allocation=claim.status.allocation or each.allocation
        )
        if each.is_written:
            reserved = (*claim.status.reserved_for, consumer(pod, claim, group))
            status = msgspec.structs.replace(status, reserved_for=reserved)
            known.assume(msgspec.structs.replace(claim, status=status))
        elif not each.is_known:
            known.reserve(msgspec.structs.replace(claim, status=status), pod.uid)


def _created(each: ClaimAllocation) -> ResourceClaim:
    """A claim for extended resources, which is created with the decision of its pod."""
    meta = ObjectMeta(namespace=each.namespace, name=each.name, uid=each.uid)
    return ResourceClaim(metadata=meta)


def uses_claims(pod: Pod) -> bool:
    """Whether the pod may use devices: by claims, or by extended resources that they provide."""
    return bool(pod.spec.resource_claims) or any(
        "/" in name
        for container in (*pod.spec.init_containers, *pod.spec.containers)
        for name in container.resources.requests
    )


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
