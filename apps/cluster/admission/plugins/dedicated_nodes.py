"""Plugin DedicatedNodes: reserves nodes for the pods of a group.

The nodes of a group have the taint `KEY=GROUP:EFFECT` and the label `KEY=GROUP`. The taint keeps
other pods away; the affinity that this plugin adds keeps the group's pods on these nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.admission.draft import Body, child
from apps.cluster.admission.plugins.plugin import (
    AdmissionPlugin,
    Attributes,
    Parameters,
    check_known,
)
from apps.cluster.admission.tolerations import merge
from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, not_supported

KEY: Final = "dedicated"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _dedicate(pod: Body, request: Attributes, parameters: Parameters) -> None:
    group = _group_of(pod, request, parameters)
    if group is None or request.old is not None:
        return
    key, effect = parameters.get("key", KEY), parameters.get("effect", "NoSchedule")
    spec = pod["spec"]
    toleration = {"key": key, "operator": "Equal", "value": group, "effect": effect}
    spec["tolerations"] = merge(spec.get("tolerations") or [], [toleration])
    _require(spec, {"key": key, "operator": "In", "values": [group]})


def _group_of(pod: Body, request: Attributes, parameters: Parameters) -> str | None:
    """The group of the pod's namespace, or of the user who creates the pod."""
    namespace = pod["metadata"].get("namespace", "")
    for name, members in (parameters.get("groups") or {}).items():
        by_user = request.user in (members.get("users") or ())
        if by_user or namespace in (members.get("namespaces") or ()):
            return str(name)
    return None


def _require(spec: Body, expression: Body) -> None:
    """Add the expression to every term of the pod's required node affinity."""
    required = child(child(child(spec, "affinity"), "nodeAffinity"), _REQUIRED)
    terms = required.get("nodeSelectorTerms") or [{}]
    for term in terms:
        present = term.get("matchExpressions") or []
        if expression not in present:
            term["matchExpressions"] = [*present, expression]
    required["nodeSelectorTerms"] = terms


def _check(parameters: Parameters, path: str) -> Causes:
    yield from check_known(parameters, ("key", "effect", "groups"), path)
    key = parameters.get("key", KEY)
    problems = names.qualified_name(key) if isinstance(key, str) else ("must be a label key",)
    yield from all_invalid(f"{path}.key", key, problems)
    if parameters.get("effect", "NoSchedule") not in _EFFECTS:
        yield not_supported(f"{path}.effect", parameters["effect"], _EFFECTS)
    groups = parameters.get("groups", {})
    if not isinstance(groups, Mapping):
        yield invalid(f"{path}.groups", groups, "must map names of groups to their members")
        return
    for name, members in groups.items():
        yield from _check_group(name, members, f"{path}.groups[{name}]")


def _check_group(name: str, members: Any, path: str) -> Causes:
    yield from all_invalid(path, name, names.label_value(name))
    if not isinstance(members, Mapping):
        yield invalid(path, members, "must have namespaces or users")
        return
    yield from check_known(members, ("namespaces", "users"), path)
    for field in ("namespaces", "users"):
        listed = members.get(field, [])
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            yield invalid(f"{path}.{field}", listed, "must be a list of names")


DEDICATED_NODES: Final = AdmissionPlugin(
    name="DedicatedNodes",
    about=(
        "Pods of a group (by namespace, or by the user who creates them) tolerate the taint of the "
        "group's nodes and are required to go to nodes with the group's label."
    ),
    kind="Pod",
    admit=_dedicate,
    check=_check,
    example={"key": KEY, "groups": {"team-a": {"namespaces": ["team-a"], "users": []}}},
)
