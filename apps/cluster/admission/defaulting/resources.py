"""Resource lists: canonical quantities, requests from limits, pod-level resources."""

from __future__ import annotations

from apps.cluster.admission.draft import Body, drop_empty
from apps.cluster.pods.resources import HUGE_PAGES, POD_LEVEL, aggregate, is_pod_level, text
from apps.scheduler import quantity


def canonicalize(parent: Body, field: str) -> None:
    """Write the quantities of a resource list as Kubernetes does, rounded up to thousandths."""
    listed = parent.get(field)
    if listed is not None:
        parent[field] = {name: quantity.canonical_milli(given) for name, given in listed.items()}


def default_requirements(resources: Body) -> None:
    """Make the requests and limits of a container, pod or claim canonical."""
    canonicalize(resources, "requests")
    canonicalize(resources, "limits")
    drop_empty(resources, "requests", "limits", "claims")


def requests_from_limits(resources: Body) -> None:
    """A container that limits a resource and requests none of it requests what it limits."""
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **resources.get("requests", {})}


def default_pod_level(spec: Body) -> None:
    """Complete pod-level resources, if the pod has any, from the sums over its containers.

    Huge pages limited by containers are limited by the pod. If the pod limits something, what its
    containers request of cpu and memory becomes its request, and what they do not request is
    requested as limited.
    """
    resources = spec.get("resources")
    if not resources or not (resources.get("limits") or resources.get("requests")):
        return
    limits, requests = dict(resources.get("limits", {})), dict(resources.get("requests", {}))
    for name, nanos in aggregate(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name not in requests:
            limits.setdefault(name, text(spec, "limits", name, nanos))
    if limits:
        for name, nanos in aggregate(spec, "requests").items():
            if name in POD_LEVEL:
                requests.setdefault(name, text(spec, "requests", name, nanos))
        for name, given in limits.items():
            if is_pod_level(name):
                requests.setdefault(name, given)
        resources["limits"] = limits
    if requests:
        resources["requests"] = requests
