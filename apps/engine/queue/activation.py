"""Manual activation of pods: a row for each, until the loop has recorded the move.

The worker that holds the cluster's lease reads the rows in its next iteration and deletes them in
the transaction that records the moves. If it is killed in between, the next holder finds them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from uuid import UUID

from django.db import transaction

from apps.cluster.errors import Cause, Invalid
from apps.cluster.models import Cluster, Pod
from apps.engine.models import QueueActivation, QueueEntry
from apps.engine.queries import list_scheduler_names
from apps.engine.workers.waking import make_due
from apps.scheduler.framework.events import MANUAL_ACTIVATE
from apps.scheduler.queue.scheduling_queue import PriorityQueue


def activate(cluster: Cluster, names: Sequence[str], *, user: str, request_id: str = "") -> None:
    """Move these pods ("namespace/name") to activeQ, whatever they wait for.

    Raises Invalid, naming each pod that is not waiting or is gated; no pod is activated then.
    In a paused cluster, the pods are activated when the cluster is resumed.
    """
    pods = _find_pods(cluster, names)
    causes = list(_check(cluster, names, pods))
    if causes:
        raise Invalid("Queue", cluster.name, causes)
    with transaction.atomic():
        QueueActivation.objects.bulk_create(
            QueueActivation(cluster=cluster, pod_uid=pod.uid, user=user, request_id=request_id)
            for pod in pods.values()
        )
        make_due(cluster.pk)


def apply(cluster: Cluster, queue: PriorityQueue) -> list[int]:
    """Activate the pods that users asked for; returns the rows' ids, for `delete`.

    A pod that no longer waits, or is in flight, is not changed.
    """
    activations = list(QueueActivation.objects.filter(cluster=cluster).order_by("id"))
    if activations:
        uids = {activation.pod_uid for activation in activations}
        pods = Pod.objects.filter(cluster=cluster, uid__in=uids)
        keys = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in pods.defer("body")}
        for activation in activations:
            info = queue.contents.get(keys.get(activation.pod_uid, ""))
            if info is not None and info.uid == str(activation.pod_uid):
                request = f", request {activation.request_id}" if activation.request_id else ""
                reason = f"by {activation.user}{request}"
                queue.activate([info.pod], MANUAL_ACTIVATE, reason)
    return [activation.pk for activation in activations]


def delete(ids: Collection[int]) -> None:
    """Delete applied activations; call it in the recorder's transaction."""
    QueueActivation.objects.filter(pk__in=ids).delete()


def _find_pods(cluster: Cluster, names: Sequence[str]) -> dict[str, Pod]:
    pods = Pod.objects.filter(cluster=cluster, name__in={name.rpartition("/")[2] for name in names})
    by_name = {f"{pod.namespace}/{pod.name}": pod for pod in pods.defer("body")}
    return {name: by_name[name] for name in names if name in by_name}


def _check(cluster: Cluster, names: Sequence[str], pods: dict[str, Pod]) -> Iterator[Cause]:
    ours = list_scheduler_names(cluster)
    gated = QueueEntry.objects.filter(
        cluster=cluster, pod_uid__in=[pod.uid for pod in pods.values()]
    ).exclude(gated_by="")
    gates = dict(gated.values_list("pod_uid", "gated_by"))
    for number, name in enumerate(names):
        problem = _find_problem(pods.get(name), ours, gates)
        if problem:
            yield Cause("FieldValueInvalid", f"{name} {problem}", f"pods[{number}]")


def _find_problem(pod: Pod | None, ours: Collection[str], gates: dict[UUID, str]) -> str:
    if pod is None:
        return "does not exist in this cluster; use namespace/name"
    if pod.node_name:
        return f"is already bound to node {pod.node_name}"
    if pod.phase in ("Succeeded", "Failed"):
        return "has terminated"
    if pod.scheduler_name not in ours:
        return f"belongs to another scheduler, {pod.scheduler_name}"
    if gate := gates.get(pod.uid):
        return f"is gated by {gate}; it can be activated when its gates are removed"
    return ""
