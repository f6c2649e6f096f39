"""Eviction by device taints: deletes pods whose devices have NoExecute taints they do not tolerate.

The tolerations are those with which the device was allocated; `tolerationSeconds` count from the
time the taint was added. If several taints end, the earliest end counts. When the taint is removed,
so is the deadline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from apps.cluster.writing.metadata import timestamp
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Requeue, Step, parse_time
from apps.controllers.events.writer import PendingEvent
from apps.controllers.writes import delete_pod, disrupt, is_active, reference_to, update_object
from apps.scheduler.objects import (
    DeviceRequestAllocationResult,
    DeviceTaint,
    Pod,
    ResourceClaim,
    ResourceSlice,
)
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import is_reservation_of
from apps.scheduler.plugins.helper.device_taints import NO_EXECUTE, tolerates

Body = dict[str, Any]
USER = "device-taint-eviction"
CLAIM = "ResourceClaim"
SLICE = "ResourceSlice"


def refs_for_pod(cache: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    if new is None or not new.spec.node_name or not cache.tainted_slices:
        return ()
    return [ref_of("Pod", new)] if any(claims_of(new)) else ()


def refs_for_claim(
    cache: ControllerCache, old: ResourceClaim | None, new: ResourceClaim | None
) -> Iterable[Ref]:
    claim = new or old
    if claim is None or not (cache.tainted_slices or cache.leaving_devices):
        return ()
    return list(users_of(cache, claim))


def refs_for_slice(
    cache: ControllerCache, old: ResourceSlice | None, new: ResourceSlice | None
) -> Iterable[Ref]:
    """The pods with devices of the pool, if its taints may have changed."""
    each = new or old
    if each is None or not (_has_taints(old) or _has_taints(new)):
        return ()
    pool = (each.spec.driver, each.spec.pool.name)
    own = [ref_of(SLICE, new)] if new is not None and _lacks_time(new) else []
    return own + [
        ref
        for claim in cache.list_all(CLAIM, ResourceClaim)
        if any((result.driver, result.pool) == pool for result in results_of(claim))
        for ref in users_of(cache, claim)
    ]


def _has_taints(each: ResourceSlice | None) -> bool:
    return each is not None and any(device.taints for device in each.spec.devices)


def _lacks_time(each: ResourceSlice) -> bool:
    return any(taint.time_added is None for device in each.spec.devices for taint in device.taints)


def _add_times(now: datetime, body: Body) -> Body:
    """The slice with the time at which its taints were first seen, from which evictions count."""
    devices = [
        {
            **device,
            "taints": [{"timeAdded": timestamp(now), **taint} for taint in device["taints"]],
        }
        if device.get("taints")
        else device
        for device in body["spec"]["devices"]
    ]
    return {**body, "spec": {**body["spec"], "devices": devices}}


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    if ref[0] == SLICE:
        each = cache.get(ref, ResourceSlice)
        if each is not None and _lacks_time(each):
            yield update_object(ref, each.metadata.uid, partial(_add_times, now))
        return
    pod = cache.pod(ref)
    leaving = cache.leaving_devices.pop(ref, None)
    if pod is None or not pod.spec.node_name or not is_active(pod):
        return
    end = deadline(cache, pod, now)
    if end is None:
        if leaving is not None:
            yield _event(pod, "Cancelling deletion")
        return
    if now < end:
        cache.leaving_devices[ref] = end
        yield Requeue(end)
        return
    yield _event(pod, "Marking for deletion")
    yield disrupt(
        pod,
        "DeletionByDeviceTaintManager",
        "Device Taint manager: deleting due to NoExecute taint",
        now,
    )
    yield delete_pod(pod)


def _event(pod: Pod, doing: str) -> PendingEvent:
    return PendingEvent(reference_to(pod), "DeviceTaintManagerEviction", doing, USER)


def deadline(cache: ControllerCache, pod: Pod, now: datetime) -> datetime | None:
    """When to evict the pod; None = never."""
    ends = []
    for name in claims_of(pod):
        claim = cache.get((CLAIM, pod.metadata.namespace, name), ResourceClaim)
        if claim is None or not _is_reserved_for(claim, pod):
            continue
        for result in results_of(claim):
            for taint in cache.device_taints(result.driver, result.pool, result.device):
                end = _end(result, taint, now)
                if end is not None:
                    ends.append(end)
    return min(ends, default=None)


def _end(
    result: DeviceRequestAllocationResult, taint: DeviceTaint, now: datetime
) -> datetime | None:
    """When the taint ends the use of the device; None = never."""
    if taint.effect != NO_EXECUTE:
        return None
    added = parse_time(taint.time_added) if taint.time_added else now
    matching = [each for each in result.tolerations if tolerates(each, taint)]
    if not matching:
        return added
    limits = [s for each in matching if (s := each.toleration_seconds) is not None]
    return added + timedelta(seconds=min(max(min(limits), 0), 10**9)) if limits else None


def results_of(claim: ResourceClaim) -> Iterable[DeviceRequestAllocationResult]:
    """The allocated devices."""
    allocation = claim.status.allocation
    return allocation.devices.results if allocation is not None else ()


def users_of(cache: ControllerCache, claim: ResourceClaim) -> Iterator[Ref]:
    """The pods that have reserved the claim, or whose group has."""
    namespace = claim.metadata.namespace
    for each in claim.status.reserved_for:
        if each.resource == "pods" and not each.api_group:
            yield "Pod", namespace, each.name
        elif is_reservation_of(each, each.name):
            for pod in cache.list_all("Pod", Pod, namespace):
                if pod.group_name == each.name:
                    yield ref_of("Pod", pod)


def _is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    return any(
        each.uid == pod.metadata.uid
        or (bool(pod.group_name) and is_reservation_of(each, pod.group_name))
        for each in claim.status.reserved_for
    )


def claims_of(pod: Pod) -> Iterator[str]:
    """The names of the claims that the pod uses, as far as they are known."""
    for reference in pod.spec.resource_claims:
        if reference.resource_claim_name is not None:
            yield reference.resource_claim_name
    for status in pod.status.resource_claim_statuses:
        if status.resource_claim_name is not None:
            yield status.resource_claim_name
    extended = pod.status.extended_resource_claim_status
    if extended is not None:
        yield extended.resource_claim_name


CONTROLLER = Controller(
    name="device taint eviction",
    user=USER,
    concerns={"Pod": refs_for_pod, CLAIM: refs_for_claim, SLICE: refs_for_slice},
    reconcile=reconcile,
)
