"""What draining a node means: which of its pods go, what holds them, and where others take over."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from apps.cluster import kinds, selectors
from apps.cluster.eviction import budgets_of
from apps.cluster.models import Cluster, Pod
from apps.controlplane import plugins, profiles
from apps.controlplane.bodies import StoredBodies
from apps.controlplane.clock import ClusterClock
from apps.controlplane.informer import Informer, decode
from apps.scheduler.decision import Decision
from apps.scheduler.objects import KubeObject
from apps.scheduler.scheduler import Scheduler, TieBreak

Body = dict[str, Any]

#: goes and comes back elsewhere, goes for good, or stays
Fate = Literal["moves", "lost", "stays"]


@dataclass(frozen=True, slots=True)
class Leaving:
    """One pod of the node and what a drain does to it."""

    body: Body
    fate: Fate
    #: Why it stays, or what is lost; or the controller that makes another one.
    why: str
    #: Disruption budgets, as "name: may lose 1 now".
    budgets: Sequence[str] = ()
    #: No budget lets it go now.
    held: bool = False

    @property
    def namespace(self) -> str:
        return str(self.body["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class Landing:
    """Where the pod's replacement would go: a node, or why there is none."""

    node: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A node's pods by their fate, those that move first."""

    pods: Sequence[Leaving]

    def of(self, fate: Fate) -> list[Leaving]:
        return [pod for pod in self.pods if pod.fate == fate]

    @property
    def moving(self) -> list[Leaving]:
        return self.of("moves")

    @property
    def lost(self) -> list[Leaving]:
        return self.of("lost")

    @property
    def staying(self) -> list[Leaving]:
        return self.of("stays")


def plan(cluster: Cluster, node: str) -> Plan:
    """What a drain of the node would do to each of its pods, by name."""
    rows = Pod.objects.filter(cluster=cluster, node_name=node).order_by("namespace", "name")
    rows = rows.exclude(phase__in=("Succeeded", "Failed"))
    allowed: dict[tuple[str, str], int] = {}
    pods = [_leaving(cluster, body, allowed) for body in rows.values_list("body", flat=True)]
    order = ("moves", "lost", "stays")
    return Plan(sorted(pods, key=lambda pod: order.index(pod.fate)))


def landings(cluster: Cluster, node: str, leaving: Sequence[Leaving]) -> Iterator[Landing]:
    """Where the scheduler would put a replacement of each pod, one after the other.

    Decided by the cluster's own profile on a copy of its present state in which the node is
    cordoned and these pods are gone. Nothing is written. Pods that wait now are not tried first.
    """
    scheduler = Scheduler(
        profiles.configuration(profiles.active(cluster)),
        clock=ClusterClock(cluster),
        tie_break=cast(TieBreak, cluster.tie_break),
        seed=cluster.seed,
        registry=plugins.registry(),
        bodies=StoredBodies(cluster.pk),
    )
    try:
        Informer(cluster.pk, scheduler.handle).load()
        _cordon(cluster, scheduler, node)
        for pod in leaving:
            yield _landing(scheduler, pod.body)
    finally:
        scheduler.close()


def _leaving(cluster: Cluster, body: Body, allowed: dict[tuple[str, str], int]) -> Leaving:
    metadata = body["metadata"]
    owner = next((o for o in metadata.get("ownerReferences") or () if o.get("controller")), None)
    if metadata.get("deletionTimestamp"):
        return Leaving(body, "stays", "is being deleted already")
    if "kubernetes.io/config.mirror" in (metadata.get("annotations") or {}):
        return Leaving(body, "stays", "is a static pod of the node itself")
    if owner is not None and owner["kind"] == "DaemonSet":
        return Leaving(body, "stays", f"belongs to the DaemonSet {owner['name']}")
    budgets = budgets_of(cluster, body)
    held = False
    words = []
    for budget in budgets:
        key = (metadata["namespace"], budget["metadata"]["name"])
        left = allowed.setdefault(key, (budget.get("status") or {}).get("disruptionsAllowed", 0))
        words.append(f"{key[1]}: may lose {max(left, 0)} now")
        held = held or left <= 0
        allowed[key] = left - 1
    if owner is None:
        return Leaving(body, "lost", "no controller makes another one", words, held)
    return Leaving(body, "moves", f"{owner['kind']} {owner['name']}", words, held)


def _cordon(cluster: Cluster, scheduler: Scheduler, name: str) -> None:
    body = selectors.get(cluster, kinds.NODE, "", name)
    cordoned = {**body, "spec": {**(body.get("spec") or {}), "unschedulable": True}}
    scheduler.handle("Node", decode("Node", body), decode("Node", cordoned))


def _landing(scheduler: Scheduler, body: Body) -> Landing:
    scheduler.handle("Pod", decode("Pod", body), None)
    scheduler.handle("Pod", None, _replacement(body))
    found: Decision | None = None
    while (decision := scheduler.schedule_one()) is not None:
        found = decision
        scheduler.take_intents()
    if found is None:
        return Landing("", "it would be held by its scheduling gates")
    if found.node:
        return Landing(found.node, "")
    if found.nominating is not None and found.nominating.nominated_node:
        node = found.nominating.nominated_node
        return Landing("", f"it would preempt pods of lower priority on {node}")
    return Landing("", found.message)


def _replacement(body: Mapping[str, Any]) -> KubeObject | None:
    """The pod that a controller makes in its place."""
    metadata = {**body["metadata"], "uid": str(uuid.uuid4())}
    metadata["name"] = f"{metadata['name'][:240]}-again"
    spec = {key: value for key, value in body["spec"].items() if key != "nodeName"}
    return decode("Pod", {**body, "metadata": metadata, "spec": spec, "status": {}})
