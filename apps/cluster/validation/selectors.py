"""Label selectors, node selectors and topology selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, forbidden, invalid, required
from apps.cluster.validation.metadata import validate_labels
from apps.scheduler.labels import SelectorError, from_label_selector
from apps.scheduler.objects import LabelSelector

Body = Mapping[str, Any]

_NEEDS_VALUES: Final = "must be specified when `operator` is 'In' or 'NotIn'"
_NO_VALUES: Final = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_ONE_VALUE: Final = "must be specified single value when `operator` is 'Lt' or 'Gt'"
_ONE_FIELD_VALUE: Final = (
    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
)
MISMATCH: Final = "`selector` does not match template `labels`"
_NO_OPERATOR: Final = "not a valid selector operator"


def validate_label_selector(selector: Body | None, path: str) -> Causes:
    """A LabelSelector; None, which selects nothing, is valid."""
    if selector is None:
        return
    yield from validate_labels(selector.get("matchLabels", {}), f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions", ())):
        yield from _label_requirement(requirement, f"{path}.matchExpressions[{index}]")


def selects(selector: Body | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a valid LabelSelector selects these labels; None selects nothing."""
    try:
        decoded = msgspec.convert(selector, LabelSelector | None)
        return from_label_selector(decoded).matches(labels or {})
    except SelectorError:
        return False


def validate_node_selector(selector: Body, path: str) -> Causes:
    """A NodeSelector: at least one term."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from validate_node_selector_term(term, f"{path}.nodeSelectorTerms[{index}]")


def validate_node_selector_term(term: Body, path: str) -> Causes:
    """One term of a node selector."""
    for index, requirement in enumerate(term.get("matchExpressions", ())):
        yield from _node_requirement(requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.get("matchFields", ())):
        yield from _field_requirement(requirement, f"{path}.matchFields[{index}]")


def validate_label_key(key: str, path: str) -> Causes:
    """The key of a label."""
    return all_invalid(path, key, names.qualified_name(key))


def _label_requirement(requirement: Body, path: str) -> Causes:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", _NEEDS_VALUES)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(f"{path}.values", _NO_VALUES)
    else:
        yield invalid(f"{path}.operator", operator, _NO_OPERATOR)
    yield from _key_and_values(requirement, path)


def _node_requirement(requirement: Body, path: str) -> Causes:
    """The rules of a requirement of a label selector, and those of Gt and Lt."""
    if requirement.get("operator") not in ("Gt", "Lt"):
        yield from _label_requirement(requirement, path)
        return
    if len(requirement.get("values") or ()) != 1:
        yield required(f"{path}.values", _ONE_VALUE)
    yield from _key_and_values(requirement, path)


def _key_and_values(requirement: Body, path: str) -> Causes:
    yield from validate_label_key(requirement.get("key", ""), f"{path}.key")
    for index, value in enumerate(requirement.get("values") or ()):
        yield from all_invalid(f"{path}.values[{index}]", value, names.label_value(value))


def _field_requirement(requirement: Body, path: str) -> Causes:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, _NO_OPERATOR)
    elif len(values) != 1:
        yield required(f"{path}.values", _ONE_FIELD_VALUE)
    if requirement.get("key") != "metadata.name":
        yield invalid(f"{path}.key", requirement.get("key", ""), "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from all_invalid(f"{path}.values[{index}]", value, names.dns_subdomain(value))
