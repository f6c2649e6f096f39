"""The arguments of NodeAffinity: a node affinity that must be well-formed as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.labels import (
    DOES_NOT_EXIST,
    EXISTS,
    GREATER_THAN,
    IN,
    LESS_THAN,
    NOT_IN,
    parse_int64,
)
from apps.scheduler.labels.validity import label_value_faults, qualified_name_faults
from apps.scheduler.objects import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm

_OPERATORS: Final = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, GREATER_THAN, LESS_THAN)
_FIELD_OPERATORS: Final = (IN, NOT_IN)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAffinityArgs:
    """`added_affinity` applies to every pod of the profile, besides the pod's own affinity."""

    added_affinity: NodeAffinity | None = described(
        None, "Applies to every pod of the profile, besides the affinity of the pod."
    )


def check_args(args: NodeAffinityArgs, path: str, problems: Problems) -> None:
    if args.added_affinity is not None:
        _check_affinity(args.added_affinity, f"{path}.addedAffinity", problems)


def _check_affinity(affinity: NodeAffinity, path: str, problems: Problems) -> None:
    """Check all terms except preferred ones of weight 0, which never count."""
    required = affinity.required_during_scheduling_ignored_during_execution
    if required is not None:
        at = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(required.node_selector_terms):
            _check_term(term, f"{at}[{index}]", problems)
    at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
    for index, preferred in enumerate(
        affinity.preferred_during_scheduling_ignored_during_execution
    ):
        if preferred.weight:
            _check_term(preferred.preference, f"{at}[{index}].preference", problems)


def _check_term(term: NodeSelectorTerm, path: str, problems: Problems) -> None:
    for index, requirement in enumerate(term.match_expressions):
        _check_expression(requirement, f"{path}.matchExpressions[{index}]", problems)
    for index, requirement in enumerate(term.match_fields):
        at = f"{path}.matchFields[{index}]"
        if requirement.operator not in _FIELD_OPERATORS:
            problems.unsupported(f"{at}.operator", requirement.operator, _FIELD_OPERATORS)
        elif len(requirement.values) != 1:
            values = _list_or_none(requirement.values)
            problems.invalid(f"{at}.values", values, "must have one element")


def _check_expression(requirement: NodeSelectorRequirement, path: str, problems: Problems) -> None:
    operator, values = requirement.operator, requirement.values
    if operator not in _OPERATORS:
        problems.unsupported(f"{path}.operator", operator, _OPERATORS)
        return
    for fault in qualified_name_faults(requirement.key):
        problems.invalid(f"{path}.key", requirement.key, fault)
    at = f"{path}.values"
    if operator in (IN, NOT_IN):
        if not values:
            said = "for 'in', 'notin' operators, values set can't be empty"
            problems.invalid(at, _list_or_none(values), said)
    elif operator in (EXISTS, DOES_NOT_EXIST):
        if values:
            said = "values set must be empty for exists and does not exist"
            problems.invalid(at, _list_or_none(values), said)
    elif len(values) != 1:
        said = "for 'Gt', 'Lt' operators, exactly one value is required"
        problems.invalid(at, _list_or_none(values), said)
    _check_values(requirement, at, problems)


def _check_values(requirement: NodeSelectorRequirement, path: str, problems: Problems) -> None:
    whole_number = requirement.operator in (GREATER_THAN, LESS_THAN)
    for index, value in enumerate(requirement.values):
        at = f"{path}[{index}]"
        if whole_number and parse_int64(value) is None:
            said = "for 'Gt', 'Lt' operators, the value must be an integer"
            problems.invalid(at, value, said)
        for fault in label_value_faults(value):
            problems.invalid(at, value, fault)


def _list_or_none(values: Sequence[str]) -> list[str] | None:
    """The values; None for an empty list, which is null in upstream's messages."""
    return list(values) or None
