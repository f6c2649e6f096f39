"""Topology spread constraints, compiled: the pod's own, or the profile's defaults."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import msgspec

from apps.scheduler.cache.label_index import selector_tags
from apps.scheduler.cache.pod_index import Name, PodClass
from apps.scheduler.framework.types import LabelClass
from apps.scheduler.labels import IN, Requirement, Selector, from_label_selector
from apps.scheduler.objects import TopologySpreadConstraint

NAME: Final = "PodTopologySpread"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
HOSTNAME: Final = "kubernetes.io/hostname"
_HONOR: Final = "Honor"


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    max_skew: int
    topology_key: str
    #: pods of this namespace, the incoming pod's, that match the selector are counted
    namespace: str
    selector: Selector
    #: with fewer domains than this the global minimum is 0
    min_domains: int
    #: only nodes that match the pod's node selector and affinity are included
    honors_affinity: bool
    #: only nodes without untolerated taints are included
    honors_taints: bool

    #: see cache.pod_index.Counted
    name: Name = field(init=False, repr=False, compare=False)
    tags: Collection[Hashable] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        name = Name(NAME, self.namespace, self.selector)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "tags", selector_tags(self.selector, (self.namespace,)))

    def weigh(self, known: PodClass[LabelClass]) -> int:
        """1 if running pods of this class are counted: terminating ones are not.

        A selector that selects everything counts nothing, as upstream.
        """
        namespace, _, terminating = known.key
        if namespace != self.namespace or terminating or self.selector.everything:
            return 0
        return int(self.selector.matches(known.example.labels))


def compile_constraints(
    written: Sequence[TopologySpreadConstraint],
    action: str,
    *,
    namespace: str,
    labels: Mapping[str, str],
) -> tuple[SpreadConstraint, ...]:
    """Those for ``action``, of a pod with these labels; raises SelectorError.

    Pods of one template share the same objects.
    """
    keys = {key for constraint in written for key in constraint.match_label_keys}
    merged = tuple(sorted((key, labels[key]) for key in keys if key in labels))
    return _compile(msgspec.json.encode(written), action, namespace, merged)


@lru_cache(maxsize=4096)
def _compile(
    written: bytes, action: str, namespace: str, labels: tuple[tuple[str, str], ...]
) -> tuple[SpreadConstraint, ...]:
    constraints = msgspec.json.decode(written, type=tuple[TopologySpreadConstraint, ...])
    values = dict(labels)
    return tuple(
        SpreadConstraint(
            max_skew=each.max_skew,
            topology_key=each.topology_key,
            namespace=namespace,
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
