"""PriorityClasses and RuntimeClasses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.system_classes import SYSTEM_CLASSES
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    required,
)
from apps.cluster.validation.metadata import validate_labels
from apps.cluster.validation.placement import validate_tolerations
from apps.cluster.validation.pods import validate_preemption_policy
from apps.cluster.validation.quantities import validate_overhead

Body = Mapping[str, Any]

_HIGHEST: Final = 1_000_000_000
_SYSTEM: Final = "system-"
_IMMUTABLE: Final = "field is immutable"


def validate_priority_class(priority_class: Body) -> Causes:
    """A PriorityClass: system names and the highest values are reserved."""
    name = priority_class["metadata"].get("name", "")
    if name.startswith(_SYSTEM):
        why = _system_class_mismatch(name, priority_class)
        if why:
            yield forbidden(
                "metadata.name",
                f"priority class names with '{_SYSTEM}' prefix are reserved for system use only. "
                f"error: {why}",
            )
    elif priority_class.get("value", 0) > _HIGHEST:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}")
    yield from validate_preemption_policy(
        priority_class.get("preemptionPolicy"), "preemptionPolicy"
    )


def validate_priority_class_update(priority_class: Body, old: Body) -> Causes:
    """Value and preemption policy are immutable, because pods have copies of them."""
    if priority_class.get("value", 0) != old.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    policy = priority_class.get("preemptionPolicy")
    if policy != old.get("preemptionPolicy"):
        yield invalid("preemptionPolicy", policy, _IMMUTABLE)


def validate_runtime_class(runtime_class: Body) -> Causes:
    """A RuntimeClass."""
    handler = runtime_class.get("handler", "")
    if not handler:
        yield required("handler")
    else:
        yield from all_invalid("handler", handler, names.dns_label(handler))
    overhead = runtime_class.get("overhead", {}).get("podFixed")
    if overhead:
        yield from validate_overhead(overhead, "overhead")
    scheduling = runtime_class.get("scheduling", {})
    yield from validate_labels(scheduling.get("nodeSelector", {}), "scheduling.nodeSelector")
    yield from validate_tolerations(scheduling.get("tolerations", ()), "scheduling.tolerations")


def validate_runtime_class_update(runtime_class: Body, old: Body) -> Causes:
    """The handler is immutable."""
    handler = runtime_class.get("handler")
    if handler != old.get("handler"):
        yield invalid("handler", handler, _IMMUTABLE)


def _system_class_mismatch(name: str, priority_class: Body) -> str:
    """How a class differs from the system class with its name; empty if it does not."""
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    value = SYSTEM_CLASSES[name][0]
    if priority_class.get("value", 0) != value:
        return f"value of {name} PriorityClass must be {value}"
    if priority_class.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return ""
