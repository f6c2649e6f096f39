"""Which taints a pod tolerates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from apps.scheduler.labels import parse_int64
from apps.scheduler.objects import Taint, Toleration

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
#: the taint that a cordoned node counts as having
UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether this toleration covers the taint; an empty effect or key covers any."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt":
            return _compare(taint, toleration, lambda value, bound: value < bound)
        case "Gt":
            return _compare(taint, toleration, lambda value, bound: value > bound)
        case _:
            return False


def is_tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether any of the tolerations covers the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def has_untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> bool:
    """Whether some taint with effect NoSchedule or NoExecute is not tolerated."""
    return any(
        taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not is_tolerated(tolerations, taint)
        for taint in taints
    )


def _compare(taint: Taint, toleration: Toleration, holds: Callable[[int, int], bool]) -> bool:
    value, bound = _parse(taint.value), _parse(toleration.value)
    return value is not None and bound is not None and holds(value, bound)


def _parse(text: str) -> int | None:
    """A 64-bit integer in its canonical form: neither "+5" nor "05"."""
    number = parse_int64(text)
    return number if str(number) == text else None
