"""Drains nodes: cordons them, evicts their pods as their budgets allow, and waits for their end.

A drain of many nodes cordons all of them first, so that no pod moves to one that is drained next.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from apps.administration.clusters import bulk, drains
from apps.administration.clusters.bulk import BulkAction
from apps.administration.clusters.drains import DrainedPod
from apps.administration.operations.progress import Progress
from apps.cluster.errors import ApiError, BadRequest, NotFound, TooManyRequests
from apps.cluster.models import Cluster, Pod
from apps.cluster.writing.eviction import evict

#: Default timeout of a drain, in seconds.
DEFAULT_TIMEOUT = 300
#: Seconds between two checks.
_LOOK_SECONDS = 0.5


class DrainTimeout(ApiError):
    """The drain timed out; the message names the remaining pods and the reason."""

    code, reason = 504, "Timeout"


def run(work: Progress) -> str:
    """`node`, or the payload's `names`; `force` (also pods without a controller), `timeout` (s).

    Raises DrainTimeout if pods remain after `timeout`.
    """
    nodes = _nodes_to_drain(work)
    cordon = BulkAction("nodes", "cordon")
    bulk.apply(work.cluster, cordon, nodes, actor=work.actor)
    leaving = _pods_to_evict(work.cluster, nodes, force=work.argument("force"))
    deadline = time.monotonic() + work.argument("timeout")
    total = len(leaving)
    there = {(pod.namespace, pod.name): pod.body["metadata"]["uid"] for pod in leaving}
    while there := _remaining_pods(work.cluster, nodes, there):
        refusal = _evict_all(work, there, total)
        work.step(total - len(there), total, refusal or _are(len(there), "ending"))
        if time.monotonic() > deadline:
            raise DrainTimeout(_timeout_message(work.cluster, there, refusal))
        time.sleep(_LOOK_SECONDS)
    work.step(total, total, "")
    if len(nodes) == 1:
        return f"{_have_left(total)} {nodes[0]}; it stays cordoned"
    return f"{_have_left(total)} {len(nodes):,} nodes; they stay cordoned"


def _are(number: int, doing: str) -> str:
    return f"{bulk.count(number, 'pods')} {'is' if number == 1 else 'are'} {doing}"


def _have_left(number: int) -> str:
    return f"{bulk.count(number, 'pods')} {'has' if number == 1 else 'have'} left"


def _nodes_to_drain(work: Progress) -> list[str]:
    node = work.operation.arguments.get("node")
    return [node] if node else list(work.payload()["names"])


def _pods_to_evict(cluster: Cluster, nodes: Sequence[str], *, force: bool) -> list[DrainedPod]:
    plan = drains.plan_drain(cluster, *nodes)
    if plan.lost and not force:
        names = ", ".join(pod.name for pod in plan.lost[:5])
        where = nodes[0] if len(nodes) == 1 else f"{len(nodes):,} nodes"
        raise BadRequest(
            f"no controller recreates {bulk.count(len(plan.lost), 'pods')} of {where} ({names}"
            f"{' …' if len(plan.lost) > 5 else ''}): force the drain, or delete them first"
        )
    return [*plan.moving, *plan.lost]


def _remaining_pods(
    cluster: Cluster, nodes: Sequence[str], pods: Mapping[tuple[str, str], str]
) -> dict[tuple[str, str], str]:
    """Those of these pods, (namespace, name) -> uid, that are still on one of the nodes."""
    rows = Pod.objects.filter(cluster=cluster, node_name__in=nodes)
    rows = rows.exclude(phase__in=("Succeeded", "Failed"))
    present = {
        (ns, name): str(uid) for ns, name, uid in rows.values_list("namespace", "name", "uid")
    }
    return {key: uid for key, uid in pods.items() if present.get(key) == uid}


def _evict_all(work: Progress, pods: Mapping[tuple[str, str], str], total: int) -> str:
    """Evict each pod that is not terminating yet; returns a reason for a rejection, or ""."""
    refusal = ""
    for namespace, name in pods:
        # reports, and notices that the operation was cancelled
        work.step(total - len(pods), total, "evicting pods")
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
    return f"timed out with {bulk.count(len(pods), 'pods')} remaining ({names}): {why}"
