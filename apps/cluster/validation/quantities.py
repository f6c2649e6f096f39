"""Resource names and amounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps import quantity
from apps.cluster.pods.resources import HUGE_PAGES
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    required,
)

Resources = Mapping[str, Any]

_OF_CONTAINERS: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_COMPUTE: Final = ("cpu", "memory")
#: What a quota with any scope may limit.
OF_QUOTAS_OF_PODS: Final = frozenset(
    ("pods", *_COMPUTE, *(f"{part}.{name}" for part in ("requests", "limits") for name in _COMPUTE))
)
#: Objects that quotas count.
_COUNTED: Final = frozenset(
    (
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
#: What a quota may limit, beside huge pages and resources with a domain.
OF_QUOTAS: Final = (
    OF_QUOTAS_OF_PODS
    | _COUNTED
    | {
        "ephemeral-storage",
        "limits.ephemeral-storage",
        "requests.ephemeral-storage",
        "requests.storage",
    }
)
HUGE_PAGES_OF_QUOTAS: Final = (HUGE_PAGES, f"requests.{HUGE_PAGES}")
_STANDARD: Final = OF_QUOTAS | {"storage"}
_NATIVE_DOMAIN: Final = "kubernetes.io/"


def validate_requirements(resources: Resources, path: str) -> Causes:
    """Requests and limits of a container."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, given in limits.items():
        yield from _named_amount(name, given, f"{path}.limits[{name}]")
    for name, given in requests.items():
        yield from _named_amount(name, given, f"{path}.requests[{name}]")
        yield from _within_limit(name, given, limits.get(name), path)
    listed = {*limits, *requests}
    if any(name.startswith(HUGE_PAGES) for name in listed) and listed.isdisjoint(("cpu", "memory")):
        yield forbidden(path, "HugePages require cpu or memory")


def validate_overhead(overhead: Resources, path: str) -> Causes:
    """Pod overhead, checked like limits."""
    return validate_requirements({"limits": overhead}, path)


def validate_amount(name: str, given: Any, path: str) -> Causes:
    """An amount of a resource: not negative, and an integer for countable resources."""
    nanos = quantity.parse(given).nanos
    if nanos < 0:
        yield invalid(path, given, names.NOT_NEGATIVE)
    if is_counted(name) and quantity.milli(given) % 1000:
        yield invalid(path, given, "must be an integer")


def is_native(name: str) -> bool:
    """Whether Kubernetes itself defines the resource."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended(name: str) -> bool:
    """Whether it is a valid extended resource name: "example.com/gpu"."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_name(f"requests.{name}")


def is_counted(name: str) -> bool:
    """Whether amounts of the resource are integers."""
    return name in _COUNTED or is_extended(name)


def may_be_overcommitted(name: str) -> bool:
    """Whether a limit may be greater than the request."""
    return is_native(name) and not name.startswith(HUGE_PAGES)


def _named_amount(name: str, given: Any, path: str) -> Causes:
    if name not in _OF_CONTAINERS:
        yield from validate_container_resource_name(name, path)
    yield from validate_amount(name, given, path)
    if name.startswith(HUGE_PAGES):
        yield from _whole_pages(name, given, path)


def validate_resource_name(name: str, path: str) -> Causes:
    """A resource that Kubernetes knows, or one with a domain."""
    problems = names.qualified_name(name)
    yield from all_invalid(path, name, problems)
    if "/" not in name and not problems and not is_standard(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def is_standard(name: str) -> bool:
    """Whether Kubernetes knows the resource."""
    return name in _STANDARD or name.startswith(HUGE_PAGES_OF_QUOTAS)


def validate_container_resource_name(name: str, path: str) -> Causes:
    """A resource that containers may request."""
    problems = names.qualified_name(name)
    yield from all_invalid(path, name, problems)
    if "/" in name:
        if not is_native(name) and not is_extended(name):
            yield invalid(path, name, "doesn't follow extended resource name standard")
        return
    if not problems and not is_standard(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")
    if name not in _OF_CONTAINERS and not name.startswith(HUGE_PAGES):
        yield invalid(path, name, "must be a standard resource for containers")


def _whole_pages(name: str, given: Any, path: str) -> Causes:
    try:
        page = quantity.value(name.removeprefix(HUGE_PAGES))
    except quantity.QuantityError:
        page = 0
    if page <= 0 or quantity.value(given) % page:
        yield invalid(path, given, "must be a positive integer multiple of page size")


def _within_limit(name: str, given: Any, limit: Any, path: str) -> Causes:
    fixed = not may_be_overcommitted(name)
    if limit is None:
        if fixed:
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    order = quantity.compare(given, limit)
    if fixed and order != 0:
        yield invalid(f"{path}.requests", given, f"must be equal to {name} limit of {limit}")
    elif order > 0:
        yield invalid(
            f"{path}.requests", given, f"must be less than or equal to {name} limit of {limit}"
        )
