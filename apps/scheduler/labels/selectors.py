"""Selectors as values, and what they match: label selectors and node selectors.

A `Selector` is immutable and hashable, so that equal selectors can share cached results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from apps.scheduler.objects import (
    LabelSelector,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)

IN: Final = "In"
NOT_IN: Final = "NotIn"
EXISTS: Final = "Exists"
DOES_NOT_EXIST: Final = "DoesNotExist"
GREATER_THAN: Final = "Gt"
LESS_THAN: Final = "Lt"

_INT64: Final = range(-(2**63), 2**63)


class SelectorError(ValueError):
    """An invalid selector; the message is for the user."""


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """One condition on the value of label `key`; `values` is sorted."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether `labels` meet the condition; NotIn also holds when the label is absent."""
        return _OPERATORS[self.operator](labels.get(self.key), self.values)

    def __str__(self) -> str:
        return _requirement_text(self)


@dataclass(frozen=True, slots=True)
class Selector:
    """All `requirements` (sorted) must hold; `nothing` matches no labels at all."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether `labels` meet every requirement."""
        if self.nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    @property
    def everything(self) -> bool:
        """Whether every object matches."""
        return not self.nothing and not self.requirements

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


NOTHING: Final = Selector(nothing=True)
EVERYTHING: Final = Selector()


def from_label_selector(selector: LabelSelector | None) -> Selector:
    """None selects nothing, an empty LabelSelector everything; raises SelectorError."""
    if selector is None:
        return NOTHING
    requirements = [Requirement(key, IN, (value,)) for key, value in selector.match_labels.items()]
    for expression in selector.match_expressions:
        if expression.operator not in (IN, NOT_IN, EXISTS, DOES_NOT_EXIST):
            raise SelectorError(f'"{expression.operator}" is not a valid label selector operator')
        requirements.append(_requirement(expression.key, expression.operator, expression.values))
    return Selector(tuple(sorted(requirements)))


@lru_cache(maxsize=4096)
def from_mapping(labels: frozenset[tuple[str, str]]) -> Selector:
    """The selector for objects that have all of these labels, as in Service.spec.selector."""
    return Selector(tuple(sorted(Requirement(key, IN, (value,)) for key, value in labels)))


def from_set(labels: Mapping[str, str]) -> Selector:
    """`from_mapping` for a dict; an empty one selects everything."""
    return from_mapping(frozenset(labels.items()))


def node_requirement(requirement: NodeSelectorRequirement) -> Requirement:
    """A node selector requirement, checked; raises SelectorError."""
    if requirement.operator not in _OPERATORS:
        raise SelectorError(f'"{requirement.operator}" is not a valid node selector operator')
    return _requirement(requirement.key, requirement.operator, requirement.values)


def node_selector_matches(selector: NodeSelector, labels: Mapping[str, str], name: str) -> bool:
    """Whether a node of this name and labels matches one term; raises SelectorError."""
    return any(
        node_selector_term_matches(term, labels, name) for term in selector.node_selector_terms
    )


def node_selector_term_matches(
    term: NodeSelectorTerm, labels: Mapping[str, str], name: str
) -> bool:
    """Whether a node meets all requirements; an empty term matches no node."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": name}
    return all(
        node_requirement(requirement).matches(labels) for requirement in term.match_expressions
    ) and all(node_requirement(requirement).matches(fields) for requirement in term.match_fields)


def parse_int64(text: str) -> int | None:
    """A decimal 64-bit integer as Go's ParseInt reads it, or None."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 1000:
        return None
    number = int(text)
    return number if number in _INT64 else None


def _requirement(key: str, operator: str, values: Iterable[str]) -> Requirement:
    """A requirement whose number of values fits its operator."""
    values = tuple(sorted(values))
    if operator in (IN, NOT_IN) and not values:
        raise SelectorError("for 'in', 'notin' operators, values set can't be empty")
    if operator in (EXISTS, DOES_NOT_EXIST) and values:
        raise SelectorError("values set must be empty for exists and does not exist")
    if operator in (GREATER_THAN, LESS_THAN):
        if len(values) != 1:
            raise SelectorError("for 'Gt', 'Lt' operators, exactly one value is required")
        if parse_int64(values[0]) is None:
            raise SelectorError("for 'Gt', 'Lt' operators, the value must be an integer")
    return Requirement(key, operator, values)


def _greater(value: str | None, values: tuple[str, ...]) -> bool:
    left, right = parse_int64(value or ""), parse_int64(values[0])
    return left is not None and right is not None and left > right


def _less(value: str | None, values: tuple[str, ...]) -> bool:
    left, right = parse_int64(value or ""), parse_int64(values[0])
    return left is not None and right is not None and left < right


_OPERATORS: Final[dict[str, Callable[[str | None, tuple[str, ...]], bool]]] = {
    IN: lambda value, values: value is not None and value in values,
    NOT_IN: lambda value, values: value is None or value not in values,
    EXISTS: lambda value, values: value is not None,
    DOES_NOT_EXIST: lambda value, values: value is None,
    GREATER_THAN: _greater,
    LESS_THAN: _less,
}


def _requirement_text(requirement: Requirement) -> str:
    """The requirement in the text syntax."""
    key, values = requirement.key, ",".join(requirement.values)
    match requirement.operator:
        case "In":
            return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
        case "NotIn":
            return f"{key}!={values}" if len(requirement.values) == 1 else f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
        case "Gt":
            return f"{key}>{values}"
        case "Lt":
            return f"{key}<{values}"
        case _:
            return key
