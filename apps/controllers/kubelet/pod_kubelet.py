"""The mock kubelet of a pod: starts what is added, and ends the pod at its deadline or deletion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from apps.cluster import kinds
from apps.cluster.writes import Delete, Update
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Requeue, Step, parse_time
from apps.controllers.events.writer import PendingEvent
from apps.controllers.kubelet import status
from apps.controllers.kubelet.annotations import (
    EXIT_CODE,
    FAILS_AFTER,
    SUCCEEDS_AFTER,
    exit_code,
    seconds,
)
from apps.controllers.kubelet.node_kubelet import KUBELET, is_reachable, ready_status
from apps.controllers.writes import is_unfinished, reference_to
from apps.scheduler.objects import Node, Pod

#: The exit code of containers that do not stop in time.
_KILLED: Final = 137


def refs_for_pod(_: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    if new is None or not new.spec.node_name:
        return ()
    concerned = _is_stopping(new) or _has_deadline(new) or _is_being_debugged(new)
    return [ref_of("Pod", new)] if concerned else ()


def refs_for_node(cache: ControllerCache, old: Node | None, new: Node | None) -> Iterable[Ref]:
    """A kubelet that returns handles its pending pods."""
    if old is None or new is None or ready_status(old) == ready_status(new):
        return []
    return [ref_of("Pod", pod) for pod in cache.pods_on(new.metadata.name)]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    pod = cache.pod(ref)
    node = cache.node(pod.spec.node_name) if pod is not None else None
    if pod is None or node is None or not is_reachable(node):
        return
    if _is_stopping(pod):
        yield from _stop(pod, now)
    elif pod.status.phase == "Running" and pod.status.start_time:
        if _is_being_debugged(pod):
            yield from _start_ephemeral_containers(pod, now)
        yield from _end(pod, parse_time(pod.status.start_time), now)


def _stop(pod: Pod, now: datetime) -> Iterator[Step]:
    """Containers use the whole grace period; then the object is deleted."""
    assert pod.metadata.deletion_timestamp is not None
    end = parse_time(pod.metadata.deletion_timestamp)
    if now < end:
        for container in pod.spec.containers:
            note = f"Stopping container {container.name}"
            yield PendingEvent(reference_to(pod), "Killing", note, KUBELET, once=True)
        yield Requeue(end)
        return
    if pod.metadata.finalizers and is_unfinished(pod):
        # who holds the pod sees how it ended
        yield _mark_ended(pod, "Failed", now, _KILLED)
    options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
    yield Delete(kinds.POD, pod.metadata.namespace, pod.metadata.name, options)


def _end(pod: Pod, since: datetime, now: datetime) -> Iterator[Step]:
    after, phase = min(_deadlines(pod), default=(None, ""))
    if after is None:
        return
    end = since + timedelta(seconds=after)
    if now < end:
        yield Requeue(end)
        return
    yield _mark_ended(pod, phase, now, exit_code(pod.metadata.annotations.get(EXIT_CODE)))


def _mark_ended(pod: Pod, phase: str, now: datetime, code: int) -> Update:
    return Update(
        kinds.POD,
        pod.metadata.namespace,
        pod.metadata.name,
        status.mark_ended(phase, now, code),
        "kubelet",
        trusted=True,
        uid=pod.metadata.uid,
    )


def _start_ephemeral_containers(pod: Pod, now: datetime) -> Iterator[Step]:
    started = {each.name for each in pod.status.ephemeral_container_statuses}
    for container in pod.spec.ephemeral_containers:
        if container.name not in started:
            note = f"Started container {container.name}"
            yield PendingEvent(reference_to(pod), "Started", note, KUBELET)
    yield Update(
        kinds.POD,
        pod.metadata.namespace,
        pod.metadata.name,
        status.start_ephemeral_containers(now),
        "kubelet",
        trusted=True,
        uid=pod.metadata.uid,
    )


def _is_being_debugged(pod: Pod) -> bool:
    """Whether ephemeral containers have to be started."""
    started = pod.status.ephemeral_container_statuses
    return pod.status.phase == "Running" and len(pod.spec.ephemeral_containers) > len(started)


def _is_stopping(pod: Pod) -> bool:
    """Whether the deletion waits for the kubelet, not for a finalizer."""
    return bool(pod.metadata.deletion_timestamp and pod.metadata.deletion_grace_period_seconds)


def _has_deadline(pod: Pod) -> bool:
    return (
        pod.status.phase == "Running" and bool(pod.metadata.annotations) and bool(_deadlines(pod))
    )


def _deadlines(pod: Pod) -> list[tuple[float, str]]:
    annotations = pod.metadata.annotations
    durations = (
        (seconds(annotations.get(FAILS_AFTER)), "Failed"),
        (seconds(annotations.get(SUCCEEDS_AFTER)), "Succeeded"),
    )
    return [(after, phase) for after, phase in durations if after is not None]


CONTROLLER = Controller(
    name="kubelet (pods)",
    user=KUBELET,
    concerns={"Node": refs_for_node, "Pod": refs_for_pod},
    reconcile=reconcile,
)
