"""What draining a node means: which of its pods go, what holds them, and where others take over."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from apps.cluster import kinds, queries
from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster, Pod
from apps.cluster.writing.eviction import matching_budgets
from apps.controlplane.explanations.states import states
from apps.controlplane.rebuilding import PastState
from apps.scheduler import objects
from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.failure import handle_scheduling_failure, unreserve_and_forget
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.schedule_one import scheduling_cycle
from apps.scheduler.scheduler import Scheduler

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
    kind = kinds.by_name("PodDisruptionBudget")
    budgets = queries.list_objects(cluster, kind).items
    pods = [_leaving(budgets, body, allowed) for body in rows.values_list("body", flat=True)]
    order = ("moves", "lost", "stays")
    return Plan(sorted(pods, key=lambda pod: order.index(pod.fate)))


def landings(cluster: Cluster, node: str, leaving: Sequence[Leaving]) -> list[Landing]:
    """Where the scheduler would put a replacement of each pod, one after the other.

    Decided by the cluster's own profile in its state at `cluster.resource_version`, but with the
    node cordoned and these pods gone. Nothing is written. Pods that wait now are not tried first,
    and among equally good nodes the first is taken.
    """
    with states.now(cluster) as state, _without(cluster, state, node, leaving):
        attempts: list[Attempt] = []
        try:
            return [_landing(state.scheduler, pod.body, attempts) for pod in leaving]
        finally:
            for attempt in reversed(attempts):
                unreserve_and_forget(state.scheduler.cache, attempt)


@contextmanager
def _without(
    cluster: Cluster, state: PastState, name: str, leaving: Sequence[Leaving]
) -> Iterator[None]:
    """The state with the node cordoned and these pods gone, for as long as this lasts."""
    cache = state.scheduler.cache
    info = cache.nodes.get(name)
    if info is None or info.node is None:
        raise NotFound("nodes", name)
    node = info.node
    gone = [cache.remove_pod(pod.body["metadata"]["uid"]) for pod in leaving]
    spec = msgspec.structs.replace(node.spec, unschedulable=True)
    cache.add_node(msgspec.structs.replace(node, spec=spec))
    try:
        yield
    finally:
        cache.add_node(node)
        for pod in gone:
            if pod is not None:
                cache.add_pod(pod)


def _leaving(budgets: Sequence[Body], body: Body, allowed: dict[tuple[str, str], int]) -> Leaving:
    metadata = body["metadata"]
    owner = next((o for o in metadata.get("ownerReferences") or () if o.get("controller")), None)
    if metadata.get("deletionTimestamp"):
        return Leaving(body, "stays", "is being deleted already")
    if "kubernetes.io/config.mirror" in (metadata.get("annotations") or {}):
        return Leaving(body, "stays", "is a static pod of the node itself")
    if owner is not None and owner["kind"] == "DaemonSet":
        return Leaving(body, "stays", f"belongs to the DaemonSet {owner['name']}")
    found = matching_budgets(budgets, body)
    held = False
    words = []
    for budget in found:
        key = (metadata["namespace"], budget["metadata"]["name"])
        left = allowed.setdefault(key, (budget.get("status") or {}).get("disruptionsAllowed", 0))
        words.append(f"{key[1]}: may lose {max(left, 0)} now")
        held = held or left <= 0
        allowed[key] = left - 1
    if owner is None:
        return Leaving(body, "lost", "no controller makes another one", words, held)
    return Leaving(body, "moves", f"{owner['kind']} {owner['name']}", words, held)


def _landing(scheduler: Scheduler, body: Body, attempts: list[Attempt]) -> Landing:
    """Try one replacement; one that gets a node stays there and is added to `attempts`."""
    pod = PodInfo(_replacement(body))
    name = pod.pod.spec.scheduler_name
    framework = scheduler.profiles.get(name)
    if framework is None:
        return Landing("", f"no profile of this cluster is called {name}")
    gate = framework.run_pre_enqueue_plugins(pod)
    if not gate.is_success:
        return Landing("", f"it would be held by {gate.plugin}: {gate.message}")
    attempt = new_attempt(framework, pod)
    status = scheduling_cycle(scheduler.context, attempt)
    decision = attempt.decision
    if status.is_success or status.is_wait:
        attempts.append(attempt)
        return Landing(decision.node, "")
    handle_scheduling_failure(scheduler.queue, attempt, status)
    if decision.nominating is not None and decision.nominating.nominated_node:
        node = decision.nominating.nominated_node
        return Landing("", f"it would preempt pods of lower priority on {node}")
    return Landing("", decision.message)


def _replacement(body: Mapping[str, Any]) -> objects.Pod:
    """The pod that a controller makes in its place."""
    metadata = {**body["metadata"], "uid": str(uuid.uuid4())}
    metadata["name"] = f"{metadata['name'][:240]}-again"
    spec = {key: value for key, value in body["spec"].items() if key != "nodeName"}
    again = {**body, "metadata": metadata, "spec": spec, "status": {}}
    return objects.decode_as(objects.Pod, again)
