"""Where a pod may run: affinity, tolerations, topology spread, scheduling gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.gates import COMPARING_OPERATORS, COMPARISONS, is_enabled
from apps.cluster.validation.selectors import (
    validate_label_key,
    validate_label_selector,
    validate_node_selector,
    validate_node_selector_term,
)

Body = Mapping[str, Any]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_WHEN_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_INCLUSION_POLICIES: Final = ("Honor", "Ignore")
_ANY_KEY: Final = (
    'operator must be Exists when `key` is empty, which means "match all values and all keys"'
)
_EMPTY: Final = "can not be empty"
_NO_SELECTOR: Final = "must not be specified when labelSelector is not set"


def validate_affinity(affinity: Body, path: str) -> Causes:
    """spec.affinity."""
    if "nodeAffinity" in affinity:
        yield from _node_affinity(affinity["nodeAffinity"], f"{path}.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        if name in affinity:
            yield from _pod_affinity(affinity[name], f"{path}.{name}")


def validate_tolerations(tolerations: Sequence[Body], path: str) -> Causes:
    """The tolerations of a pod or runtime class."""
    for index, toleration in enumerate(tolerations):
        yield from _toleration(toleration, f"{path}[{index}]")


def validate_taint_effect(effect: str, path: str) -> Causes:
    """The effect of a taint, or one that a toleration names."""
    if not effect:
        yield required(path)
    elif effect not in _EFFECTS:
        yield not_supported(path, effect, _EFFECTS)


def validate_topology_spread(constraints: Sequence[Body], path: str) -> Causes:
    """spec.topologySpreadConstraints."""
    for index, constraint in enumerate(constraints):
        yield from _spread(constraint, constraints[index + 1 :], f"{path}[{index}]")


def validate_scheduling_gates(gates: Sequence[Body], path: str) -> Causes:
    """spec.schedulingGates."""
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        yield from all_invalid(f"{path}[{index}]", name, names.qualified_name(name))
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)


def _node_affinity(affinity: Body, path: str) -> Causes:
    if _REQUIRED in affinity:
        yield from validate_node_selector(affinity[_REQUIRED], f"{path}.{_REQUIRED}")
    for index, term in enumerate(affinity.get(_PREFERRED, ())):
        place = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight(term, place)
        yield from validate_node_selector_term(term.get("preference", {}), f"{place}.preference")


def _pod_affinity(affinity: Body, path: str) -> Causes:
    for index, term in enumerate(affinity.get(_REQUIRED, ())):
        yield from _affinity_term(term, f"{path}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(affinity.get(_PREFERRED, ())):
        place = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight(weighted, place)
        yield from _affinity_term(weighted.get("podAffinityTerm", {}), f"{place}.podAffinityTerm")


def _weight(term: Body, path: str) -> Causes:
    weight = term.get("weight", 0)
    if not 1 <= weight <= 100:
        yield invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _affinity_term(term: Body, path: str) -> Causes:
    yield from validate_label_selector(term.get("labelSelector"), f"{path}.labelSelector")
    yield from validate_label_selector(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in term.get("namespaces", ()):
        yield from all_invalid(f"{path}.namespace", namespace, names.dns_label(namespace))
    if "matchLabelKeys" in term or "mismatchLabelKeys" in term:
        yield from _label_keys(term, path)
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", _EMPTY)
    yield from validate_label_key(key, f"{path}.topologyKey")


def _label_keys(term: Body, path: str) -> Causes:
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = term.get(field) or ()
        if keys and "labelSelector" not in term:
            yield forbidden(f"{path}.{field}", _NO_SELECTOR)
        for index, key in enumerate(keys):
            yield from validate_label_key(key, f"{path}.{field}[{index}]")
    yield from _selected_twice(term, path)
    both = set(term.get("mismatchLabelKeys") or ())
    for index, key in enumerate(term.get("matchLabelKeys") or ()):
        if key in both:
            yield invalid(
                f"{path}.matchLabelKeys[{index}]",
                key,
                "exists in both matchLabelKeys and mismatchLabelKeys",
            )


def _selected_twice(term: Body, path: str) -> Causes:
    """Keys that the selector had before those of the pod's labels were merged into it."""
    selector = term.get("labelSelector") or {}
    expressions = selector.get("matchExpressions") or ()
    keys = [*(selector.get("matchLabels") or ()), *(each.get("key") for each in expressions)]
    for index, key in enumerate(term.get("matchLabelKeys") or ()):
        if keys.count(key) > 1:
            yield invalid(
                f"{path}[{index}]", key, "exists in both matchLabelKeys and labelSelector"
            )


def _toleration(toleration: Body, path: str) -> Causes:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        yield from validate_label_key(key, f"{path}.key")
    elif operator != "Exists":
        yield invalid(f"{path}.operator", operator, _ANY_KEY)
    if "tolerationSeconds" in toleration and effect != "NoExecute":
        yield invalid(
            f"{path}.effect",
            effect,
            "effect must be 'NoExecute' when `tolerationSeconds` is set",
        )
    if operator in ("", "Equal"):
        problems = names.label_value(value)
        if problems:
            yield invalid(f"{path}.operator", value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield invalid(
                f"{path}.operator", value, "value must be empty when `operator` is 'Exists'"
            )
    elif operator in COMPARING_OPERATORS and is_enabled(COMPARISONS):
        yield from all_invalid(f"{path}.value", value, names.decimal_integer(value))
    else:
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists", "Lt", "Gt"))
    if effect:
        yield from validate_taint_effect(effect, f"{path}.effect")


def _spread(constraint: Body, others: Sequence[Body], path: str) -> Causes:
    skew, key = constraint.get("maxSkew", 0), constraint.get("topologyKey", "")
    when = constraint.get("whenUnsatisfiable", "")
    if skew <= 0:
        yield invalid(f"{path}.maxSkew", skew, "must be greater than zero")
    if not key:
        yield required(f"{path}.topologyKey", _EMPTY)
    else:
        yield from validate_label_key(key, f"{path}.topologyKey")
    if when not in _WHEN_UNSATISFIABLE:
        yield not_supported(f"{path}.whenUnsatisfiable", when, _WHEN_UNSATISFIABLE)
    if any((o.get("topologyKey"), o.get("whenUnsatisfiable")) == (key, when) for o in others):
        yield duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {when}}}")
    yield from _min_domains(constraint.get("minDomains"), when, f"{path}.minDomains")
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(field)
        if policy is not None and policy not in _INCLUSION_POLICIES:
            yield not_supported(f"{path}.{field}", policy, _INCLUSION_POLICIES)
    if "matchLabelKeys" in constraint:
        yield from _label_keys(constraint, path)
    yield from validate_label_selector(constraint.get("labelSelector"), f"{path}.labelSelector")


def _min_domains(count: int | None, when: str, path: str) -> Causes:
    if count is None:
        return
    if count <= 0:
        yield invalid(path, count, "must be greater than zero")
    if when != "DoNotSchedule":
        yield invalid(
            path,
            count,
            f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}",
        )
