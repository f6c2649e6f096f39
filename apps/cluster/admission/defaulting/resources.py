"""Resource lists: canonical quantities, requests from limits, pod-level resources."""

from __future__ import annotations

from apps import quantity
from apps.cluster.admission.draft import Body, drop_empty
from apps.cluster.pods.resources import (
    HUGE_PAGES,
    POD_LEVEL,
    aggregate,
    format_like_container,
    is_pod_level,
)


def canonicalize(parent: Body, field: str) -> None:
    """Write the quantities of a resource list as Kubernetes does, rounded up to thousandths."""
    listed = parent.get(field)
    if listed is not None:
        parent[field] = {name: quantity.canonical_milli(given) for name, given in listed.items()}


def default_requirements(resources: Body) -> None:
    """Write the requests and limits of a container, pod or claim in canonical form."""
    canonicalize(resources, "requests")
    canonicalize(resources, "limits")
    drop_empty(resources, "requests", "limits", "claims")


def requests_from_limits(resources: Body) -> None:
    """Requests default to limits."""
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **resources.get("requests", {})}


def default_pod_level(spec: Body) -> None:
    """Complete pod-level resources, if the pod has any, from the sums over its containers.

    Limits of containers on huge pages become limits of the pod. If the pod has limits, its requests
    for cpu and memory default to the sum over containers, or to its limits if no container requests
    the resource.
    """
    resources = spec.get("resources")
    if not resources or not (resources.get("limits") or resources.get("requests")):
        return
    limits, requests = dict(resources.get("limits", {})), dict(resources.get("requests", {}))
    for name, nanos in aggregate(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name not in requests:
            limits.setdefault(name, format_like_container(spec, "limits", name, nanos))
    if limits:
        for name, nanos in aggregate(spec, "requests").items():
            if name in POD_LEVEL:
                requests.setdefault(name, format_like_container(spec, "requests", name, nanos))
        for name, given in limits.items():
            if is_pod_level(name):
                requests.setdefault(name, given)
        resources["limits"] = limits
    if requests:
        resources["requests"] = requests
