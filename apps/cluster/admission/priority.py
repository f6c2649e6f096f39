"""Priorities (plugin Priority): pods get theirs from a class; one class can be the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.admission.draft import Body, forbidden
from apps.cluster.lookups import Lookups
from apps.cluster.system_classes import GROUP

_NO_CLASS: Final[Mapping[str, Any]] = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
#: The letters that complete a generated name.
_GENERATED: Final = 5


def set_priority(pod: Body, lookups: Lookups) -> None:
    """Set spec.priority and spec.preemptionPolicy of a new pod from its class.

    Forbidden if the class is unknown, or if the pod specifies other values.
    """
    spec = pod["spec"]
    chosen = _class_of(pod, lookups)
    value, policy = chosen.get("value", 0), chosen.get("preemptionPolicy")
    if spec.get("priority", value) != value:
        raise _refuse(
            pod,
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name",
        )
    spec["priority"] = value
    if not policy:
        return
    if spec.get("preemptionPolicy", policy) != policy:
        raise _refuse(
            pod,
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be "
            f"provided in pod spec; priority admission controller computed {policy} from the given "
            "PriorityClass name",
        )
    spec["preemptionPolicy"] = policy


def set_group_priority(group: Body, lookups: Lookups) -> None:
    """Set spec.priority of a new PodGroup from its class.

    Forbidden if the class is unknown, or if the group specifies another value.
    """
    spec = group["spec"]
    name, given = spec.get("priorityClassName"), spec.get("priority")
    chosen = lookups.priority_class(name) if name else lookups.default_priority_class()
    if name and chosen is None:
        raise _refuse_group(group, f"no PriorityClass with name {name} was found")
    if chosen is not None:
        spec["priorityClassName"] = chosen["metadata"]["name"]
    value = chosen.get("value", 0) if chosen is not None else 0
    if given not in (None, value):
        raise _refuse_group(
            group,
            f"the integer value of priority ({given}) must not be provided in pod group spec; "
            f"priority admission controller computed {value} from the given PriorityClass name",
        )
    spec["priority"] = value


def keep_priority(pod: Body, old: Mapping[str, Any]) -> None:
    """Keep the values of `set_priority` that an update omits."""
    spec, before = pod["spec"], old.get("spec") or {}
    for field in ("priority", "preemptionPolicy"):
        if field not in spec and field in before:
            spec[field] = before[field]


def check_default_class(
    priority_class: Body, lookups: Lookups, old: Mapping[str, Any] | None = None
) -> None:
    """Forbid a second class that is the default for pods without a class."""
    if not priority_class.get("globalDefault"):
        return
    name = priority_class["metadata"].get("name", "")
    default = lookups.default_priority_class()
    if default is not None and default["metadata"]["name"] != name:
        raise forbidden(
            "priorityclasses",
            name,
            f"PriorityClass {default['metadata']['name']} is already marked as default. Only one "
            "default can exist",
            GROUP,
        )


def _class_of(pod: Body, lookups: Lookups) -> Mapping[str, Any]:
    name = pod["spec"].get("priorityClassName")
    if not name:
        default = lookups.default_priority_class()
        if default is None:
            return _NO_CLASS
        pod["spec"]["priorityClassName"] = default["metadata"]["name"]
        return default
    priority_class = lookups.priority_class(name)
    if priority_class is None:
        raise _refuse(pod, f"no PriorityClass with name {name} was found")
    return priority_class


def _refuse_group(group: Body, why: str) -> Exception:
    return forbidden("podgroups", group["metadata"].get("name", ""), why, GROUP)


def _refuse(pod: Body, why: str) -> Exception:
    return forbidden("pods", _given_name(pod["metadata"]), why)


def _given_name(metadata: Body) -> str:
    """The name, or what a generated one begins with: upstream generates it after this step."""
    name, stem = metadata.get("name", ""), metadata.get("generateName", "")
    is_generated = stem and name.startswith(stem) and len(name) == len(stem) + _GENERATED
    return str(stem if is_generated else name)
