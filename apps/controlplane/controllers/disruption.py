"""Disruption budgets: how many of the selected pods may be away, from how many are healthy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster.writing.metadata import timestamp
from apps.controlplane.controllers.controller import Controller, Later, Step, moment
from apps.controlplane.controllers.world import Ref, World, controller_of, ref_of
from apps.controlplane.controllers.writes import is_ready, set_status
from apps.scheduler.labels import SelectorError, from_label_selector
from apps.scheduler.objects import Pod, PodDisruptionBudget

Body = dict[str, Any]
KIND: Final = "PodDisruptionBudget"

#: An eviction that was granted and did not happen by then is forgotten.
GRANTED_FOR = timedelta(minutes=2)


class _CannotCountError(Exception):
    """Why it is not known how many pods there should be."""


def of_budget(
    _: World, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None
) -> Iterable[Ref]:
    return () if new is None else [ref_of(KIND, new)]


def of_pod(world: World, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """Only what counts for a budget makes it look again."""
    if old is not None and new is not None and _counted(old) == _counted(new):
        return []
    pods = [pod for pod in (old, new) if pod is not None]
    budgets = world.every(KIND, PodDisruptionBudget, pods[0].metadata.namespace)
    return [ref_of(KIND, budget) for budget in budgets if any(selects(budget, pod) for pod in pods)]


def of_workload(world: World, old: Any, new: Any) -> Iterable[Ref]:
    """A percentage is of what the workload asks for."""
    if new is None or (old is not None and old.spec == new.spec):
        return []
    budgets = world.every(KIND, PodDisruptionBudget, new.metadata.namespace)
    return [ref_of(KIND, budget) for budget in budgets if not _is_plain(budget)]


def reconcile(world: World, ref: Ref, now: datetime) -> Iterator[Step]:
    budget = world.get(ref, PodDisruptionBudget)
    if budget is None:
        return
    every = world.every("Pod", Pod, ref[1])
    pods = [
        pod
        for pod in every
        if pod.status.phase not in ("Succeeded", "Failed") and selects(budget, pod)
    ]
    try:
        expected, desired = _expectation(world, budget, pods)
    except _CannotCountError as why:
        yield from _report(budget, ref, {"disruptionsAllowed": 0}, _failed(str(why)), now)
        return
    granted = _still_granted(budget, pods, now)
    for end in granted.values():
        yield Later(end + GRANTED_FOR)
    healthy = sum(
        is_ready(pod) and not pod.metadata.deletion_timestamp and pod.metadata.name not in granted
        for pod in pods
    )
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    counts = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "disruptionsAllowed": allowed,
        "disruptedPods": {name: timestamp(at) for name, at in granted.items()} or None,
    }
    yield from _report(budget, ref, counts, _sufficient(allowed), now)


def selects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    try:
        return from_label_selector(budget.spec.selector).matches(pod.metadata.labels)
    except SelectorError:
        return False


def _counted(pod: Pod) -> tuple[Any, ...]:
    meta = pod.metadata
    return meta.labels, pod.status.phase, is_ready(pod), meta.deletion_timestamp, meta.uid


def _is_plain(budget: PodDisruptionBudget) -> bool:
    """Whether it counts pods alone, whatever their workloads ask for."""
    return isinstance(budget.spec.min_available, int)


def _expectation(world: World, budget: PodDisruptionBudget, pods: list[Pod]) -> tuple[int, int]:
    """How many pods there should be, and how many of them must stay healthy."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        expected = _wanted_replicas(world, pods)
        return expected, max(expected - _share(spec.max_unavailable, expected), 0)
    least = spec.min_available
    if isinstance(least, str):
        expected = _wanted_replicas(world, pods)
        return expected, _share(least, expected)
    # upstream's default: one pod must stay, when the budget says nothing
    return len(pods), 1 if least is None else least


def _share(amount: int | str, total: int) -> int:
    """A count, or a percentage, rounded up."""
    if isinstance(amount, int):
        return amount
    return -(-int(amount.rstrip("%")) * total // 100)


def _wanted_replicas(world: World, pods: list[Pod]) -> int:
    """How many pods the controllers of these pods ask for."""
    total = 0
    for owner in {controller_of(pod): pod for pod in pods}.values():
        reference = next((r for r in owner.metadata.owner_references if r.controller), None)
        if reference is None:
            raise _CannotCountError(f'found no controller ref for pod "{owner.metadata.name}"')
        body = world.body((reference.kind, owner.metadata.namespace, reference.name))
        if body is None or "replicas" not in body["spec"]:
            raise _CannotCountError(f"{reference.kind} does not implement the scale subresource")
        total += body["spec"]["replicas"]
    return total


def _still_granted(
    budget: PodDisruptionBudget, pods: list[Pod], now: datetime
) -> dict[str, datetime]:
    """Evictions that were granted, are not visible yet, and may still happen."""
    present = {pod.metadata.name for pod in pods if not pod.metadata.deletion_timestamp}
    granted = {name: moment(at) for name, at in budget.status.disrupted_pods.items()}
    return {name: at for name, at in granted.items() if name in present and now < at + GRANTED_FOR}


def _sufficient(allowed: int) -> Body:
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return {"status": "True" if allowed else "False", "reason": reason, "message": ""}


def _failed(why: str) -> Body:
    return {"status": "False", "reason": "SyncFailed", "message": why}


def _report(
    budget: PodDisruptionBudget, ref: Ref, counts: Body, condition: Body, now: datetime
) -> Iterator[Step]:
    """Write the status, where it says something else than before."""
    generation = budget.metadata.generation
    before = next((c for c in budget.status.conditions if c.type == "DisruptionAllowed"), None)
    moved = before is None or before.status != condition["status"]
    since = None if before is None or moved else before.last_transition_time
    status = {
        **counts,
        "observedGeneration": generation,
        "conditions": [
            {
                "type": "DisruptionAllowed",
                "observedGeneration": generation,
                "lastTransitionTime": since or timestamp(now),
                **condition,
            }
        ],
    }
    yield set_status(ref, budget.metadata.uid, status)


CONTROLLER = Controller(
    name="disruption",
    user="disruption-controller",
    concerns={
        "Pod": of_pod,
        KIND: of_budget,
        "Deployment": of_workload,
        "ReplicaSet": of_workload,
        "ReplicationController": of_workload,
        "StatefulSet": of_workload,
    },
    reconcile=reconcile,
)
