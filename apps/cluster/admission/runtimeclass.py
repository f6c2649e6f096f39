"""Runtime classes (plugin RuntimeClass): what they add to a pod's resources and placement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps import quantity
from apps.cluster.admission.draft import Body, forbidden
from apps.cluster.admission.tolerations import merge
from apps.cluster.lookups import Lookups


def apply_runtime_class(pod: Body, lookups: Lookups) -> None:
    """Give a new pod its runtime class's overhead, node selector and tolerations.

    Forbidden if the class is unknown or conflicts with the pod.
    """
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    runtime_class: Mapping[str, Any] = {}
    if name is not None:
        known = lookups.runtime_class(name)
        if known is None:
            raise _refuse(pod, f'pod rejected: RuntimeClass "{name}" not found')
        runtime_class = known
    _set_overhead(pod, runtime_class.get("overhead"))
    scheduling = runtime_class.get("scheduling")
    if scheduling is not None:
        _set_scheduling(pod, scheduling)


def _set_overhead(pod: Body, overhead: Mapping[str, Any] | None) -> None:
    given = pod["spec"].get("overhead")
    if overhead is None:
        if given is not None:
            raise _refuse(
                pod,
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined "
                "Overhead",
            )
        return
    fixed = overhead.get("podFixed") or {}
    if given is not None and not _same_amounts(given, fixed):
        raise _refuse(
            pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        )
    pod["spec"]["overhead"] = dict(fixed)


def _set_scheduling(pod: Body, scheduling: Mapping[str, Any]) -> None:
    spec = pod["spec"]
    selector = spec.get("nodeSelector") or {}
    wanted: Mapping[str, str] = scheduling.get("nodeSelector") or {}
    for key, value in wanted.items():
        if selector.get(key, value) != value:
            raise _refuse(
                pod,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
    if wanted:
        spec["nodeSelector"] = {**selector, **wanted}
    tolerations = merge(spec.get("tolerations") or [], scheduling.get("tolerations") or [])
    if tolerations:
        spec["tolerations"] = tolerations


def _same_amounts(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    return left.keys() == right.keys() and all(
        quantity.compare(left[name], right[name]) == 0 for name in left
    )


def _refuse(pod: Body, why: str) -> Exception:
    return forbidden("pods", pod["metadata"].get("name", ""), why)
