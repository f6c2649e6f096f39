"""ReplicaSets and ReplicationControllers: maintain a number of equal pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from apps.cluster.errors import ApiError
from apps.cluster.writing.metadata import timestamp
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import RETRY, Controller, ReportedWrite, Requeue, Step
from apps.controllers.events.writer import PendingEvent
from apps.controllers.workloads.ownership import claim_pods, map_object, map_pods, own_pods
from apps.controllers.workloads.templates import new_pod
from apps.controllers.writes import (
    BURST,
    availability,
    create_with_event,
    delete_with_event,
    is_active,
    is_ending,
    is_ready,
    is_terminating,
    set_status,
)
from apps.scheduler.objects import Pod

Body = dict[str, Any]

_USERS = {"ReplicaSet": "replicaset-controller", "ReplicationController": "replication-controller"}
#: The condition of a workload whose pods are refused, and of its Deployment.
REPLICA_FAILURE: Final = "ReplicaFailure"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    workload = cache.body(ref)
    if workload is None:
        return
    owned = own_pods(cache, workload)
    pods = [pod for pod in owned if is_active(pod)]
    if not workload["metadata"].get("deletionTimestamp"):
        claimed = list(claim_pods(cache, workload))
        if claimed:
            # they count once the change is observed
            yield from claimed
            return
        yield from _fill(cache, ref, workload, pods, now)
    _, refusal = cache.refusals.get(workload["metadata"]["uid"], (now, ""))
    yield from _report(ref, workload, pods, sum(map(is_terminating, owned)), refusal, now)


def _fill(
    cache: ControllerCache, ref: Ref, workload: Body, pods: Sequence[Pod], now: datetime
) -> Iterator[Step]:
    """Create the pods that are missing, or delete those that are too many."""
    user, uid = _USERS[ref[0]], workload["metadata"]["uid"]
    missing = workload["spec"].get("replicas", 1) - len(pods)
    pause, _ = cache.refusals.get(uid, (now, ""))
    if missing > 0 and pause > now:
        yield Requeue(pause)
        return
    cache.refusals.pop(uid, None)
    for _ in range(min(missing, BURST)):
        yield _noting_refusal(cache, uid, create_with_event(workload, new_pod(workload), user), now)
    if missing > 0:
        # a refusal becomes a condition, even if nothing else changes
        yield Requeue(now)
    for pod in surplus(pods, min(-missing, BURST)) if missing < 0 else ():
        yield delete_with_event(workload, pod, user)


def _noting_refusal(
    cache: ControllerCache, uid: str, creation: ReportedWrite, now: datetime
) -> ReportedWrite:
    """The creation, after whose refusal the workload pauses."""
    report = creation.on_failure
    assert report is not None

    def on_failure(refusal: ApiError) -> PendingEvent | None:
        message = "" if is_ending(refusal) else refusal.message
        cache.refusals[uid] = now + RETRY, message
        return report(refusal)

    return replace(creation, on_failure=on_failure)


def surplus(pods: Sequence[Pod], count: int) -> list[Pod]:
    """The pods to delete first: not bound, not running, not ready, crowded, young."""
    crowd = Counter(pod.spec.node_name for pod in pods)

    def value(pod: Pod) -> tuple[Any, ...]:
        created = pod.metadata.creation_timestamp or ""
        return (
            bool(pod.spec.node_name),
            {"Pending": 0, "Unknown": 1}.get(pod.status.phase, 2),
            is_ready(pod),
            _cost(pod),
            -crowd[pod.spec.node_name],
            # the youngest first: later times sort before earlier ones
            [-ord(letter) for letter in created],
            pod.metadata.name,
        )

    return sorted(pods, key=value)[:count]


def _cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(_DELETION_COST, "0"))
    except ValueError:
        return 0


def _report(
    ref: Ref, workload: Body, pods: Sequence[Pod], terminating: int, refusal: str, now: datetime
) -> Iterator[Step]:
    ready = sum(map(is_ready, pods))
    available, later = availability(pods, workload, now)
    yield from later
    labels = (workload["spec"].get("template") or {}).get("metadata", {}).get("labels") or {}
    labelled = sum(labels.items() <= pod.metadata.labels.items() for pod in pods)
    status = {
        "replicas": len(pods),
        "fullyLabeledReplicas": labelled or None,
        "readyReplicas": ready or None,
        "availableReplicas": len(available) or None,
        "terminatingReplicas": terminating if ref[0] == "ReplicaSet" else None,
        "observedGeneration": workload["metadata"].get("generation"),
        "conditions": _conditions(workload, refusal, now) or None,
    }
    yield set_status(ref, workload["metadata"]["uid"], status)


def _conditions(workload: Body, refusal: str, now: datetime) -> list[Body]:
    """The conditions of the workload, with ReplicaFailure while its pods are refused."""
    before = (workload.get("status") or {}).get("conditions") or []
    if not refusal:
        return [each for each in before if each["type"] != REPLICA_FAILURE]
    if any(each["type"] == REPLICA_FAILURE for each in before):
        # as upstream, the first one stays
        return list(before)
    failure = {
        "type": REPLICA_FAILURE,
        "status": "True",
        "reason": "FailedCreate",
        "message": refusal,
        "lastTransitionTime": timestamp(now),
    }
    return [*before, failure]


CONTROLLER = Controller(
    name="replicas",
    user="replicaset-controller",
    concerns={"Pod": map_pods(*_USERS)} | {kind: map_object(kind) for kind in _USERS},
    reconcile=reconcile,
)
