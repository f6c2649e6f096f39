"""Preview of a node drain: which pods are evicted, what blocks them, where replacements go."""

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
from apps.scheduler import objects
from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.failure import handle_scheduling_failure, unreserve_and_forget
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.schedule_one import scheduling_cycle
from apps.scheduler.scheduler import Scheduler
from apps.studies.explanations.states import states
from apps.studies.rebuilding import PastState

Body = dict[str, Any]

#: evicted and replaced by its controller, evicted without replacement, or not evicted
DrainEffect = Literal["moves", "lost", "stays"]


@dataclass(frozen=True, slots=True)
class DrainedPod:
    """One pod of the node and what a drain does to it."""

    body: Body
    effect: DrainEffect
    #: Why it stays or is lost, or the controller that replaces it.
    reason: str
    #: Its disruption budgets, as "name: allowed disruptions 1".
    budgets: Sequence[str] = ()
    #: Whether a budget blocks its eviction now.
    blocked: bool = False

    @property
    def namespace(self) -> str:
        return str(self.body["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.body["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class Landing:
    """Where a pod's replacement would be scheduled: a node, or reason there is none."""

    node: str
    message: str


@dataclass(frozen=True, slots=True)
class DrainPlan:
    """The pods of the nodes by their effect, moving pods first."""

    pods: Sequence[DrainedPod]

    def of(self, effect: DrainEffect) -> list[DrainedPod]:
        return [pod for pod in self.pods if pod.effect == effect]

    @property
    def moving(self) -> list[DrainedPod]:
        return self.of("moves")

    @property
    def lost(self) -> list[DrainedPod]:
        return self.of("lost")

    @property
    def staying(self) -> list[DrainedPod]:
        return self.of("stays")


def plan_drain(cluster: Cluster, *nodes: str) -> DrainPlan:
    """What a drain of these nodes would do to each of their pods, sorted by effect and name."""
    rows = Pod.objects.filter(cluster=cluster, node_name__in=nodes).order_by("namespace", "name")
    rows = rows.exclude(phase__in=("Succeeded", "Failed"))
    allowed: dict[tuple[str, str], int] = {}
    kind = kinds.by_name("PodDisruptionBudget")
    budgets = queries.list_objects(cluster, kind).items
    pods = [_classify(budgets, body, allowed) for body in rows.values_list("body", flat=True)]
    order = ("moves", "lost", "stays")
    return DrainPlan(sorted(pods, key=lambda pod: order.index(pod.effect)))


def preview_landings(cluster: Cluster, node: str, leaving: Sequence[DrainedPod]) -> list[Landing]:
    """Where the scheduler would place a replacement of each pod, one after the other.

    Uses the cluster's configuration and its state at `cluster.resource_version`, with the node
    cordoned and these pods removed. Nothing is written. Pods that are pending now are not scheduled
    first, and among nodes with equal scores the first is selected.
    """
    with states.now(cluster) as state, _remove_from_node(cluster, state, node, leaving):
        attempts: list[Attempt] = []
        try:
            return [_schedule_replacement(state.scheduler, pod.body, attempts) for pod in leaving]
        finally:
            for attempt in reversed(attempts):
                unreserve_and_forget(state.scheduler.cache, attempt)


@contextmanager
def _remove_from_node(
    cluster: Cluster, state: PastState, name: str, leaving: Sequence[DrainedPod]
) -> Iterator[None]:
    """Cordon the node and remove these pods from the state while the context is active."""
    cache = state.scheduler.cache
    info = cache.nodes.get(name)
    if info is None or info.node is None:
        raise NotFound("nodes", name)
    node = info.node
    removed = [cache.remove_pod(pod.body["metadata"]["uid"]) for pod in leaving]
    spec = msgspec.structs.replace(node.spec, unschedulable=True)
    cache.add_node(msgspec.structs.replace(node, spec=spec))
    try:
        yield
    finally:
        cache.add_node(node)
        for pod in removed:
            if pod is not None:
                cache.add_pod(pod)


def _classify(
    budgets: Sequence[Body], body: Body, allowed: dict[tuple[str, str], int]
) -> DrainedPod:
    """What a drain does to a pod; `allowed` counts the disruptions left in each budget."""
    metadata = body["metadata"]
    owner = next((o for o in metadata.get("ownerReferences") or () if o.get("controller")), None)
    if metadata.get("deletionTimestamp"):
        return DrainedPod(body, "stays", "is already terminating")
    if "kubernetes.io/config.mirror" in (metadata.get("annotations") or {}):
        return DrainedPod(body, "stays", "is a static pod")
    if owner is not None and owner["kind"] == "DaemonSet":
        return DrainedPod(body, "stays", f"belongs to the DaemonSet {owner['name']}")
    blocked = False
    descriptions = []
    for budget in matching_budgets(budgets, body):
        key = (metadata["namespace"], budget["metadata"]["name"])
        left = allowed.setdefault(key, (budget.get("status") or {}).get("disruptionsAllowed", 0))
        descriptions.append(f"{key[1]}: allowed disruptions {max(left, 0)}")
        blocked = blocked or left <= 0
        allowed[key] = left - 1
    if owner is None:
        return DrainedPod(body, "lost", "has no controller that replaces it", descriptions, blocked)
    return DrainedPod(body, "moves", f"{owner['kind']} {owner['name']}", descriptions, blocked)


def _schedule_replacement(scheduler: Scheduler, body: Body, attempts: list[Attempt]) -> Landing:
    """Schedule one replacement; one with a node stays assumed and is added to `attempts`."""
    pod = PodInfo(_build_replacement(body))
    name = pod.pod.spec.scheduler_name
    framework = scheduler.profiles.get(name)
    if framework is None:
        return Landing("", f"this cluster has no profile {name}")
    gate = framework.run_pre_enqueue_plugins(pod)
    if not gate.is_success:
        return Landing("", f"would be gated by {gate.plugin}: {gate.message}")
    attempt = new_attempt(framework, pod)
    status = scheduling_cycle(scheduler.context, attempt)
    decision = attempt.decision
    if status.is_success or status.is_wait:
        attempts.append(attempt)
        return Landing(decision.node, "")
    handle_scheduling_failure(scheduler.queue, attempt, status)
    if decision.nominating is not None and decision.nominating.nominated_node:
        node = decision.nominating.nominated_node
        return Landing("", f"would preempt pods with lower priority on {node}")
    return Landing("", decision.message)


def _build_replacement(body: Mapping[str, Any]) -> objects.Pod:
    """The pod that a controller would create as replacement."""
    metadata = {**body["metadata"], "uid": str(uuid.uuid4())}
    metadata["name"] = f"{metadata['name'][:240]}-replacement"
    spec = {key: value for key, value in body["spec"].items() if key != "nodeName"}
    replacement = {**body, "metadata": metadata, "spec": spec, "status": {}}
    return objects.decode_as(objects.Pod, replacement)
