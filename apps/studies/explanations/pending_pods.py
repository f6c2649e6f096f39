"""Why a pod is pending, what would make it schedulable, and when it is retried."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster, Pod
from apps.engine import queries
from apps.engine.models import PermitWait, QueueEntry, QueueMove, SchedulingDecision
from apps.scheduler.explaining.devices import DeviceMatrix, compare_devices
from apps.scheduler.explaining.evaluation import evaluate
from apps.scheduler.explaining.unblocking import Unblocking, unblock
from apps.scheduler.explaining.waking import WakeEvent, wake_events
from apps.scheduler.framework.status import StatusError
from apps.scheduler.plugins.dynamicresources.plugin import DynamicResources
from apps.scheduler.plugins.gang_scheduling import GangScheduling
from apps.scheduler.plugins.volumebinding.plugin import VolumeBinding
from apps.studies.explanations.places import PAUSED, QueuePosition, find_queue_position
from apps.studies.explanations.prospects import Outlook, find_prospects
from apps.studies.explanations.reasons import find_dominant_reason
from apps.studies.explanations.resource_claim_waits import (
    describe_binding_wait,
    describe_missing_claims,
)
from apps.studies.explanations.states import states
from apps.studies.explanations.volume_claim_waits import describe_unbound_claims

ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class PodExplanation:
    """One pod, as it is now."""

    #: a few sentences; empty for a pod that is not pending
    why_pending: str
    #: the message of the last attempt, as kube-scheduler reports it
    message: str = ""
    #: the id of the last attempt; None before the first
    decision: int | None = None
    place: QueuePosition | None = None
    wake: tuple[WakeEvent, ...] = ()
    #: when the pod is retried without an event
    wake_by_time: str = ""
    unblocking: Unblocking | None = None
    #: whether it can ever be scheduled; None for a pod that is not pending, or held at Permit
    prospect: Outlook | None = None
    #: which devices its claims could use now; None without claims to allocate
    devices: DeviceMatrix | None = None
    uid: str = ""

    ANSWER: ClassVar[tuple[str, ...]] = (
        *("why_pending", "message", "decision", "place", "wake"),
        *("wake_by_time", "unblocking", "prospect", "devices"),
    )


def explain_pod(cluster: Cluster, namespace: str, name: str) -> PodExplanation:
    """Everything about a pending pod; NotFound if there is no such pod."""
    pod = Pod.objects.filter(cluster=cluster, namespace=namespace, name=name).first()
    if pod is None:
        raise NotFound("pods", name)
    entry = QueueEntry.objects.filter(cluster=cluster, pod_uid=pod.uid).first()
    last = queries.list_decisions(cluster, pod_uid=pod.uid).first()
    profiles = queries.list_scheduler_names(cluster)
    held = find_permit_wait(cluster, pod, entry)
    sentence = why_pending(cluster, pod, entry, last, profiles, held)
    message = scheduler_message(last) if sentence else ""
    number = last.pk if last is not None else None
    prospect = _find_prospect(cluster, pod) if sentence and held is None else None
    if not sentence or pod.scheduler_name not in profiles:
        return PodExplanation(sentence, message, number, prospect=prospect, uid=str(pod.uid))
    return PodExplanation(
        sentence,
        message,
        number,
        find_queue_position(cluster, pod, entry, held),
        () if held is not None else find_wake_events(cluster, pod, entry),
        "" if held is not None else _describe_retry(cluster, entry),
        None if held is not None else find_unblocking_changes(cluster, pod),
        prospect,
        None if held is not None else compare_pod_with_devices(cluster, pod),
        str(pod.uid),
    )


def _find_prospect(cluster: Cluster, pod: Pod) -> Outlook | None:
    return find_prospects(cluster, [str(pod.uid)]).get(str(pod.uid))


def find_permit_wait(cluster: Cluster, pod: Pod, entry: QueueEntry | None) -> PermitWait | None:
    """How Permit plugins hold the pod; None if they do not."""
    if pod.node_name or pod.phase in ENDED:
        return None
    # a pod in flight still has the entry with which it was popped
    if entry is not None and entry.queue in (
        QueueEntry.Queue.UNSCHEDULABLE,
        QueueEntry.Queue.GATED,
    ):
        return None
    return PermitWait.objects.filter(cluster=cluster, pod_uid=pod.uid).first()


def scheduler_message(last: SchedulingDecision | None) -> str:
    """The message of an attempt; empty if it bound the pod, or without one."""
    if last is None or last.result == SchedulingDecision.Result.SCHEDULED:
        return ""
    return " ".join(filter(None, (last.message, last.post_filter_message)))


def why_pending(
    cluster: Cluster,
    pod: Pod,
    entry: QueueEntry | None,
    last: SchedulingDecision | None,
    profiles: Collection[str],
    held: PermitWait | None,
) -> str:
    """A few sentences; empty for a pod that is not pending.

    `profiles`: the schedulerNames of the cluster's active configuration.
    """
    if pod.node_name or pod.phase in ENDED:
        return ""
    reason = _why_pending(cluster, pod, entry, last, profiles, held)
    return f"{PAUSED} {reason}" if cluster.paused and pod.scheduler_name in profiles else reason


def _why_pending(
    cluster: Cluster,
    pod: Pod,
    entry: QueueEntry | None,
    last: SchedulingDecision | None,
    profiles: Collection[str],
    held: PermitWait | None,
) -> str:
    if pod.scheduler_name not in profiles:
        return f"It waits for scheduler {pod.scheduler_name}, which no profile here has."
    if held is not None:
        return f"It has node {held.node}, and is held at Permit by {', '.join(held.plugins)}."
    gates = [gate["name"] for gate in pod.body["spec"].get("schedulingGates") or ()]
    if gates:
        return f"It waits for its scheduling gates to be removed: {', '.join(gates)}."
    group = (pod.body["spec"].get("schedulingGroup") or {}).get("podGroupName")
    if group and entry is not None and entry.gated_by == GangScheduling.name:
        return f"It waits for other pods of its group {group}, or for PodGroup {group} itself."
    if entry is not None and entry.gated_by == DynamicResources.name:
        return describe_missing_claims(cluster, pod)
    if entry is not None and entry.gated_by:
        return f"It is kept out of the queue by {entry.gated_by}{_gating_reason(pod)}."
    if cluster.scheduling == Cluster.Scheduling.EXTERNAL:
        return _describe_answer_of_others(pod)
    waiting = describe_binding_wait(cluster, pod)
    if waiting:
        return waiting
    if last is None:
        return "It waits in activeQ for its first attempt."
    if last.result == SchedulingDecision.Result.SCHEDULED:
        return f"Attempt {last.attempt} chose {last.node}, but the pod is not bound there."
    if pod.nominated_node_name:
        return f"It is nominated to {pod.nominated_node_name} and waits for room there."
    reason = find_dominant_reason(cluster, pod, last)
    if not reason and VolumeBinding.name in last.unschedulable_plugins:
        reason = describe_unbound_claims(cluster, pod)
    return reason or scheduler_message(last) or "Its last attempt failed without a message."


def _describe_answer_of_others(pod: Pod) -> str:
    """What the external scheduler says about a pod."""
    conditions = (pod.body.get("status") or {}).get("conditions") or ()
    for each in conditions:
        if each["type"] == "PodScheduled" and each["status"] == "False" and each.get("message"):
            return f"The external scheduler does not place it: {each['message']}"
    return "It waits for the external scheduler."


def _gating_reason(pod: Pod) -> str:
    """What the PreEnqueue plugin said when it gated the pod."""
    moves = QueueMove.objects.filter(pod_uid=pod.uid, target=QueueMove.Place.GATED)
    reason = moves.order_by("-id").values_list("reason", flat=True).first()
    return f": {reason.removesuffix('.')}" if reason else ""


def find_wake_events(cluster: Cluster, pod: Pod, entry: QueueEntry | None) -> tuple[WakeEvent, ...]:
    """The events that may requeue the pod, by the plugins that rejected it or gate it."""
    if entry is None:
        return ()
    rejectors = {*entry.unschedulable_plugins, *entry.pending_plugins, entry.gated_by} - {""}
    if not rejectors:
        return ()
    with states.now(cluster) as state:
        return tuple(wake_events(state.scheduler.profiles[pod.scheduler_name], rejectors))


def find_unblocking_changes(cluster: Cluster, pod: Pod) -> Unblocking | None:
    """The changes that make the pod fit now; None if a filter fails with an error."""
    with states.now(cluster) as state:
        known = state.pod(str(pod.uid))
        if known is None:
            return None
        try:
            return unblock(state.scheduler, known)
        except StatusError:
            return None


def compare_pod_with_devices(cluster: Cluster, pod: Pod) -> DeviceMatrix | None:
    """Which devices the pod's claims could use now; None if it has no claims to allocate."""
    extended = any("/" in name for name in pod.requests)
    if not extended and not pod.body["spec"].get("resourceClaims"):
        return None
    with states.now(cluster) as state:
        known = state.pod(str(pod.uid))
        if known is None:
            return None
        matrix = compare_devices(evaluate(state.scheduler, known))
        return matrix if matrix.requests else None


def _describe_retry(cluster: Cluster, entry: QueueEntry | None) -> str:
    if entry is None:
        return ""
    if entry.queue == QueueEntry.Queue.BACKOFF and entry.backoff_expiry is not None:
        seconds = max(0, round((entry.backoff_expiry - cluster.now()).total_seconds()))
        return f"Its backoff ends in {seconds:,} s; it is retried earlier if activeQ is empty."
    if entry.queue == QueueEntry.Queue.UNSCHEDULABLE:
        after = cluster.pod_max_in_unschedulable_pods_seconds
        return f"Without an event it is retried {after:,} s after its last attempt."
    return ""
