"""Disruption budgets: computes the allowed disruptions from the number of healthy pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster.writing.metadata import timestamp
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Requeue, Step, parse_time, scaled_value
from apps.controllers.events.writer import PendingEvent
from apps.controllers.selector_text import selector_text
from apps.controllers.writes import is_ready, set_status
from apps.scheduler.labels import SelectorError, from_label_selector
from apps.scheduler.objects import Pod, PodDisruptionBudget

Body = dict[str, Any]
KIND: Final = "PodDisruptionBudget"

#: The reporting component in events.
_REPORTER: Final = "controllermanager"
_UNMANAGED: Final = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a "
    "result, the status of the PDB cannot be calculated correctly, which may result in undefined "
    'behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an '
    "integer value."
)
#: An allowed eviction that has not happened within this time is ignored.
GRANTED_FOR = timedelta(minutes=2)


class _CannotCountError(Exception):
    """The expected number of pods cannot be computed."""


def refs_for_budget(
    _: ControllerCache, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None
) -> Iterable[Ref]:
    return () if new is None else [ref_of(KIND, new)]


def refs_for_pod(cache: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """Changes that do not affect a budget are ignored."""
    # most clusters have no budgets: then a pod costs next to nothing
    if not cache.has_any((KIND,)):
        return ()
    if old is not None and new is not None and _relevant_fields(old) == _relevant_fields(new):
        return ()
    pods = [pod for pod in (old, new) if pod is not None]
    budgets = cache.list_all(KIND, PodDisruptionBudget, pods[0].metadata.namespace)
    return [ref_of(KIND, budget) for budget in budgets if any(selects(budget, pod) for pod in pods)]


def refs_for_workload(cache: ControllerCache, old: Any, new: Any) -> Iterable[Ref]:
    """A percentage depends on the replicas of the workload."""
    if new is None or (old is not None and old.spec == new.spec):
        return []
    budgets = cache.list_all(KIND, PodDisruptionBudget, new.metadata.namespace)
    return [ref_of(KIND, budget) for budget in budgets if not _counts_pods_only(budget)]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    budget = cache.get(ref, PodDisruptionBudget)
    if budget is None:
        return
    candidates = cache.list_all("Pod", Pod, ref[1])
    pods = [
        pod
        for pod in candidates
        if pod.status.phase not in ("Succeeded", "Failed") and selects(budget, pod)
    ]
    if not pods:
        yield _event(budget, "NoPods", "No matching pods found")
    try:
        expected, desired, unmanaged = _expectation(cache, budget, pods)
    except _CannotCountError as why:
        note = f"Failed to calculate the number of expected pods: {why}"
        yield _event(budget, "CalculateExpectedPodCountFailed", note, warning=True)
        yield from _report(budget, ref, {"disruptionsAllowed": 0}, _failed_condition(str(why)), now)
        return
    if unmanaged:
        note = _UNMANAGED.format(selector_text(budget.spec.selector))
        yield _event(budget, "UnmanagedPods", note, warning=True)
    granted = _pending_evictions(budget, pods, now)
    for end in granted.values():
        yield Requeue(end + GRANTED_FOR)
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
    yield from _report(budget, ref, counts, _sufficient_condition(allowed), now)


def selects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    try:
        return from_label_selector(budget.spec.selector).matches(pod.metadata.labels)
    except SelectorError:
        return False


def _relevant_fields(pod: Pod) -> tuple[Any, ...]:
    meta = pod.metadata
    return meta.labels, pod.status.phase, is_ready(pod), meta.deletion_timestamp, meta.uid


def _counts_pods_only(budget: PodDisruptionBudget) -> bool:
    """Whether it depends only on pods, not on the replicas of their workloads."""
    return isinstance(budget.spec.min_available, int)


def _event(
    budget: PodDisruptionBudget, reason: str, note: str, *, warning: bool = False
) -> PendingEvent:
    subject = {"kind": KIND, "apiVersion": "policy/v1", "namespace": budget.metadata.namespace}
    subject |= {"name": budget.metadata.name, "uid": budget.metadata.uid}
    subject["resourceVersion"] = budget.metadata.resource_version
    return PendingEvent(subject, reason, note, _REPORTER, warning=warning)


def _expectation(
    cache: ControllerCache, budget: PodDisruptionBudget, pods: list[Pod]
) -> tuple[int, int, bool]:
    """(expected number of pods, how many of them must stay healthy, whether some do not count)."""
    spec = budget.spec
    if spec.max_unavailable is not None:
        expected, unmanaged = _expected_replicas(cache, pods)
        missing = scaled_value(spec.max_unavailable, expected)
        return expected, max(expected - missing, 0), unmanaged
    least = spec.min_available
    if isinstance(least, str):
        expected, unmanaged = _expected_replicas(cache, pods)
        return expected, scaled_value(least, expected), unmanaged
    # upstream's default without a limit: one pod must stay
    return len(pods), 1 if least is None else least, False


def _expected_replicas(cache: ControllerCache, pods: list[Pod]) -> tuple[int, bool]:
    """The sum of the replicas of these pods' controllers, and whether some pods have none."""
    total = 0
    by_controller = {owner.uid if (owner := pod.metadata.controller) else "": pod for pod in pods}
    for pod in by_controller.values():
        controller = pod.metadata.controller
        if controller is None:
            continue
        body = cache.body((controller.kind, pod.metadata.namespace, controller.name))
        if body is None or "replicas" not in body["spec"]:
            raise _CannotCountError(f"{controller.kind} does not implement the scale subresource")
        total += body["spec"]["replicas"]
    return total, "" in by_controller


def _pending_evictions(
    budget: PodDisruptionBudget, pods: list[Pod], now: datetime
) -> dict[str, datetime]:
    """Allowed evictions that have not happened yet but still can."""
    present = {pod.metadata.name for pod in pods if not pod.metadata.deletion_timestamp}
    granted = {name: parse_time(at) for name, at in budget.status.disrupted_pods.items()}
    return {name: at for name, at in granted.items() if name in present and now < at + GRANTED_FOR}


def _sufficient_condition(allowed: int) -> Body:
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return {"status": "True" if allowed else "False", "reason": reason, "message": ""}


def _failed_condition(why: str) -> Body:
    return {"status": "False", "reason": "SyncFailed", "message": why}


def _report(
    budget: PodDisruptionBudget, ref: Ref, counts: Body, condition: Body, now: datetime
) -> Iterator[Step]:
    """Write the status if it has changed."""
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
        "Pod": refs_for_pod,
        KIND: refs_for_budget,
        "Deployment": refs_for_workload,
        "ReplicaSet": refs_for_workload,
        "ReplicationController": refs_for_workload,
        "StatefulSet": refs_for_workload,
    },
    reconcile=reconcile,
)
