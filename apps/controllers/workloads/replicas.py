"""ReplicaSets and ReplicationControllers: maintain a number of equal pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, Step
from apps.controllers.workloads.ownership import claim_pods, map_object, map_pods, own_pods
from apps.controllers.workloads.templates import new_pod
from apps.controllers.writes import (
    BURST,
    availability,
    create_with_event,
    delete_with_event,
    is_active,
    is_ready,
    is_terminating,
    set_status,
)
from apps.scheduler.objects import Pod

Body = dict[str, Any]

_USERS = {"ReplicaSet": "replicaset-controller", "ReplicationController": "replication-controller"}
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
        missing = workload["spec"].get("replicas", 1) - len(pods)
        for _ in range(min(missing, BURST)):
            yield create_with_event(workload, new_pod(workload), _USERS[ref[0]])
        if missing < 0:
            for pod in surplus(pods, min(-missing, BURST)):
                yield delete_with_event(workload, pod, _USERS[ref[0]])
    yield from _report(ref, workload, pods, sum(map(is_terminating, owned)), now)


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
    ref: Ref, workload: Body, pods: Sequence[Pod], terminating: int, now: datetime
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
    }
    yield set_status(ref, workload["metadata"]["uid"], status)


CONTROLLER = Controller(
    name="replicas",
    user="replicaset-controller",
    concerns={"Pod": map_pods(*_USERS)} | {kind: map_object(kind) for kind in _USERS},
    reconcile=reconcile,
)
