"""Eviction thresholds of a node: its annotations in the syntax of the kubelet's flags.

    eviction-hard                        memory.available<500Mi,nodefs.available<10%
    eviction-soft                        memory.available<1Gi
    eviction-soft-grace-period           memory.available=1m30s
    eviction-minimum-reclaim             memory.available=256Mi
    eviction-max-pod-grace-period        30
    eviction-pressure-transition-period  5m

All have the prefix `kubelet.schedweb.dev/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from apps import quantity
from apps.controllers.kubelet.annotations import seconds

_PREFIX: Final = "kubelet.schedweb.dev/eviction-"
HARD: Final = f"{_PREFIX}hard"
SOFT: Final = f"{_PREFIX}soft"
SOFT_GRACE: Final = f"{_PREFIX}soft-grace-period"
#: Signal -> the resource that is short, and the node's condition, in the order of eviction.
SIGNALS: Final[Mapping[str, tuple[str, str]]] = {
    "memory.available": ("memory", "MemoryPressure"),
    "nodefs.available": ("ephemeral-storage", "DiskPressure"),
    "pid.available": ("pids", "PIDPressure"),
}
#: The kubelet's default.
_DEFAULT: Final = "memory.available<100Mi,nodefs.available<10%"
_TRANSITION_SECONDS: Final = 300.0
_NANO: Final = 10**9


@dataclass(frozen=True, slots=True)
class Amount:
    """Bytes or processes, or a share of the capacity."""

    value: float
    is_share: bool = False

    def of(self, capacity: float) -> float:
        return self.value * capacity if self.is_share else self.value


@dataclass(frozen=True, slots=True)
class Threshold:
    """Evict when less than `limit` is available, for `grace` seconds; None: a hard threshold."""

    signal: str
    limit: Amount
    grace: float | None = None
    #: how much more has to be available before the threshold is no longer met
    reclaim: Amount = Amount(0.0)

    @property
    def resource(self) -> str:
        return SIGNALS[self.signal][0]

    @property
    def condition(self) -> str:
        return SIGNALS[self.signal][1]

    def is_met(self, available: float, capacity: float, *, was_met: bool) -> bool:
        limit = self.limit.of(capacity) + (self.reclaim.of(capacity) if was_met else 0.0)
        return available < limit


@dataclass(frozen=True, slots=True)
class EvictionPolicy:
    """When the kubelet of a node evicts pods. Invalid parts of an annotation are ignored."""

    thresholds: tuple[Threshold, ...]
    #: the longest time in seconds that a pod has to stop at a soft threshold
    max_pod_grace: float
    #: how long a condition stays True after its last threshold was met, in seconds
    transition: float

    @classmethod
    def of(cls, annotations: Mapping[str, str]) -> EvictionPolicy:
        graces = dict(_pairs(annotations.get(SOFT_GRACE, ""), "="))
        reclaims = dict(_pairs(annotations.get(f"{_PREFIX}minimum-reclaim", ""), "="))
        hard = _pairs(annotations.get(HARD, _DEFAULT), "<")
        soft = _pairs(annotations.get(SOFT, ""), "<")
        thresholds = [_threshold(*each, None, reclaims) for each in hard]
        for signal, limit in soft:
            grace = seconds(graces.get(signal))
            # as in the kubelet, a soft threshold needs a grace period
            if grace is not None:
                thresholds.append(_threshold(signal, limit, grace, reclaims))
        transition = seconds(annotations.get(f"{_PREFIX}pressure-transition-period"))
        return cls(
            tuple(sorted(filter(None, thresholds), key=lambda each: [*SIGNALS].index(each.signal))),
            seconds(annotations.get(f"{_PREFIX}max-pod-grace-period")) or 0.0,
            _TRANSITION_SECONDS if transition is None else transition,
        )


@dataclass(slots=True)
class NodePressure:
    """What the kubelet of a node remembers; like a real one, it forgets it when it restarts."""

    #: threshold -> since when it has been met
    met_since: dict[Threshold, datetime] = field(default_factory=dict)
    #: condition -> when one of its thresholds was last met
    last_met: dict[str, datetime] = field(default_factory=dict)
    evicted_at: datetime | None = None
    #: uid of the pod that is being stopped -> when it ends
    stopping: dict[str, datetime] = field(default_factory=dict)


def find_problem(text: str, sign: str) -> str:
    """Why a list of thresholds (sign "<") or of grace periods ("=") is invalid; "" if it is not."""
    for part in text.split(","):
        signal, separator, value = (each.strip() for each in part.partition(sign))
        if not separator or signal not in SIGNALS:
            return f"{part.strip()!r} is not SIGNAL{sign}VALUE; signals are {', '.join(SIGNALS)}"
        if sign == "=" and seconds(value) is None:
            return f"{value!r} is not a duration such as 1m30s"
        if sign == "<" and _parse_amount(value) is None:
            return f"{value!r} is neither a quantity nor a percentage"
    return ""


def _pairs(text: str, sign: str) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        signal, separator, value = part.partition(sign)
        if separator and signal.strip() in SIGNALS:
            yield signal.strip(), value.strip()


def _threshold(
    signal: str, limit: str, grace: float | None, reclaims: Mapping[str, str]
) -> Threshold | None:
    amount = _parse_amount(limit)
    reclaim = _parse_amount(reclaims.get(signal, "0")) or Amount(0.0)
    return Threshold(signal, amount, grace, reclaim) if amount is not None else None


def _parse_amount(text: str) -> Amount | None:
    """A quantity or a percentage; None for anything else."""
    try:
        if text.endswith("%"):
            return Amount(float(text[:-1]) / 100, True)
        nanos = quantity.parse(text).nanos
    except (ValueError, quantity.QuantityError):
        return None
    return Amount(nanos / _NANO) if nanos >= 0 else None
