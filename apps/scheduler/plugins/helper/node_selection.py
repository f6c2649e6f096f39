"""Node selectors over columns: a requirement is checked once per distinct label value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.scheduler.framework.node_columns import BoolArray, NodeColumns
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.labels import IN, NOT_IN, Requirement, SelectorError, node_requirement
from apps.scheduler.objects import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)

NAME_FIELD = "metadata.name"


def matches_pod(pod: PodInfo, nodes: NodeColumns) -> BoolArray:
    """(n,) bool: nodes that satisfy the pod's nodeSelector and its required node affinity."""
    spec = pod.pod.spec
    matching = np.ones(len(nodes), dtype=np.bool_)
    for key, value in spec.node_selector.items():
        matching &= holds(Requirement(key, IN, (value,)), nodes)
    required = required_node_affinity(pod)
    return matching if required is None else matching & matches_selector(required, nodes)


def required_node_affinity(pod: PodInfo) -> NodeSelector | None:
    affinity = pod.pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return None
    return affinity.node_affinity.required_during_scheduling_ignored_during_execution


def matches_selector(selector: NodeSelector, nodes: NodeColumns) -> BoolArray:
    """(n,) bool: nodes that match any term; an invalid term matches no node."""
    matching = np.zeros(len(nodes), dtype=np.bool_)
    for term in selector.node_selector_terms:
        try:
            matching |= matches_term(term, nodes)
        except SelectorError:
            continue
    return matching


def matches_term(term: NodeSelectorTerm, nodes: NodeColumns) -> BoolArray:
    """(n,) bool: nodes that meet every requirement; an empty term matches none."""
    if is_empty(term):
        return np.zeros(len(nodes), dtype=np.bool_)
    matching = np.ones(len(nodes), dtype=np.bool_)
    for requirement in map(node_requirement, term.match_expressions):
        matching &= holds(requirement, nodes)
    for requirement in field_requirements(term.match_fields):
        matching &= _name_holds(requirement, nodes)
    return matching


def is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def field_requirements(requirements: Sequence[NodeSelectorRequirement]) -> list[Requirement]:
    """Of matchFields; raises SelectorError but for In and NotIn with exactly one value."""
    for requirement in requirements:
        if requirement.operator not in ("In", "NotIn"):
            raise SelectorError(f'"{requirement.operator}" is not a valid field selector operator')
        if len(requirement.values) != 1:
            raise SelectorError("a field selector requirement must have one value")
    return list(map(node_requirement, requirements))


def holds(requirement: Requirement, nodes: NodeColumns) -> BoolArray:
    """(n,) bool: nodes whose labels meet the requirement."""
    column = nodes.label(requirement.key)
    if requirement.operator == IN:
        return column.is_any_of(requirement.values)
    if requirement.operator == NOT_IN:
        return ~column.is_any_of(requirement.values)
    return column.where(
        lambda value: requirement.matches({} if value is None else {requirement.key: value})
    )


def _name_holds(requirement: Requirement, nodes: NodeColumns) -> BoolArray:
    """Names are unique, so only the listed ones are looked up."""
    named = np.zeros(len(nodes), dtype=np.bool_)
    if requirement.key == NAME_FIELD:
        rows = [row for row in map(nodes.row_of, requirement.values) if row >= 0]
        named[rows] = True
    return named if requirement.operator == "In" else ~named
