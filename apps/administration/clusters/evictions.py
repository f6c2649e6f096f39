"""Which pods a change of nodes would evict through NoExecute taints, and which it has evicted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.cluster.models import Change, Cluster, Node, Pod
from apps.controllers import taint_eviction
from apps.scheduler import objects

Body = Mapping[str, Any]

#: Versions after a change among which its evictions are looked for.
SEARCHED_VERSIONS = 50_000


@dataclass(frozen=True, slots=True)
class EvictedPod:
    """A pod that is evicted, or would be."""

    namespace: str
    name: str
    uid: UUID
    node: str
    #: Its controller, which recreates it: "ReplicaSet web"; "" if nothing does.
    controller: str
    #: Seconds until the eviction; 0 for at once.
    seconds: float = 0.0
    #: Whether it still exists, for a pod that has been evicted: it is terminating.
    terminating: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Evictions:
    """Evicted pods, those that nothing recreates first."""

    pods: Sequence[EvictedPod] = ()

    def __bool__(self) -> bool:
        return bool(self.pods)

    @property
    def lost(self) -> list[EvictedPod]:
        return [pod for pod in self.pods if not pod.controller]

    @property
    def replaced(self) -> list[EvictedPod]:
        return [pod for pod in self.pods if pod.controller]


def plan_evictions(
    cluster: Cluster, names: Iterable[str], change: Callable[[Body], Body]
) -> Evictions:
    """The pods on these nodes that the change would evict, or evict earlier than now planned."""
    now = cluster.now()
    changed: dict[str, tuple[list[objects.Taint], list[objects.Taint]]] = {}
    for node in Node.objects.filter(cluster=cluster, name__in=set(names)):
        before, after = _evicting(node.body), _evicting(change(node.body))
        if any(taint not in before for taint in after):
            changed[node.name] = before, after
    pods = Pod.objects.filter(cluster=cluster, node_name__in=changed)
    pods = pods.exclude(phase__in=("Succeeded", "Failed"))
    planned = [_plan(pod, *changed[pod.node_name], now) for pod in pods]
    return _order(pod for pod in planned if pod is not None)


def plan_not_ready(cluster: Cluster, name: str, status: str) -> Evictions:
    """The pods that are evicted when the node's condition Ready becomes False or Unknown."""
    key = "not-ready" if status == "False" else "unreachable"
    taint = {"key": f"node.kubernetes.io/{key}", "effect": "NoExecute"}

    def change(body: Body) -> Body:
        spec = body.get("spec") or {}
        return {**body, "spec": {**spec, "taints": [*(spec.get("taints") or ()), taint]}}

    return plan_evictions(cluster, [name], change)


def find_evictions(cluster: Cluster, names: Iterable[str], *, since: int) -> Evictions:
    """The pods that the taint eviction controller has evicted from nodes after a version."""
    changes = Change.objects.filter(
        cluster=cluster,
        version__gt=since,
        version__lte=since + SEARCHED_VERSIONS,
        kind="Pod",
        user=taint_eviction.USER,
        object__spec__nodeName__in=list(names),
    )
    evicted = {change.uid: change.object for change in changes.order_by("version")}
    present = Pod.objects.filter(cluster=cluster, uid__in=list(evicted))
    remaining = set(present.values_list("uid", flat=True))
    return _order(
        _describe(uid, body, terminating=uid in remaining) for uid, body in evicted.items()
    )


def find_controller(body: Body) -> str:
    """The controller that recreates a deleted pod: "ReplicaSet web"; "" if there is none."""
    owners = (body.get("metadata") or {}).get("ownerReferences") or ()
    owner = next((each for each in owners if each.get("controller")), None)
    return f"{owner['kind']} {owner['name']}" if owner is not None else ""


def _plan(
    pod: Pod, before: list[objects.Taint], after: list[objects.Taint], now: datetime
) -> EvictedPod | None:
    if pod.body["metadata"].get("deletionTimestamp"):
        return None
    decoded = objects.decode_as(objects.Pod, pod.body)
    end = taint_eviction.deadline(decoded, after, now)
    planned = taint_eviction.deadline(decoded, before, now)
    if end is None or (planned is not None and planned <= end):
        return None
    return _describe(pod.uid, pod.body, seconds=max(0.0, (end - now).total_seconds()))


def _describe(
    uid: UUID, body: Body, *, seconds: float = 0.0, terminating: bool = False
) -> EvictedPod:
    metadata = body["metadata"]
    return EvictedPod(
        metadata["namespace"],
        metadata["name"],
        uid,
        body["spec"].get("nodeName", ""),
        find_controller(body),
        seconds,
        terminating,
    )


def _evicting(body: Body) -> list[objects.Taint]:
    return taint_eviction.evicting_taints(objects.decode_as(objects.Node, body))


def _order(pods: Iterable[EvictedPod]) -> Evictions:
    return Evictions(sorted(pods, key=lambda pod: (bool(pod.controller), pod.seconds, pod.key)))
