"""Converts HorizontalPodAutoscalers between autoscaling/v2, the stored form, and autoscaling/v1.

autoscaling/v1 has one target, the utilization of cpu. As in an API server, annotations have what
v1 has no fields for: other metrics, the behavior, and the conditions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

Body = dict[str, Any]

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
_METRICS: Final = f"{_PREFIX}metrics"
_BEHAVIOR: Final = f"{_PREFIX}behavior"
_CONDITIONS: Final = f"{_PREFIX}conditions"
_TARGET: Final = "targetCPUUtilizationPercentage"
_CURRENT: Final = "currentCPUUtilizationPercentage"
_TYPES: Final = {
    "averageUtilization": "Utilization",
    "averageValue": "AverageValue",
    "value": "Value",
}
#: Type of a metric -> its field in the annotation -> the path in autoscaling/v2.
_FIELDS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "Resource": {
        "name": ("name",),
        "targetAverageUtilization": ("target", "averageUtilization"),
        "targetAverageValue": ("target", "averageValue"),
    },
    "ContainerResource": {
        "name": ("name",),
        "container": ("container",),
        "targetAverageUtilization": ("target", "averageUtilization"),
        "targetAverageValue": ("target", "averageValue"),
    },
    "Pods": {
        "metricName": ("metric", "name"),
        "selector": ("metric", "selector"),
        "targetAverageValue": ("target", "averageValue"),
    },
    "Object": {
        "target": ("describedObject",),
        "metricName": ("metric", "name"),
        "selector": ("metric", "selector"),
        "targetValue": ("target", "value"),
        "averageValue": ("target", "averageValue"),
    },
    "External": {
        "metricName": ("metric", "name"),
        "metricSelector": ("metric", "selector"),
        "targetValue": ("target", "value"),
        "targetAverageValue": ("target", "averageValue"),
    },
}


def to_v1(autoscaler: Body) -> Body:
    """A stored autoscaler as autoscaling/v1."""
    spec, status = dict(autoscaler.get("spec") or {}), dict(autoscaler.get("status") or {})
    notes: Body = {}
    others = []
    for metric in spec.pop("metrics", None) or ():
        target = _cpu_target(metric)
        if target is not None and _TARGET not in spec:
            spec[_TARGET] = target
        else:
            others.append(_to_annotation(metric))
    if others:
        notes[_METRICS] = json.dumps(others)
    if behavior := spec.pop("behavior", None):
        notes[_BEHAVIOR] = json.dumps(behavior)
    if conditions := status.pop("conditions", None):
        notes[_CONDITIONS] = json.dumps(conditions)
    for metric in status.pop("currentMetrics", None) or ():
        resource = metric.get("resource") or {}
        if resource.get("name") == "cpu" and "averageUtilization" in resource.get("current", {}):
            status[_CURRENT] = resource["current"]["averageUtilization"]
    status.setdefault("currentReplicas", 0)
    converted = {**autoscaler, "apiVersion": "autoscaling/v1", "spec": spec, "status": status}
    if notes:
        metadata = autoscaler["metadata"]
        annotations = {**(metadata.get("annotations") or {}), **notes}
        converted["metadata"] = {**metadata, "annotations": annotations}
    return converted


def from_v1(autoscaler: Body) -> Body:
    """An autoscaling/v1 autoscaler in stored form."""
    converted = {**autoscaler, "apiVersion": "autoscaling/v2"}
    metrics, behavior = [], None
    if "metadata" in autoscaler:
        metadata = dict(autoscaler["metadata"])
        annotations = dict(metadata.get("annotations") or {})
        annotations.pop(_CONDITIONS, None)
        metrics = [_from_annotation(each) for each in _read(annotations.pop(_METRICS, ""), list)]
        behavior = _read(annotations.pop(_BEHAVIOR, ""), dict)
        if metadata.pop("annotations", None) is not None and annotations:
            metadata["annotations"] = annotations
        converted["metadata"] = metadata
    if "spec" in autoscaler:
        spec = dict(autoscaler["spec"])
        target = spec.pop(_TARGET, None)
        if target is not None:
            metrics.insert(0, _cpu_metric("target", "Utilization", target))
        if metrics:
            spec["metrics"] = metrics
        if behavior:
            spec["behavior"] = behavior
        converted["spec"] = spec
    if "status" in autoscaler:
        status = dict(autoscaler["status"])
        current = status.pop(_CURRENT, None)
        if current is not None:
            status["currentMetrics"] = [_cpu_metric("current", "", current)]
        converted["status"] = status
    return converted


def _cpu_metric(field: str, type_: str, utilization: int) -> Body:
    amount = {**({"type": type_} if type_ else {}), "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", field: amount}}


def _cpu_target(metric: Body) -> int | None:
    """The target of a metric that autoscaling/v1 has a field for."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    utilization: int | None = (resource.get("target") or {}).get("averageUtilization")
    return utilization


def _source(type_: str) -> str:
    """The field of a metric that belongs to its type: `containerResource`."""
    return type_[:1].lower() + type_[1:]


def _to_annotation(metric: Body) -> Body:
    type_ = metric.get("type", "")
    source = metric.get(_source(type_)) or {}
    return {"type": type_, _source(type_): dict(_flattened(type_, source))}


def _flattened(type_: str, source: Body) -> Iterator[tuple[str, Any]]:
    for name, path in _FIELDS.get(type_, {}).items():
        value: Any = source
        for step in path:
            value = (value or {}).get(step)
        if value is not None:
            yield name, value


def _from_annotation(metric: Body) -> Body:
    type_ = str(metric.get("type", ""))
    given = metric.get(_source(type_)) or {}
    source: Body = {}
    for name, path in _FIELDS.get(type_, {}).items():
        if name in given:
            holder = source
            for step in path[:-1]:
                holder = holder.setdefault(step, {})
            holder[path[-1]] = given[name]
    target = source.setdefault("target", {})
    target["type"] = next((_TYPES[field] for field in _TYPES if field in target), "")
    return {"type": type_, _source(type_): source}


def _read(text: str, expected: type[list[Any]] | type[dict[str, Any]]) -> Any:
    """The value of an annotation; empty if it is not what v1 clients write there."""
    try:
        value = json.loads(text) if text else expected()
    except ValueError:
        return expected()
    items = value if isinstance(value, list) else ()
    valid = isinstance(value, expected) and all(isinstance(item, dict) for item in items)
    return value if valid else expected()
