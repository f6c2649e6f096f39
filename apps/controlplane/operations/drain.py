"""Drains a node: cordons it, evicts its pods as their budgets allow, and waits for them to end."""

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

#: Default timeout of a drain, in seconds.
DEFAULT_TIMEOUT = 300
LONGEST_TIMEOUT = 86_400
#: Seconds between two checks.
_LOOK_SECONDS = 0.5


class DrainTimeout(ApiError):
    """The drain timed out; the message names the remaining pods and the reason."""

    code, reason = 504, "Timeout"


def run(work: Progress) -> str:
    """`node`, `force` (also pods without a controller), `timeout` in seconds."""
    cluster, node = work.cluster, work.argument("node")
    _cordon(work, node)
    leaving = _pods_to_evict(cluster, node, force=work.argument("force"))
    deadline = time.monotonic() + work.argument("timeout")
    there = {(pod.namespace, pod.name): pod.body["metadata"]["uid"] for pod in leaving}
    total, refusal = len(there), ""
    while there := _remaining_pods(cluster, node, there):
        refusal = _evict_all(work, there)
        work.step(total - len(there), total, refusal or f"{len(there)} pods are ending")
        if time.monotonic() > deadline:
            raise DrainTimeout(_timeout_message(cluster, there, refusal))
        time.sleep(_LOOK_SECONDS)
    work.step(total, total, "")
    return f"{total} pods have left {node}; it stays cordoned"


def _cordon(work: Progress, node: str) -> None:
    def cordon(body: Mapping[str, Any]) -> dict[str, Any]:
        return {**body, "spec": {**(body.get("spec") or {}), "unschedulable": True}}

    store.patch(work.cluster, kinds.NODE, "", node, cordon, actor=work.actor)


def _pods_to_evict(cluster: Cluster, node: str, *, force: bool) -> list[DrainedPod]:
    plan = drains.plan_drain(cluster, node)
    if plan.lost and not force:
        names = ", ".join(pod.name for pod in plan.lost[:5])
        raise BadRequest(
            f"{len(plan.lost)} pods of {node} have no controller that recreates them ({names}"
            f"{' …' if len(plan.lost) > 5 else ''}): force the drain, or delete them first"
        )
    return [*plan.moving, *plan.lost]


def _remaining_pods(
    cluster: Cluster, node: str, pods: Mapping[tuple[str, str], str]
) -> dict[tuple[str, str], str]:
    """Those of these pods, (namespace, name) -> uid, that are still on the node."""
    rows = Pod.objects.filter(cluster=cluster, node_name=node)
    rows = rows.exclude(phase__in=("Succeeded", "Failed"))
    present = {
        (ns, name): str(uid) for ns, name, uid in rows.values_list("namespace", "name", "uid")
    }
    return {key: uid for key, uid in pods.items() if present.get(key) == uid}


def _evict_all(work: Progress, pods: Mapping[tuple[str, str], str]) -> str:
    """Evict each pod that is not terminating yet; returns a reason for a rejection, or ""."""
    refusal = ""
    for namespace, name in pods:
        row = Pod.objects.filter(cluster=work.cluster, namespace=namespace, name=name).first()
        if row is None or row.body["metadata"].get("deletionTimestamp"):
            continue
        try:
            evict(work.cluster, namespace, name, actor=work.actor)
        except TooManyRequests as error:
            causes = error.details.get("causes") or [{"message": error.message}]
            refusal = f"{name} waits: {causes[0]['message']}"
        except NotFound:
            continue
    return refusal


def _timeout_message(cluster: Cluster, pods: Mapping[tuple[str, str], str], refusal: str) -> str:
    names = ", ".join(name for _, name in list(pods)[:5])
    why = refusal
    if not why:
        row = Cluster.objects.get(pk=cluster.pk)
        why = "they have not ended"
        if row.paused:
            why = "the cluster is paused, so no pod ends"
        elif not row.kubelet:
            why = "the kubelets are disabled, so no pod ends"
        elif row.manual_time is not None:
            why = "the clock is stopped, so their grace period does not pass: advance it"
    return f"timed out with {len(pods)} pods remaining ({names}): {why}"
