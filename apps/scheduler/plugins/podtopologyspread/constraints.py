"""Topology spread constraints, compiled: selectors are read once and then matched many times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.labels import IN, Requirement, Selector, from_label_selector
from apps.scheduler.objects import TopologySpreadConstraint

DO_NOT_SCHEDULE = "DoNotSchedule"


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    topology_key: str
    max_skew: int
    #: which pods of the pod's namespace are counted
    selector: Selector
    #: fewer domains than this count as if there were an empty one
    min_domains: int
    #: nodes that the pod's affinity rules out do not make a domain
    honors_affinity: bool
    #: nodes whose taints the pod does not tolerate do not make a domain
    honors_taints: bool


def compile_constraint(constraint: TopologySpreadConstraint, pod: PodInfo) -> SpreadConstraint:
    """Each of matchLabelKeys that the pod has narrows the selector to the pod's own value."""
    selector = from_label_selector(constraint.label_selector)
    own = {
        Requirement(key, IN, (pod.labels[key],))
        for key in constraint.match_label_keys
        if key in pod.labels
    }
    if own and not selector.nothing:
        selector = Selector(tuple(sorted(own | set(selector.requirements))))
    return SpreadConstraint(
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        selector=selector,
        min_domains=constraint.min_domains or 1,
        honors_affinity=constraint.node_affinity_policy == "Honor",
        honors_taints=constraint.node_taints_policy == "Honor",
    )


def hard_constraints(
    pod: PodInfo, constraints: Iterable[TopologySpreadConstraint]
) -> tuple[SpreadConstraint, ...]:
    """Those which keep the pod off a node."""
    return tuple(
        compile_constraint(constraint, pod)
        for constraint in constraints
        if constraint.when_unsatisfiable == DO_NOT_SCHEDULE
    )
