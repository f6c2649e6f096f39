"""HorizontalPodAutoscalers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.references import validate_reference
from apps.quantity import parse

Body = Mapping[str, Any]

_NOT_POSITIVE: Final = "must be greater than 0"
_SOURCES: Final = ("ContainerResource", "External", "Object", "Pods", "Resource")
_FIELDS: Final = {kind: kind[0].lower() + kind[1:] for kind in _SOURCES}
_TARGETS: Final = ("Utilization", "Value", "AverageValue")
_SELECTIONS: Final = ("Disabled", "Max", "Min")
_POLICY_TYPES: Final = ("Percent", "Pods")
_LONGEST_WINDOW: Final = 3600
_LONGEST_PERIOD: Final = 1800
_NO_SOURCE: Final = "must populate information for the given metric source"
_NO_GROUP: Final = "apiVersion must specify API group"
_CORE_TARGET: Final = ("v1", "ReplicationController")
#: What is measured also without pods.
_TO_ZERO: Final = ("Object", "External")
_OTHER_SOURCE: Final = "must populate the given metric source only"


def validate_autoscaler(autoscaler: Body) -> Causes:
    """A HorizontalPodAutoscaler."""
    spec = autoscaler["spec"]
    least, most = spec["minReplicas"], spec.get("maxReplicas", 0)
    if least < 1:
        yield invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if not most:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 1:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    yield from _target_reference(spec.get("scaleTargetRef") or {}, "spec.scaleTargetRef")
    for index, metric in enumerate(spec.get("metrics") or ()):
        yield from _metric(metric, f"spec.metrics[{index}]")
    behavior = spec.get("behavior") or {}
    for direction in ("scaleUp", "scaleDown"):
        if behavior.get(direction) is not None:
            yield from _scaling(behavior[direction], f"spec.behavior.{direction}")
    if least == 0 and not any(each.get("type") in _TO_ZERO for each in spec.get("metrics") or ()):
        why = "must specify at least one Object or External metric to support scaling to zero"
        yield forbidden("spec.metrics", f"{why} replicas")


def _target_reference(reference: Body, path: str) -> Causes:
    yield from validate_reference(reference, path)
    version = reference.get("apiVersion", "")
    if version.find("/") < 1 and (version, reference.get("kind")) != _CORE_TARGET:
        yield invalid(f"{path}.apiVersion", version, _NO_GROUP)


def _metric(metric: Body, path: str) -> Causes:
    kind = metric.get("type", "")
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        yield not_supported(f"{path}.type", kind, _SOURCES)
    wanted = _FIELDS.get(kind, kind.lower())
    given = [field for field in _FIELDS.values() if metric.get(field) is not None]
    if given:
        yield from _source(given[0], metric[given[0]], f"{path}.{given[0]}")
    if wanted not in given:
        yield required(f"{path}.{wanted}", _NO_SOURCE)
    if len(given) != 1:
        for field in given:
            if field != wanted:
                yield forbidden(f"{path}.{field}", _OTHER_SOURCE)


def _source(field: str, source: Body, path: str) -> Causes:
    target = source.get("target") or {}
    if field == "object":
        yield from validate_reference(
            source.get("describedObject") or {}, f"{path}.describedObject"
        )
    if field in ("object", "external", "pods"):
        yield from _identifier(source.get("metric") or {}, f"{path}.metric")
    elif not source.get("name"):
        yield required(f"{path}.name", "must specify a resource name")
    if field == "containerResource" and not source.get("container"):
        yield required(f"{path}.container", "must specify a container")
    yield from _target(target, f"{path}.target")
    yield from _amounts(field, target, f"{path}.target")


def _identifier(metric: Body, path: str) -> Causes:
    name = metric.get("name", "")
    if not name:
        yield required(f"{path}.name", "must specify a metric name")
    else:
        yield from all_invalid(f"{path}.name", name, names.path_segment(name))


def _target(target: Body, path: str) -> Causes:
    kind = target.get("type", "")
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    elif kind not in _TARGETS:
        yield invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        if target.get(field) is not None and not _is_positive(target[field]):
            yield invalid(f"{path}.{field}", str(target[field]), "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        yield invalid(f"{path}.averageUtilization", share, _NOT_POSITIVE)


def _amounts(field: str, target: Body, path: str) -> Causes:
    """Which of the amounts a target of this source has."""
    given = {name for name in ("value", "averageValue", "averageUtilization") if name in target}
    average = f"{path}.averageValue"
    if field == "object" and not given & {"value", "averageValue"}:
        yield required(average, "must set either a target value or averageValue")
    elif field == "pods" and not ("averageValue" in given and _is_positive(target["averageValue"])):
        yield required(average, "must specify a positive target averageValue")
    elif field == "external":
        if not given & {"value", "averageValue"}:
            detail = "must set either a target value for metric or a per-pod target"
            yield required(average, detail)
        elif given >= {"value", "averageValue"}:
            detail = "may not set both a target value for metric and a per-pod target"
            yield forbidden(f"{path}.value", detail)
    elif field in ("resource", "containerResource"):
        if not given & {"averageValue", "averageUtilization"}:
            detail = "must set either a target raw value or a target utilization"
            yield required(f"{path}.averageUtilization", detail)
        elif given >= {"averageValue", "averageUtilization"}:
            detail = "may not set both a target raw value and a target utilization"
            yield forbidden(average, detail)


def _is_positive(amount: Any) -> bool:
    return parse(amount).nanos > 0


def _scaling(rules: Body, path: str) -> Causes:
    window = rules.get("stabilizationWindowSeconds")
    at = f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        yield invalid(at, window, "must be greater than or equal to zero")
    elif window is not None and window > _LONGEST_WINDOW:
        yield invalid(at, window, f"must be less than or equal to {_LONGEST_WINDOW}")
    selection = rules.get("selectPolicy")
    if selection is not None and selection not in _SELECTIONS:
        yield not_supported(f"{path}.selectPolicy", selection, _SELECTIONS)
    policies = rules.get("policies") or ()
    if not policies:
        yield required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies):
        yield from _policy(policy, f"{path}.policies[{index}]")


def _policy(policy: Body, path: str) -> Causes:
    if policy.get("type") not in _POLICY_TYPES:
        yield not_supported(f"{path}.type", policy.get("type", ""), _POLICY_TYPES)
    for field in ("value", "periodSeconds"):
        amount = policy.get(field, 0)
        if amount <= 0:
            yield invalid(f"{path}.{field}", amount, "must be greater than zero")
        elif field == "periodSeconds" and amount > _LONGEST_PERIOD:
            detail = f"must be less than or equal to {_LONGEST_PERIOD}"
            yield invalid(f"{path}.{field}", amount, detail)
