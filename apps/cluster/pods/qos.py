"""Quality of service classes of pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from apps import quantity
from apps.cluster.pods.resources import Amounts, containers

_COUNTED: Final = ("cpu", "memory")


def qos_class(spec: Mapping[str, Any]) -> str:
    """ "Guaranteed", "Burstable" or "BestEffort", from cpu and memory alone.

    Guaranteed: every container (or the pod as a whole, if specified) has limits for both and equal
    requests. BestEffort: no requests and no limits.
    """
    pod_level = spec.get("resources")
    parts = [pod_level] if pod_level else [c.get("resources") or {} for c in containers(spec)]
    requests, limits = _total(parts, "requests"), _total(parts, "limits")
    if not requests and not limits:
        return "BestEffort"
    limited = all(len(_nonzero_amounts(part, "limits")) == len(_COUNTED) for part in parts)
    return "Guaranteed" if limited and requests == limits else "Burstable"


def _total(parts: Iterable[Mapping[str, Any]], field: str) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, nanos in _nonzero_amounts(part, field).items():
            total[name] = total.get(name, 0) + nanos
    return total


def _nonzero_amounts(part: Mapping[str, Any], field: str) -> Amounts:
    """The cpu and memory amounts that are not zero."""
    given = part.get(field) or {}
    amounts = {name: quantity.parse(given[name]).nanos for name in _COUNTED if name in given}
    return {name: nanos for name, nanos in amounts.items() if nanos > 0}
