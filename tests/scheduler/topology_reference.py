"""PodTopologySpread and InterPodAffinity as the documentation tells them: one node after another.

Everything is counted afresh over all nodes and pods for every question.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.labels import from_label_selector
from apps.scheduler.objects import LabelSelector, Node, PodAffinityTerm, TopologySpreadConstraint
from tests.scheduler import reference

HOSTNAME = "kubernetes.io/hostname"
Nodes = Sequence[NodeInfo]
#: namespace -> its labels, for namespaces that have an object
Namespaces = Mapping[str, Mapping[str, str]]


def labels_of(info: NodeInfo) -> Mapping[str, str]:
    assert info.node is not None
    return info.node.metadata.labels


# -- PodTopologySpread -----------------------------------------------------------------------------


def looks_at(constraint: TopologySpreadConstraint, pod: PodInfo, node: Node) -> bool:
    tolerations = pod.pod.spec.tolerations
    if constraint.node_affinity_policy == "Honor" and not reference.node_affinity_matches(
        pod, node
    ):
        return False
    hard = ("NoSchedule", "NoExecute")
    ignores_taints = constraint.node_taints_policy == "Ignore"
    return ignores_taints or not reference.untolerated(node, tolerations, hard)


def selecting(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str]
) -> TopologySpreadConstraint:
    """A default constraint with the selector of the pod's owners."""
    selector = LabelSelector(match_labels=dict(labels))
    return msgspec.structs.replace(constraint, label_selector=selector)


def selects_everything(constraint: TopologySpreadConstraint) -> bool:
    return from_label_selector(constraint.label_selector).everything


def matching_pods(constraint: TopologySpreadConstraint, pod: PodInfo, info: NodeInfo) -> int:
    selector = from_label_selector(constraint.label_selector)
    if selector.everything:
        return 0
    return sum(
        other.namespace == pod.namespace
        and not other.is_terminating
        and selector.matches(other.labels)
        for other in info.pods.values()
    )


def has_all(info: NodeInfo, constraints: Sequence[TopologySpreadConstraint]) -> bool:
    return all(constraint.topology_key in labels_of(info) for constraint in constraints)


def spread_refusal(
    pod: PodInfo, constraints: Sequence[TopologySpreadConstraint], nodes: Nodes, info: NodeInfo
) -> str | None:
    """Why the hard ``constraints`` keep the pod off the node."""
    for constraint in constraints:
        counts: dict[str, int] = defaultdict(int)
        for each in nodes:
            assert each.node is not None
            if has_all(each, constraints) and looks_at(constraint, pod, each.node):
                value = labels_of(each)[constraint.topology_key]
                counts[value] += matching_pods(constraint, pod, each)
        if constraint.topology_key not in labels_of(info):
            return "node(s) didn't match pod topology spread constraints (missing required label)"
        enough = len(counts) >= (constraint.min_domains or 1)
        least = min(counts.values()) if enough else 0
        selector = from_label_selector(constraint.label_selector)
        here = counts.get(labels_of(info)[constraint.topology_key], 0)
        if here + selector.matches(pod.labels) - least > constraint.max_skew:
            return "node(s) didn't match pod topology spread constraints"
    return None


