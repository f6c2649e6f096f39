"""`matchLabelKeys` and `mismatchLabelKeys`: selectors that depend on the pod's own labels.

The key lists are kept; their requirements are merged into the label selectors, as in the API
server, so that the scheduler only reads selectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Body = dict[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def merge_label_keys(pod: Body) -> None:
    """Add an In or NotIn requirement for every listed key that the pod has as a label."""
    labels = pod["metadata"].get("labels") or {}
    spec = pod["spec"]
    if not labels:
        return
    for term in _affinity_terms(spec.get("affinity") or {}):
        _merge(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge(constraint, labels)


def _affinity_terms(affinity: Mapping[str, Any]) -> Iterator[Body]:
    for name in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(name) or {}
        yield from rules.get(_REQUIRED) or ()
        for weighted in rules.get(_PREFERRED) or ():
            yield weighted.get("podAffinityTerm") or {}


def _merge(term: Body, labels: Mapping[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or ()
        if key in labels
    ]
    if added:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]
