"""Requests of pods and allocatable resources of nodes, as integers for the columns that pages sum.

The formula equals the scheduler's (`apps.scheduler.framework.resources`, which this app may not
import; a test compares the two), except that a resize in progress counts as completed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal

from apps import quantity

Body = Mapping[str, Any]
#: resource name -> milli-CPU for "cpu", bytes or whole units for everything else
Amounts = dict[str, int]

Side = Literal["requests", "limits"]

_NANO = 10**9


def pod_requests(pod: Body) -> Amounts:
    """The larger of all containers with sidecars and any init step; pod-level values; overhead."""
    spec = pod.get("spec") or {}
    total = _total(spec, "requests")
    _add(total, _nanos(spec.get("overhead")))
    return _round_up(total)


def pod_limits(pod: Body) -> Amounts:
    """The same for limits; overhead is added only to existing limits."""
    spec = pod.get("spec") or {}
    total = _total(spec, "limits")
    overhead = _nanos(spec.get("overhead"))
    _add(total, {name: nanos for name, nanos in overhead.items() if total.get(name)})
    return _round_up(total)


def node_allocatable(node: Body) -> Amounts:
    """The node's allocatable resources, "pods" included."""
    return _round_up(_nanos((node.get("status") or {}).get("allocatable")))


def node_ready(node: Body) -> bool:
    """Whether the node's Ready condition is true."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _total(spec: Body, side: Side) -> dict[str, int]:
    """Containers, init steps and pod-level values, without overhead."""
    total: dict[str, int] = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts(container, side))
    _cover_init_steps(total, spec.get("initContainers") or (), side)
    for name, nanos in _amounts(spec, side).items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            total[name] = nanos
    return total


def _cover_init_steps(total: dict[str, int], containers: Iterable[Body], side: Side) -> None:
    """Init containers run one by one, each beside the sidecars started before it."""
    sidecars: dict[str, int] = {}
    greatest: dict[str, int] = {}
    for container in containers:
        step = _amounts(container, side)
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


def _amounts(holder: Body, side: Side) -> dict[str, int]:
    return _nanos((holder.get("resources") or {}).get(side))


def _nanos(listed: Body | None) -> dict[str, int]:
    """The quantities in 10⁻⁹ units. Validation rejects invalid quantities.

    Any that remain count as zero.
    """
    amounts = {}
    for name, amount in (listed or {}).items():
        with suppress(quantity.QuantityError):
            amounts[name] = quantity.parse(amount).nanos
    return amounts


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, nanos in amounts.items():
        total[name] = total.get(name, 0) + nanos


def _round_up(total: Mapping[str, int]) -> Amounts:
    return {
        name: min(-(-nanos // (_NANO // 1000 if name == "cpu" else _NANO)), quantity.MAX_VALUE)
        for name, nanos in total.items()
    }
