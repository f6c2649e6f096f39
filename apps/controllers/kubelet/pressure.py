"""Node-pressure eviction: conditions of a node short of memory, disk or processes, and evictions.

Evaluated for nodes whose mock usage is set, by an annotation of the node or of one of its pods.
A kubelet evicts one pod, and looks again ten seconds later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from apps import quantity
from apps.cluster import kinds
from apps.cluster.writes import Update
from apps.cluster.writing.binding import set_condition
from apps.cluster.writing.metadata import timestamp
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, Requeue, Step
from apps.controllers.events.writer import PendingEvent
from apps.controllers.kubelet import status
from apps.controllers.kubelet.node_kubelet import KUBELET, is_reachable
from apps.controllers.kubelet.observing import (
    Observation,
    has_curve,
    is_evictable,
    observe,
    rank,
    varies,
)
from apps.controllers.kubelet.thresholds import EvictionPolicy, NodePressure, Threshold
from apps.controllers.usage.sampling import latest_window
from apps.controllers.writes import reference_to
from apps.scheduler.objects import Node, Pod

Body = dict[str, Any]

INTERVAL: Final = timedelta(seconds=10)
#: condition -> (reason and message while it is True, the same while it is False)
_REPORTS: Final[Mapping[str, tuple[tuple[str, str], tuple[str, str]]]] = {
    "MemoryPressure": (
        ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
        ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ),
    "DiskPressure": (
        ("KubeletHasDiskPressure", "kubelet has disk pressure"),
        ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ),
    "PIDPressure": (
        ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
        ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ),
}
_OWN_MESSAGES: Final = {report[0][1] for report in _REPORTS.values()}


def refs_for_node(cache: ControllerCache, old: Node | None, new: Node | None) -> Iterable[Ref]:
    if new is None:
        return () if old is None else [("Node", "", old.metadata.name)]
    watched = new.metadata.name in cache.pressures
    if watched or has_curve(new.metadata.annotations) or _is_under_pressure(new):
        return [("Node", "", new.metadata.name)]
    return ()


def refs_for_pod(cache: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """The node of a pod whose mock usage is set, or of any pod on a node that is evaluated."""
    pod = new or old
    if pod is None or not pod.spec.node_name:
        return ()
    if pod.spec.node_name in cache.pressures or has_curve(pod.metadata.annotations):
        return [("Node", "", pod.spec.node_name)]
    return ()


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    node = cache.node(ref[2])
    if node is None or not is_reachable(node):
        cache.pressures.pop(ref[2], None)
        return
    pods = cache.pods_on(ref[2])
    is_set = has_curve(node.metadata.annotations) or any(
        has_curve(pod.metadata.annotations) for pod in pods
    )
    if not is_set and ref[2] not in cache.pressures and not _is_under_pressure(node):
        return
    memory = cache.pressures.setdefault(ref[2], NodePressure())
    policy = EvictionPolicy.of(node.metadata.annotations)
    seen = observe(node, pods, latest_window(cache.cluster))
    _note_thresholds(memory, policy, seen, now)
    pressing = _pressing(node, memory, policy, now)
    yield from _report(node, pressing, now)
    yield from _evict(node, pods, memory, policy, seen, now)
    yield from _look_again(node, pods, memory, policy, pressing, now)
    if not is_set and not memory.met_since and not pressing:
        del cache.pressures[ref[2]]


def _note_thresholds(
    memory: NodePressure,
    policy: EvictionPolicy,
    seen: Mapping[str, Observation],
    now: datetime,
) -> None:
    since = {}
    for threshold in policy.thresholds:
        signal = seen[threshold.signal]
        was_met = threshold in memory.met_since
        if threshold.is_met(signal.available, signal.capacity, was_met=was_met):
            since[threshold] = memory.met_since.get(threshold, now)
            memory.last_met[threshold.condition] = now
    memory.met_since = since


def _pressing(
    node: Node, memory: NodePressure, policy: EvictionPolicy, now: datetime
) -> dict[str, datetime]:
    """The conditions that are True, and when each ends if nothing changes."""
    for condition in node.status.conditions:
        # a kubelet that has restarted keeps the condition for another transition period
        if condition.message in _OWN_MESSAGES and condition.status == "True":
            memory.last_met.setdefault(condition.type, now)
    period = timedelta(seconds=policy.transition)
    ends = {name: at + period for name, at in memory.last_met.items()}
    met = {threshold.condition for threshold in memory.met_since}
    return {name: end for name, end in ends.items() if name in met or now < end}


def _report(node: Node, pressing: Iterable[str], now: datetime) -> Iterator[Step]:
    """Set the conditions, and record an event about each that changes."""
    present = {each.type: each.status for each in node.status.conditions}
    changed: dict[str, tuple[str, str, str]] = {}
    for name, (bad, fine) in _REPORTS.items():
        value = "True" if name in pressing else "False"
        if present.get(name, "False") != value:
            changed[name] = (value, *(bad if value == "True" else fine))
    if not changed:
        return
    name = node.metadata.name
    yield Update(
        kinds.NODE,
        "",
        name,
        partial(_set_conditions, changed, now),
        "status",
        trusted=True,
        uid=node.metadata.uid,
    )
    for _, reason, _ in changed.values():
        yield PendingEvent(
            _reference(node), reason, f"Node {name} status is now: {reason}", KUBELET
        )


def _set_conditions(changed: Mapping[str, tuple[str, str, str]], now: datetime, node: Body) -> Body:
    current = dict(node.get("status") or {})
    conditions = list(current.get("conditions") or [])
    for name, (value, reason, message) in changed.items():
        reported = {
            "type": name,
            "status": value,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": timestamp(now),
        }
        conditions = set_condition(conditions, reported, now, probed=False)
    return {**node, "status": {**current, "conditions": conditions}}


def _evict(
    node: Node,
    pods: Sequence[Pod],
    memory: NodePressure,
    policy: EvictionPolicy,
    seen: Mapping[str, Observation],
    now: datetime,
) -> Iterator[Step]:
    """End pods whose time to stop is over, and evict the next one."""
    by_uid = {pod.metadata.uid: pod for pod in pods}
    memory.stopping = {uid: end for uid, end in memory.stopping.items() if uid in by_uid}
    due = [uid for uid, end in memory.stopping.items() if end <= now]
    threshold = _due_threshold(memory, now)
    for uid in due:
        del memory.stopping[uid]
        if threshold is not None and is_evictable(by_uid[uid]):
            yield from _end(by_uid[uid], threshold, seen[threshold.signal], now)
    waits = memory.evicted_at is not None and now < memory.evicted_at + INTERVAL
    if threshold is None or waits or memory.stopping:
        return
    signal = seen[threshold.signal]
    pod = next(iter(rank(pods, threshold.resource, signal)), None)
    if pod is None:
        return
    note = f"Attempting to reclaim {threshold.resource}"
    yield PendingEvent(_reference(node), "EvictionThresholdMet", note, KUBELET, warning=True)
    memory.evicted_at = now
    grace = 0.0
    if threshold.grace is not None:
        grace = min(policy.max_pod_grace, pod.spec.termination_grace_period_seconds)
    if grace > 0:
        memory.stopping[pod.metadata.uid] = now + timedelta(seconds=grace)
    else:
        yield from _end(pod, threshold, signal, now)


def _due_threshold(memory: NodePressure, now: datetime) -> Threshold | None:
    """The first threshold whose grace period is over."""
    for threshold, since in memory.met_since.items():
        if now >= since + timedelta(seconds=threshold.grace or 0.0):
            return threshold
    return None


def _end(pod: Pod, threshold: Threshold, seen: Observation, now: datetime) -> Iterator[Step]:
    message = _message(pod, threshold, seen)
    yield Update(
        kinds.POD,
        pod.metadata.namespace,
        pod.metadata.name,
        status.mark_evicted(message, now),
        "kubelet",
        trusted=True,
        uid=pod.metadata.uid,
    )
    yield PendingEvent(reference_to(pod), "Evicted", message, KUBELET, warning=True)


def _message(pod: Pod, threshold: Threshold, seen: Observation) -> str:
    """Why the pod was evicted, in the kubelet's words."""
    resource = threshold.resource

    def text(amount: float) -> str:
        return str(round(amount)) if resource == "pids" else f"{round(amount / 1024)}Ki"

    limit = text(threshold.limit.of(seen.capacity))
    message = (
        f"The node was low on resource: {resource}. "
        f"Threshold quantity: {limit}, available: {text(seen.available)}. "
    )
    if resource == "pids":
        return message
    for container in pod.spec.containers:
        used = seen.used.get(pod.metadata.uid, {}).get(container.name, 0.0)
        request = container.resources.requests.get(resource, "0")
        if used > quantity.parse(request).nanos / 10**9:
            message += (
                f"Container {container.name} was using {text(used)}, request is {request}, "
                f"has larger consumption of {resource}. "
            )
    return message


