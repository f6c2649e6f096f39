"""Topology spread constraints, compiled: the pod's own, or the profile's defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import msgspec

from apps.scheduler.cache.pod_index import PodClass
from apps.scheduler.framework.types import LabelClass
from apps.scheduler.labels import IN, Requirement, Selector, from_label_selector
from apps.scheduler.objects import TopologySpreadConstraint
from apps.scheduler.plugins import names

DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
_HONOR: Final = "Honor"

#: what holds with defaultingType System
SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable=SCHEDULE_ANYWAY),
)


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    max_skew: int
    topology_key: str
    #: which pods of the incoming pod's namespace are counted
    selector: Selector
    #: with fewer domains than this the least count is taken to be 0
    min_domains: int
    #: only nodes that the pod's node selector and affinity allow are looked at
    honors_affinity: bool
    #: only nodes without a taint that the pod does not tolerate are looked at
    honors_taints: bool

    def counting(self, namespace: str) -> tuple[object, ...]:
        """Names what ``counts_in`` counts."""
        return (names.POD_TOPOLOGY_SPREAD, namespace, self.selector)

    def counts_in(self, namespace: str, known: PodClass[LabelClass]) -> int:
        """1 if running pods of this class are counted: terminating ones are not.

        A selector that selects everything counts nothing, as upstream has it.
        """
        pods_namespace, _, terminating = known.key
        if pods_namespace != namespace or terminating or self.selector.everything:
            return 0
        return int(self.selector.matches(known.example.labels))


def compile_constraints(
    written: Sequence[TopologySpreadConstraint], labels: Mapping[str, str], action: str
) -> tuple[SpreadConstraint, ...]:
    """Those of a pod with these labels that are for ``action``; raises SelectorError."""
    keys = {key for constraint in written for key in constraint.match_label_keys}
    merged = tuple(sorted((key, labels[key]) for key in keys if key in labels))
    return _compile(msgspec.json.encode(written), merged, action)


def with_selector(
    constraints: Sequence[SpreadConstraint], selector: Selector
) -> tuple[SpreadConstraint, ...]:
    """Default constraints with the selector that follows from the pod's owners."""
    return tuple(replace(constraint, selector=selector) for constraint in constraints)


@lru_cache(maxsize=4096)
def _compile(
    written: bytes, labels: tuple[tuple[str, str], ...], action: str
) -> tuple[SpreadConstraint, ...]:
    constraints = msgspec.json.decode(written, type=tuple[TopologySpreadConstraint, ...])
    values = dict(labels)
    return tuple(
        SpreadConstraint(
            max_skew=each.max_skew,
            topology_key=each.topology_key,
            selector=_selector(each, values),
            min_domains=1 if each.min_domains is None else each.min_domains,
            honors_affinity=each.node_affinity_policy == _HONOR,
            honors_taints=each.node_taints_policy == _HONOR,
        )
        for each in constraints
        if each.when_unsatisfiable == action
    )


def _selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    """The selector with the pod's values of matchLabelKeys; merging them twice changes nothing."""
    selector = from_label_selector(constraint.label_selector)
    if selector.nothing:
        return selector
    merged = {
        Requirement(key, IN, (labels[key],)) for key in constraint.match_label_keys if key in labels
    }
    return Selector(tuple(sorted(merged.union(selector.requirements))))
