"""Draining a node: cordon it, evict its pods as their budgets allow, wait until they are gone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from apps.cluster import kinds
from apps.cluster.errors import ApiError, BadRequest, NotFound, TooManyRequests
from apps.cluster.models import Cluster, Pod
from apps.cluster.writing import store
from apps.cluster.writing.eviction import evict
from apps.controlplane.clusters import drains
from apps.controlplane.clusters.drains import DrainedPod
from apps.controlplane.operations.progress import Progress

#: Seconds after which a drain gives up, unless asked for longer.
DEFAULT_TIMEOUT = 300
LONGEST_TIMEOUT = 86_400
#: Between two looks at what holds the pods.
_LOOK_SECONDS = 0.5


class DrainStuck(ApiError):
    """The time is up, and pods are still there; the message says which, and what holds them."""

    code, reason = 504, "Timeout"


def run(work: Progress) -> str:
    """`node`, `force` (also pods that nobody makes again), `timeout` in seconds."""
    cluster, node = work.cluster, work.argument("node")
    _cordon(work, node)
    leaving = _leaving(cluster, node, force=work.argument("force"))
    deadline = time.monotonic() + work.argument("timeout")
    there = {(pod.namespace, pod.name): pod.body["metadata"]["uid"] for pod in leaving}
    total, refusal = len(there), ""
    while there := _still_there(cluster, node, there):
        refusal = _evict_all(work, there)
        work.step(total - len(there), total, refusal or f"{len(there)} pods are ending")
        if time.monotonic() > deadline:
            raise DrainStuck(_stuck(cluster, there, refusal))
        time.sleep(_LOOK_SECONDS)
    work.step(total, total, "")
    return f"{total} pods have left {node}; it stays cordoned"


def _cordon(work: Progress, node: str) -> None:
    def cordoned(body: Mapping[str, Any]) -> dict[str, Any]:
        return {**body, "spec": {**(body.get("spec") or {}), "unschedulable": True}}

    store.patch(work.cluster, kinds.NODE, "", node, cordoned, actor=work.actor)


def _leaving(cluster: Cluster, node: str, *, force: bool) -> list[DrainedPod]:
    plan = drains.plan_drain(cluster, node)
    if plan.lost and not force:
        names = ", ".join(pod.name for pod in plan.lost[:5])
        raise BadRequest(
            f"{len(plan.lost)} pods of {node} have no controller that makes them again ({names}"
            f"{' …' if len(plan.lost) > 5 else ''}): allow that they are lost, or delete them first"
        )
    return [*plan.moving, *plan.lost]


def _still_there(
    cluster: Cluster, node: str, pods: Mapping[tuple[str, str], str]
) -> dict[tuple[str, str], str]:
    """Of these pods, by namespace and name with their uids, those that are on the node yet."""
    rows = Pod.objects.filter(cluster=cluster, node_name=node)
    rows = rows.exclude(phase__in=("Succeeded", "Failed"))
    present = {
        (ns, name): str(uid) for ns, name, uid in rows.values_list("namespace", "name", "uid")
    }
    return {key: uid for key, uid in pods.items() if present.get(key) == uid}


def _evict_all(work: Progress, pods: Mapping[tuple[str, str], str]) -> str:
    """Ask for the eviction of each that is not on its way; what refused one of them, or ""."""
    refusal = ""
    for namespace, name in pods:
        row = Pod.objects.filter(cluster=work.cluster, namespace=namespace, name=name).first()
        if row is None or row.body["metadata"].get("deletionTimestamp"):
            continue
        try:
            evict(work.cluster, namespace, name, actor=work.actor)
        except TooManyRequests as held:
            causes = held.details.get("causes") or [{"message": held.message}]
            refusal = f"{name} waits: {causes[0]['message']}"
        except NotFound:
            continue
    return refusal


def _stuck(cluster: Cluster, pods: Mapping[tuple[str, str], str], refusal: str) -> str:
    names = ", ".join(name for _, name in list(pods)[:5])
    why = refusal
    if not why:
        row = Cluster.objects.get(pk=cluster.pk)
        why = "they have not ended"
        if row.paused:
            why = "the cluster is paused, so nothing ends"
        elif not row.kubelet:
            why = "the kubelets are switched off, so nothing ends"
        elif row.manual_time is not None:
            why = "the clock stands still, so their grace period does not pass: advance it"
    return f"the time is up and {len(pods)} pods are still there ({names}): {why}"
