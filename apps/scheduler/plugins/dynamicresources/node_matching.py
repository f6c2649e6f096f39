"""Whether one node matches a node selector."""

from __future__ import annotations

from apps.scheduler.labels import SelectorError, node_requirement
from apps.scheduler.objects import Node, NodeSelector, NodeSelectorTerm
from apps.scheduler.plugins.helper.node_selection import NAME_FIELD, field_requirements, is_empty


def matches_node(selector: NodeSelector, node: Node) -> bool:
    """An invalid term matches no node."""
    return any(_matches(term, node) for term in selector.node_selector_terms)


def _matches(term: NodeSelectorTerm, node: Node) -> bool:
    if is_empty(term):
        return False
    try:
        labels = [node_requirement(each) for each in term.match_expressions]
        fields = field_requirements(term.match_fields)
    except SelectorError:
        return False
    name = {NAME_FIELD: node.metadata.name}
    return all(each.matches(node.metadata.labels) for each in labels) and all(
        each.matches(name) for each in fields
    )
