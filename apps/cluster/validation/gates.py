"""The feature gates under which the API server of a cluster validates an object."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

Body = Mapping[str, Any]

#: Tolerations may have the operators Lt and Gt.
COMPARISONS: Final = "TaintTolerationComparisonOperators"
#: The gates that validation reads. `Cluster.api_gates` has those of them that are on.
API_GATES: Final = (COMPARISONS,)
COMPARING_OPERATORS: Final = ("Lt", "Gt")

_enabled: ContextVar[Collection[str]] = ContextVar("api_gates", default=())


@contextmanager
def use_gates(enabled: Collection[str], old: Body | None) -> Iterator[None]:
    """Validate with these gates on; an update may keep using what `old` uses already."""
    if old is not None and COMPARISONS not in enabled and _has_comparisons(old):
        enabled = (*enabled, COMPARISONS)
    token = _enabled.set(enabled)
    try:
        yield
    finally:
        _enabled.reset(token)


def is_enabled(gate: str) -> bool:
    return gate in _enabled.get()


def _has_comparisons(old: Body) -> bool:
    """Whether a pod, the template of a workload or a RuntimeClass has such tolerations."""
    spec = old.get("spec") or {}
    template = (spec.get("template") or {}).get("spec") or {}
    parts = (spec, template, old.get("scheduling") or {})
    tolerations = (each for part in parts for each in part.get("tolerations") or ())
    return any(each.get("operator") in COMPARING_OPERATORS for each in tolerations)
