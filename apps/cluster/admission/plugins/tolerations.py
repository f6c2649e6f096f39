"""Plugins PodTolerationRestriction and ExtendedResourceToleration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.admission.draft import Body, forbidden
from apps.cluster.admission.plugins.plugin import (
    AdmissionPlugin,
    Attributes,
    Parameters,
    check_known,
)
from apps.cluster.admission.tolerations import covers, merge
from apps.cluster.pods.qos import qos_class
from apps.cluster.pods.resources import containers
from apps.cluster.validation.causes import Causes, invalid
from apps.cluster.validation.placement import validate_tolerations
from apps.cluster.validation.quantities import is_extended

#: Annotations of a namespace, JSON lists of tolerations; they take precedence over parameters.
DEFAULT: Final = "scheduler.alpha.kubernetes.io/defaultTolerations"
WHITELIST: Final = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_MEMORY_PRESSURE: Final = {
    "key": "node.kubernetes.io/memory-pressure",
    "operator": "Exists",
    "effect": "NoSchedule",
}


def _restrict(pod: Body, request: Attributes, parameters: Parameters) -> None:
    """Add default tolerations and those for the QoS class, and check the whitelist."""
    spec, added = pod["spec"], []
    if request.old is None:
        added += _read_annotation(pod, request, DEFAULT, parameters.get("default") or ())
    if qos_class(spec) != "BestEffort":
        added.append(_MEMORY_PRESSURE)
    given = spec.get("tolerations") or []
    if added:
        spec["tolerations"] = merge(given, added)
    allowed = _read_annotation(pod, request, WHITELIST, parameters.get("whitelist") or ())
    if allowed and not all(
        any(covers(wide, narrow) for wide in allowed) for narrow in spec.get("tolerations") or ()
    ):
        why = (
            "pod tolerations (possibly merged with namespace default tolerations) conflict with "
            "its namespace whitelist"
        )
        raise forbidden("pods", pod["metadata"].get("name", ""), why)


def _read_annotation(
    pod: Body, request: Attributes, annotation: str, otherwise: Sequence[Body]
) -> list[Body]:
    """The tolerations in a namespace's annotation; `otherwise` if it has none."""
    namespace = request.lookups.namespace(pod["metadata"].get("namespace", "")) or {}
    text = ((namespace.get("metadata") or {}).get("annotations") or {}).get(annotation)
    if text is None:
        return list(otherwise)
    try:
        listed = json.loads(text) if text else []
    except ValueError:
        listed = None
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        why = f"the namespace's annotation {annotation} is no list of tolerations"
        raise forbidden("pods", pod["metadata"].get("name", ""), why)
    return [dict(each) for each in listed]


def _check_restriction(parameters: Parameters, path: str) -> Causes:
    known = ("default", "whitelist")
    yield from check_known(parameters, known, path)
    for name in known:
        yield from check_tolerations(parameters.get(name, []), f"{path}.{name}")


def check_tolerations(given: Any, path: str) -> Causes:
    """Check a list of tolerations that is not part of a pod."""
    fields = ("key", "operator", "value", "effect", "tolerationSeconds")
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        yield invalid(path, given, "must be a list of tolerations")
        return
    for index, toleration in enumerate(given):
        yield from check_known(toleration, fields, f"{path}[{index}]")
        seconds = toleration.get("tolerationSeconds")
        texts = [toleration.get(name, "") for name in fields[:-1]]
        if not all(isinstance(text, str) for text in texts) or isinstance(seconds, bool | str):
            yield invalid(f"{path}[{index}]", toleration, "is not a toleration")
            return
    yield from validate_tolerations(given, path)


def _tolerate_extended(pod: Body, request: Attributes, parameters: Parameters) -> None:
    """Tolerate the taints named after the extended resources that the pod requests."""
    asked = {
        name
        for container in containers(pod["spec"])
        for name in (container.get("resources") or {}).get("requests") or {}
        if is_extended(name)
    }
    tolerations = list(pod["spec"].get("tolerations") or [])
    for name in sorted(asked):
        wanted = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
        if wanted not in tolerations:
            tolerations.append(wanted)
    if asked:
        pod["spec"]["tolerations"] = tolerations


POD_TOLERATION_RESTRICTION: Final = AdmissionPlugin(
    name="PodTolerationRestriction",
    about=(
        "Pods that are not BestEffort tolerate memory pressure. Pods get the default tolerations "
        "of their namespace or the cluster, and may only have tolerations on the whitelist."
    ),
    kind="Pod",
    admit=_restrict,
    check=_check_restriction,
    example={"default": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]},
)
EXTENDED_RESOURCE_TOLERATION: Final = AdmissionPlugin(
    name="ExtendedResourceToleration",
    about="A pod that requests example.com/gpu tolerates the taint example.com/gpu:NoSchedule.",
    kind="Pod",
    admit=_tolerate_extended,
)