def _look_again(
    node: Node,
    pods: Sequence[Pod],
    memory: NodePressure,
    policy: EvictionPolicy,
    pressing: Mapping[str, datetime],
    now: datetime,
) -> Iterator[Requeue]:
    times = [*memory.stopping.values()]
    if varies(node.metadata.annotations) or any(varies(p.metadata.annotations) for p in pods):
        times.append(now + INTERVAL)
    for threshold, since in memory.met_since.items():
        due = since + timedelta(seconds=threshold.grace or 0.0)
        if now < due:
            times.append(due)
        elif any(map(is_evictable, pods)):
            times.append((memory.evicted_at or now) + INTERVAL)
    met = {threshold.condition for threshold in memory.met_since}
    times += [end for name, end in pressing.items() if name not in met]
    if times:
        yield Requeue(max(min(times), now + timedelta(seconds=1)))


def _is_under_pressure(node: Node) -> bool:
    """Whether a kubelet has reported pressure; conditions that a user has set are left alone."""
    return any(
        each.status == "True" and each.message in _OWN_MESSAGES for each in node.status.conditions
    )


def _reference(node: Node) -> dict[str, str]:
    name, uid = node.metadata.name, node.metadata.uid
    return {"kind": "Node", "apiVersion": "v1", "name": name, "uid": uid}


CONTROLLER = Controller(
    name="kubelet (pressure)",
    user=KUBELET,
    concerns={"Node": refs_for_node, "Pod": refs_for_pod},
    reconcile=reconcile,
)
