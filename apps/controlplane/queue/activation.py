"""Activating a pod by hand: a wish that is a row, until the loop has recorded what came of it.

Whichever worker holds the cluster's lease finds the rows at its next look and deletes them in the
transaction that records the move. A worker that is killed in between leaves them to the next one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from uuid import UUID

from django.db import transaction

from apps.cluster.errors import Cause, Invalid
from apps.cluster.models import Cluster, Pod
from apps.controlplane.models import QueueActivation, QueueEntry
from apps.controlplane.queries import scheduler_names
from apps.controlplane.workers.waking import make_due
from apps.scheduler.framework.events import MANUAL_ACTIVATE
from apps.scheduler.queue.scheduling_queue import PriorityQueue

#: Pods that one request may name.
MOST = 1000


def activate(cluster: Cluster, names: Sequence[str], *, user: str, request_id: str = "") -> None:
    """Have these pods ("namespace/name") tried at once, whatever they wait for.

    Raises Invalid, naming each pod that does not wait, or that gates hold back; nothing is asked
    for then. In a paused cluster it happens when the cluster goes on.
    """
    pods = _named(cluster, names)
    causes = list(_faults(cluster, names, pods))
    if causes:
        raise Invalid("Queue", cluster.name, causes)
    with transaction.atomic():
        QueueActivation.objects.bulk_create(
            QueueActivation(cluster=cluster, pod_uid=pod.uid, user=user, request_id=request_id)
            for pod in pods.values()
        )
        make_due(cluster.pk)


def carry_out(cluster: Cluster, queue: PriorityQueue) -> list[int]:
    """Activate what users wish; returns the ids of the wishes, to be `forget`ten with the record.

    A pod that does not wait any more, or that is in flight just now, is left as it is.
    """
    wishes = list(QueueActivation.objects.filter(cluster=cluster).order_by("id"))
    if wishes:
        pods = Pod.objects.filter(cluster=cluster, uid__in={wish.pod_uid for wish in wishes})
        keys = {pod.uid: f"{pod.namespace}/{pod.name}" for pod in pods.defer("body")}
        for wish in wishes:
            info = queue.get(keys.get(wish.pod_uid, ""))
            if info is not None and info.uid == str(wish.pod_uid):
                reason = f"by {wish.user}, request {wish.request_id or '-'}"
                queue.activate([info.pod], MANUAL_ACTIVATE, reason)
    return [wish.pk for wish in wishes]


def forget(ids: Collection[int]) -> None:
    """These wishes have been carried out; to be called in the recorder's transaction."""
    QueueActivation.objects.filter(pk__in=ids).delete()


def _named(cluster: Cluster, names: Sequence[str]) -> dict[str, Pod]:
    pods = Pod.objects.filter(cluster=cluster, name__in={name.rpartition("/")[2] for name in names})
    by_name = {f"{pod.namespace}/{pod.name}": pod for pod in pods.defer("body")}
    return {name: by_name[name] for name in names if name in by_name}


def _faults(cluster: Cluster, names: Sequence[str], pods: dict[str, Pod]) -> Iterator[Cause]:
    ours = scheduler_names(cluster)
    gated = QueueEntry.objects.filter(
        cluster=cluster, pod_uid__in=[pod.uid for pod in pods.values()]
    ).exclude(gated_by="")
    gates = dict(gated.values_list("pod_uid", "gated_by"))
    for number, name in enumerate(names):
        why = _why_not(pods.get(name), ours, gates)
        if why:
            yield Cause("FieldValueInvalid", f"{name} {why}", f"pods[{number}]")


def _why_not(pod: Pod | None, ours: Collection[str], gates: dict[UUID, str]) -> str:
    if pod is None:
        return "is no pod of this cluster; write namespace/name"
    if pod.node_name:
        return f"is on node {pod.node_name} already"
    if pod.phase in ("Succeeded", "Failed"):
        return "has ended"
    if pod.scheduler_name not in ours:
        return f"is the business of another scheduler, {pod.scheduler_name}"
    if gate := gates.get(pod.uid):
        return f"is held back by {gate}; it can be tried when its gates are removed"
    return ""
