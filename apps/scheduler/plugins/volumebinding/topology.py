"""On which nodes a volume can be used or provisioned."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from apps.scheduler.framework.node_columns import BoolArray, NodeColumns
from apps.scheduler.labels import IN, Requirement, Selector, SelectorError, node_requirement
from apps.scheduler.objects import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    TopologySelectorTerm,
)
from apps.scheduler.plugins.helper.csi_migration import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    ZONE_DELIMITER,
    MigratedPlugin,
)
from apps.scheduler.plugins.helper.node_selection import field_requirements, holds, is_empty


def node_affinity(volume: PersistentVolume) -> NodeSelector | None:
    """The nodes that can access the volume, None for all."""
    affinity = volume.spec.node_affinity
    return affinity.required if affinity is not None else None


def find_reachable(selector: NodeSelector | None, nodes: NodeColumns) -> BoolArray:
    """(n,) bool: nodes that match a volume's node affinity by their labels.

    matchFields always match, as upstream does not evaluate the node's name here.
    """
    if selector is None:
        return np.ones(len(nodes), dtype=np.bool_)
    matching = np.zeros(len(nodes), dtype=np.bool_)
    for requirements in map(label_requirements, selector.node_selector_terms):
        if requirements is not None:
            matching |= _all_hold(requirements, nodes)
    return matching


def label_requirements(term: NodeSelectorTerm) -> tuple[Requirement, ...] | None:
    """The label requirements of a term; None if it is empty or invalid, and matches no node."""
    if is_empty(term):
        return None
    try:
        field_requirements(term.match_fields)
        return tuple(map(node_requirement, term.match_expressions))
    except SelectorError:
        return None


def find_allowed(terms: Sequence[TopologySelectorTerm], nodes: NodeColumns) -> BoolArray:
    """(n,) bool: nodes for which a class's ``allowedTopologies`` permit a volume."""
    if not terms:
        return np.ones(len(nodes), dtype=np.bool_)
    matching = np.zeros(len(nodes), dtype=np.bool_)
    for term in terms:
        listed = term.match_label_expressions
        if listed and all(expression.values for expression in listed):
            requirements = [Requirement(each.key, IN, each.values) for each in listed]
            matching |= _all_hold(requirements, nodes)
    return matching


def find_selected(selector: Selector, nodes: NodeColumns) -> BoolArray:
    """(n,) bool: nodes whose labels a label selector matches."""
    if selector.nothing:
        return np.zeros(len(nodes), dtype=np.bool_)
    return _all_hold(selector.requirements, nodes)


def _all_hold(requirements: Sequence[Requirement], nodes: NodeColumns) -> BoolArray:
    matching = np.ones(len(nodes), dtype=np.bool_)
    for requirement in requirements:
        matching &= holds(requirement, nodes)
    return matching


# -- in-tree volumes on nodes where a CSI driver serves them -------------------------------------


def migrated_affinity(volume: PersistentVolume, plugin: MigratedPlugin) -> NodeSelector | None:
    """The volume's node affinity in terms of the driver's zone label.

    Zones of the affinity are renamed; otherwise the zones of the volume's labels are added.
    """
    affinity = node_affinity(volume)
    if not plugin.zone_key:
        return affinity
    zone, region = _topology_labels(volume)
    renamed = {BETA_REGION: REGION} if region == BETA_REGION else {}
    if _values(affinity, zone):
        renamed[zone] = plugin.zone_key
        return _rename(affinity, renamed)
    zones = {each.strip() for each in volume.metadata.labels.get(zone, "").split(ZONE_DELIMITER)}
    zones.discard("")
    if zones:
        affinity = _demand(affinity, plugin.zone_key, sorted(zones))
    return _rename(affinity, renamed)


def _topology_labels(volume: PersistentVolume) -> tuple[str, str]:
    """The labels for zone and region that the volume uses: the current or the deprecated ones."""
    affinity, labels = node_affinity(volume), volume.metadata.labels
    current, deprecated = (ZONE, REGION), (BETA_ZONE, BETA_REGION)
    keys = {requirement.key for requirement in _requirements(affinity)}
    for names in (keys, labels):
        if ZONE in names:
            return current
        if BETA_ZONE in names:
            return deprecated
    return current


def _requirements(affinity: NodeSelector | None) -> list[NodeSelectorRequirement]:
    terms = affinity.node_selector_terms if affinity is not None else ()
    return [requirement for term in terms for requirement in term.match_expressions]


def _values(affinity: NodeSelector | None, key: str) -> bool:
    """Whether any requirement about ``key`` lists values."""
    return any(each.key == key and each.values for each in _requirements(affinity))


def _rename(affinity: NodeSelector | None, keys: dict[str, str]) -> NodeSelector | None:
    if affinity is None or not keys:
        return affinity

    def rename(term: NodeSelectorTerm) -> NodeSelectorTerm:
        expressions = tuple(
            msgspec.structs.replace(each, key=keys.get(each.key, each.key))
            for each in term.match_expressions
        )
        return msgspec.structs.replace(term, match_expressions=expressions)

    return NodeSelector(node_selector_terms=tuple(map(rename, affinity.node_selector_terms)))


def _demand(affinity: NodeSelector | None, key: str, values: Sequence[str]) -> NodeSelector:
    """Every term with one more requirement; a single term if there was none."""
    more = NodeSelectorRequirement(key=key, operator=IN, values=tuple(values))
    terms = affinity.node_selector_terms if affinity is not None else ()
    return NodeSelector(
        node_selector_terms=tuple(
            msgspec.structs.replace(term, match_expressions=(*term.match_expressions, more))
            for term in terms or (NodeSelectorTerm(),)
        )
    )
