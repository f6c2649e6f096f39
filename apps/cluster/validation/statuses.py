"""The status of objects, as clients write it to the subresource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps import quantity
from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, invalid

Body = Mapping[str, Any]

_MORE_THAN_REPLICAS: Final = "cannot be greater than status.replicas"


def validate_namespace_status(namespace: Body, old: Body) -> Causes:
    phase = (namespace.get("status") or {}).get("phase", "")
    deleted = namespace["metadata"].get("deletionTimestamp")
    if not deleted and phase != "Active":
        why = "may only be 'Active' if `deletionTimestamp` is empty"
        yield invalid("status.Phase", phase, why)
    if deleted and phase != "Terminating":
        why = "may only be 'Terminating' if `deletionTimestamp` is not empty"
        yield invalid("status.Phase", phase, why)


def validate_replica_set_status(replica_set: Body, old: Body) -> Causes:
    status = replica_set.get("status") or {}
    counts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    yield from _not_negative(status, "replicas", *counts, "observedGeneration")
    for field in counts:
        yield from _at_most(status, field, "replicas", _MORE_THAN_REPLICAS)
    yield from _at_most(
        status, "availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"
    )


def validate_stateful_set_status(stateful_set: Body, old: Body) -> Causes:
    status = stateful_set.get("status") or {}
    counts = ("readyReplicas", "currentReplicas", "updatedReplicas")
    yield from _not_negative(
        status, "replicas", *counts, "availableReplicas", "observedGeneration", "collisionCount"
    )
    for field in (*counts, "availableReplicas"):
        yield from _at_most(status, field, "replicas", _MORE_THAN_REPLICAS)
    yield from _at_most(
        status,
        "availableReplicas",
        "readyReplicas",
        "cannot be greater than status.readyReplicas",
    )
    yield from _growing_collisions(status, old)


def validate_deployment_status(deployment: Body, old: Body) -> Causes:
    status = deployment.get("status") or {}
    counts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    yield from _not_negative(
        status, "observedGeneration", "replicas", *counts, "unavailableReplicas", "collisionCount"
    )
    for field in counts:
        yield from _at_most(status, field, "replicas", _MORE_THAN_REPLICAS)
    yield from _at_most(
        status, "availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"
    )
    yield from _growing_collisions(status, old)


def validate_daemon_set_status(daemon_set: Body, old: Body) -> Causes:
    status = daemon_set.get("status") or {}
    yield from _not_negative(
        status,
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
    yield from _growing_collisions(status, old)


def _growing_collisions(status: Body, old: Body) -> Causes:
    count, before = status.get("collisionCount"), (old.get("status") or {}).get("collisionCount")
    if before is not None and (count is None or count < before):
        yield invalid("status.collisionCount", count or 0, "cannot be decremented")


def validate_disruption_budget_status(budget: Body, old: Body) -> Causes:
    yield from _not_negative(
        budget.get("status") or {},
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    )


def validate_volume_claim_status(claim: Body, old: Body) -> Causes:
    for name, amount in ((claim.get("status") or {}).get("capacity") or {}).items():
        if quantity.parse(amount).nanos < 0:
            yield invalid(
                f"status.capacity[{name}]",
                quantity.value(amount),
                "must be a valid resource quantity",
            )


def _not_negative(status: Body, *fields: str) -> Causes:
    for field in fields:
        if (status.get(field) or 0) < 0:
            yield invalid(f"status.{field}", status[field], names.NOT_NEGATIVE)


def _at_most(status: Body, field: str, limit: str, why: str) -> Causes:
    if (status.get(field) or 0) > (status.get(limit) or 0):
        yield invalid(f"status.{field}", status.get(field) or 0, why)
