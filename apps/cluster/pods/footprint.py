"""What a pod asks for and what a node offers, as whole numbers for the columns that pages sum.

The same formula as the scheduler's own (`apps.scheduler.framework.resources`, which this room may
not import; a test holds the two together), but for a resize in progress, which counts as wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal

from apps.scheduler import quantity

Body = Mapping[str, Any]
#: resource name -> milli-CPU for "cpu", bytes or whole units for everything else
Amounts = dict[str, int]

Side = Literal["requests", "limits"]

_NANO = 10**9


def pod_requests(pod: Body) -> Amounts:
    """Containers and sidecars together, or the greediest init step; pod level; overhead."""
    spec = pod.get("spec") or {}
    total = _total(spec, "requests")
    _add(total, _nanos(spec.get("overhead")))
    return _rounded(total)


def pod_limits(pod: Body) -> Amounts:
    """The same of limits; overhead raises a limit that there is, and makes none."""
    spec = pod.get("spec") or {}
    total = _total(spec, "limits")
    overhead = _nanos(spec.get("overhead"))
    _add(total, {name: nanos for name, nanos in overhead.items() if total.get(name)})
    return _rounded(total)


def node_allocatable(node: Body) -> Amounts:
    """What the node offers to pods, "pods" included."""
    return _rounded(_nanos((node.get("status") or {}).get("allocatable")))


def node_ready(node: Body) -> bool:
    """Whether the node's Ready condition says so."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _total(spec: Body, side: Side) -> dict[str, int]:
    """Containers, init steps and the pod's own, overhead left out."""
    total: dict[str, int] = {}
    for container in spec.get("containers") or ():
        _add(total, _listed(container, side))
    _cover_init_steps(total, spec.get("initContainers") or (), side)
    for name, nanos in _listed(spec, side).items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            total[name] = nanos
    return total


def _cover_init_steps(total: dict[str, int], containers: Iterable[Body], side: Side) -> None:
    """Init containers run one by one, each beside the sidecars started before it."""
    sidecars: dict[str, int] = {}
    greatest: dict[str, int] = {}
    for container in containers:
        step = _listed(container, side)
        if container.get("restartPolicy") == "Always":
            _add(total, step)
            _add(sidecars, step)
            step = sidecars
        else:
            _add(step, sidecars)
        for name, nanos in step.items():
            greatest[name] = max(nanos, greatest.get(name, 0))
    for name, nanos in greatest.items():
        total[name] = max(nanos, total.get(name, 0))


def _listed(holder: Body, side: Side) -> dict[str, int]:
    return _nanos((holder.get("resources") or {}).get(side))


def _nanos(listed: Body | None) -> dict[str, int]:
    """10⁻⁹ units. Validation refuses what is no quantity; should it pass one, it counts nothing."""
    amounts = {}
    for name, amount in (listed or {}).items():
        with suppress(quantity.QuantityError):
            amounts[name] = quantity.parse(amount).nanos
    return amounts


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, nanos in amounts.items():
        total[name] = total.get(name, 0) + nanos


def _rounded(total: Mapping[str, int]) -> Amounts:
    return {
        name: min(-(-nanos // (_NANO // 1000 if name == "cpu" else _NANO)), quantity.MAX_VALUE)
        for name, nanos in total.items()
    }