def spread_scores(
    pod: PodInfo,
    constraints: Sequence[TopologySpreadConstraint],
    nodes: Nodes,
    feasible: Nodes,
    *,
    require_all: bool,
) -> list[tuple[int, int]]:
    """(raw, normalised) of the soft ``constraints`` for every feasible node."""
    ignored = [require_all and not has_all(info, constraints) for info in feasible]
    scored = [info for info, skip in zip(feasible, ignored, strict=True) if not skip]
    raw = [
        0
        if skip
        else _half_up(
            [
                _spread_term(pod, constraint, constraints, nodes, scored, info, require_all)
                for constraint in constraints
            ]
        )
        for info, skip in zip(feasible, ignored, strict=True)
    ]
    kept = [score for score, skip in zip(raw, ignored, strict=True) if not skip]
    most, least = max(kept, default=0), min(kept, default=0)
    return [
        (score, 0 if skip else 100 if most == 0 else 100 * (most + least - score) // most)
        for score, skip in zip(raw, ignored, strict=True)
    ]


def _spread_term(
    pod: PodInfo,
    constraint: TopologySpreadConstraint,
    constraints: Sequence[TopologySpreadConstraint],
    nodes: Nodes,
    scored: Nodes,
    info: NodeInfo,
    require_all: bool,
) -> float:
    key = constraint.topology_key
    if key not in labels_of(info):
        return 0.0
    if key == HOSTNAME:
        size, count = len(scored), matching_pods(constraint, pod, info)
    else:
        size = len({labels_of(each).get(key, "") for each in scored})
        count = 0
        for each in nodes:
            assert each.node is not None
            counted = looks_at(constraint, pod, each.node)
            if require_all and not has_all(each, constraints):
                counted = False
            if counted and labels_of(each).get(key, "") == labels_of(info)[key]:
                count += matching_pods(constraint, pod, each)
    return float(count) * math.log(size + 2) + float(constraint.max_skew - 1)


def _half_up(terms: Sequence[float]) -> int:
    score = 0.0
    for term in terms:
        score += term
    whole = math.floor(score)
    return whole + (score - whole >= 0.5)


# -- InterPodAffinity ------------------------------------------------------------------------------


def is_about(
    term: PodAffinityTerm, owner: PodInfo, other: PodInfo, other_labels: Mapping[str, str] | None
) -> bool:
    """Whether ``owner``'s term is about ``other``, whose namespace has these labels (None: it is
    not there)."""
    if not from_label_selector(term.label_selector).matches(other.labels):
        return False
    if not term.namespaces and term.namespace_selector is None:
        return other.namespace == owner.namespace
    if other.namespace in term.namespaces:
        return True
    return from_label_selector(term.namespace_selector).matches(other_labels or {})


def is_mine(term: PodAffinityTerm, pod: PodInfo, other: PodInfo, namespaces: Namespaces) -> bool:
    """Whether a term of the pod to schedule is about ``other``: its namespace is asked for by
    name, and once more as if it had no labels."""
    labels = namespaces.get(other.namespace)
    return is_about(term, pod, other, labels) or is_about(term, pod, other, {})


def affinity_refusal(
    pod: PodInfo, nodes: Nodes, namespaces: Namespaces, info: NodeInfo
) -> str | None:
    """Why required terms keep the pod off the node."""
    here = labels_of(info)

    def same_domain(key: str, each: NodeInfo) -> bool:
        return key in here and labels_of(each).get(key) == here[key]

    def mine(term: PodAffinityTerm, other: PodInfo) -> bool:
        return is_mine(term, pod, other, namespaces)

    near, away = pod.required_affinity_terms, pod.required_anti_affinity_terms
    liked = [
        (each, other)
        for each in nodes
        for other in each.pods.values()
        if near and all(mine(term, other) for term in near)
    ]
    if any(term.topology_key not in here for term in near):
        return "node(s) didn't match pod affinity rules"
    if not all(any(same_domain(t.topology_key, each) for each, _ in liked) for t in near):
        anywhere = any(t.topology_key in labels_of(each) for t in near for each, _ in liked)
        if anywhere or not all(mine(term, pod) for term in near):
            return "node(s) didn't match pod affinity rules"
    for term in away:
        for each in nodes:
            if same_domain(term.topology_key, each) and any(
                mine(term, other) for other in each.pods.values()
            ):
                return "node(s) didn't match pod anti-affinity rules"
    own_labels = namespaces.get(pod.namespace, {})
    for each in nodes:
        for other in each.pods.values():
            for term in other.required_anti_affinity_terms:
                if same_domain(term.topology_key, each) and is_about(term, other, pod, own_labels):
                    return "node(s) didn't satisfy existing pods anti-affinity rules"
    return None


def affinity_scores(
    pod: PodInfo,
    nodes: Nodes,
    namespaces: Namespaces,
    feasible: Nodes,
    *,
    hard_weight: int = 1,
) -> list[tuple[int, int]] | None:
    """(raw, normalised) for every feasible node; None if no term holds anywhere."""
    own_labels = namespaces.get(pod.namespace, {})
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for each in nodes:
        for other in each.pods.values():
            terms = [
                *((1, w, is_mine(w.pod_affinity_term, pod, other, namespaces))
                  for w in pod.preferred_affinity_terms),
                *((-1, w, is_mine(w.pod_affinity_term, pod, other, namespaces))
                  for w in pod.preferred_anti_affinity_terms),
                *((1, w, is_about(w.pod_affinity_term, other, pod, own_labels))
                  for w in other.preferred_affinity_terms),
                *((-1, w, is_about(w.pod_affinity_term, other, pod, own_labels))
                  for w in other.preferred_anti_affinity_terms),
            ]  # fmt: skip
            for sign, weighted, holds in terms:
                key = weighted.pod_affinity_term.topology_key
                if holds and key in labels_of(each):
                    sums[key, labels_of(each)[key]] += sign * weighted.weight
            for term in other.required_affinity_terms:
                key = term.topology_key
                if (
                    hard_weight
                    and key in labels_of(each)
                    and is_about(term, other, pod, own_labels)
                ):
                    sums[key, labels_of(each)[key]] += hard_weight
    if not sums:
        return None
    raw = [
        sum(number for (key, value), number in sums.items() if labels_of(info).get(key) == value)
        for info in feasible
    ]
    most, least = max(raw, default=0), min(raw, default=0)
    if most == least:
        return [(score, 0) for score in raw]
    return [(score, int(100.0 * (float(score - least) / float(most - least)))) for score in raw]
