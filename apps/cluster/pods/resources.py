"""Sums over the containers of a pod, for pod-level defaults, their validation and QoS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from apps import quantity

Body = Mapping[str, Any]
#: resource → amount in 10⁻⁹ units
Amounts = dict[str, int]

#: What spec.resources may specify, in addition to huge pages.
POD_LEVEL: Final = ("cpu", "memory")
HUGE_PAGES: Final = "hugepages-"


def is_pod_level(resource: str) -> bool:
    """Whether a resource may be specified at pod level."""
    return resource in POD_LEVEL or resource.startswith(HUGE_PAGES)


def containers(spec: Body) -> Iterator[Body]:
    """Init containers, then containers."""
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def aggregate(spec: Body, field: Literal["requests", "limits"]) -> Amounts:
    """The largest simultaneous use: the running containers together, or the largest init step.

    Containers and sidecars (init containers with restartPolicy Always) run together; an init
    container runs with the sidecars that started before it.
    """
    running = _sum(_amounts(c, field) for c in spec.get("containers") or ())
    sidecars: Amounts = {}
    steps: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, field)
        if container.get("restartPolicy") == "Always":
            running, sidecars = _sum((running, amounts)), _sum((sidecars, amounts))
            step = sidecars
        else:
            step = _sum((sidecars, amounts))
        steps = {name: max(steps.get(name, 0), step.get(name, 0)) for name in {**steps, **step}}
    return {name: max(running.get(name, 0), steps.get(name, 0)) for name in {**running, **steps}}


def format_like_container(
    spec: Body, field: Literal["requests", "limits"], resource: str, nanos: int
) -> str:
    """`nanos` of a resource, formatted like the first container that specifies it."""
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        given = ((container.get("resources") or {}).get(field) or {}).get(resource)
        if given is not None and quantity.parse(given).nanos:
            return quantity.format_nanos(nanos, quantity.parse(given).format)
    return quantity.format_nanos(nanos)


def _amounts(container: Body, field: str) -> Amounts:
    resources = (container.get("resources") or {}).get(field) or {}
    return {name: quantity.parse(given).nanos for name, given in resources.items()}


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, nanos in part.items():
            total[name] = total.get(name, 0) + nanos
    return total
