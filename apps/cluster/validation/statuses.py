"""The status of objects, as clients write it to the subresource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps import quantity
from apps.cluster.validation import names
from apps.cluster.validation.addresses import read_address, validate_address
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
)

Body = Mapping[str, Any]

_TRUTHS: Final = ("False", "True", "Unknown")
_MODES: Final = ("Proxy", "VIP")
_RESIZES: Final = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
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
    yield from _conditions(budget)


def _conditions(body: Body) -> Causes:
    """Conditions of the type that kinds share; those of older kinds are not checked."""
    for index, condition in enumerate((body.get("status") or {}).get("conditions") or ()):
        path, kind = f"status.conditions[{index}]", condition.get("type", "")
        yield from all_invalid(f"{path}.type", kind, names.qualified_name(kind))
        if condition.get("status") not in _TRUTHS:
            yield not_supported(f"{path}.status", condition.get("status", ""), _TRUTHS)
        if condition.get("observedGeneration", 0) < 0:
            detail = "must be greater than or equal to zero"
            yield invalid(f"{path}.observedGeneration", condition["observedGeneration"], detail)
        for field in ("lastTransitionTime", "reason"):
            if not condition.get(field):
                yield required(f"{path}.{field}")


def validate_standard_conditions(body: Body, old: Body) -> Causes:
    """The status of a kind of which only the conditions are checked."""
    yield from _conditions(body)


def validate_autoscaler_status(autoscaler: Body, old: Body) -> Causes:
    yield from _not_negative(autoscaler.get("status") or {}, "currentReplicas", "desiredReplicas")


def validate_ingress_status(ingress: Body, old: Body) -> Causes:
    for path, point in _balanced(ingress):
        yield from _reachable_name(point, path)


def validate_service_status(service: Body, old: Body) -> Causes:
    points = list(_balanced(service))
    if points and service["spec"].get("type") != "LoadBalancer":
        why = "may only be used when `spec.type` is 'LoadBalancer'"
        yield forbidden("status.loadBalancer.ingress", why)
        return
    for path, point in points:
        yield from _address(point, path)
        mode = point.get("ipMode")
        if mode is not None and not point.get("ip"):
            yield forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set")
        elif mode is not None and mode not in _MODES:
            yield not_supported(f"{path}.ipMode", mode, _MODES)
        elif mode is None and point.get("ip"):
            yield required(f"{path}.ipMode", "must be specified when `ip` is set")
        yield from _host(point, path)


def _balanced(body: Body) -> Iterator[tuple[str, Body]]:
    """The points at which a load balancer is reached, with their paths."""
    balancer = (body.get("status") or {}).get("loadBalancer") or {}
    for index, point in enumerate(balancer.get("ingress") or ()):
        yield f"status.loadBalancer.ingress[{index}]", point


def _reachable_name(point: Body, path: str) -> Causes:
    yield from _address(point, path)
    yield from _host(point, path)


def _address(point: Body, path: str) -> Causes:
    if point.get("ip"):
        yield from validate_address(point["ip"], f"{path}.ip")


def _host(point: Body, path: str) -> Causes:
    host = point.get("hostname")
    if not host:
        return
    yield from all_invalid(f"{path}.hostname", host, names.dns_subdomain(host))
    if read_address(host) is not None:
        yield invalid(f"{path}.hostname", host, "must be a DNS name, not an IP address")


def validate_volume_claim_status(claim: Body, old: Body) -> Causes:
    for name, amount in ((claim.get("status") or {}).get("capacity") or {}).items():
        if quantity.parse(amount).nanos < 0:
            yield invalid(
                f"status.capacity[{name}]",
                quantity.value(amount),
                "must be a valid resource quantity",
            )

    for name in (claim.get("status") or {}).get("allocatedResources") or ():
        if name != "storage":
            yield not_supported("status.allocatedResources", name, ("storage",))
    resizes = (claim.get("status") or {}).get("allocatedResourceStatuses") or {}
    for name, state in resizes.items():
        if state not in _RESIZES:
            yield not_supported("status.allocatedResourceStatuses", name, _RESIZES)


def _not_negative(status: Body, *fields: str) -> Causes:
    for field in fields:
        if (status.get(field) or 0) < 0:
            yield invalid(f"status.{field}", status[field], names.NOT_NEGATIVE)


def _at_most(status: Body, field: str, limit: str, why: str) -> Causes:
    if (status.get(field) or 0) > (status.get(limit) or 0):
        yield invalid(f"status.{field}", status.get(field) or 0, why)
