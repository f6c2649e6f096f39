"""Which nodes a constraint includes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.node_columns import BoolArray, NodeColumns
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.helper.node_selection import matches_pod, required_node_affinity
from apps.scheduler.plugins.helper.taints import has_untolerated
from apps.scheduler.plugins.podtopologyspread.constraints import NAME, SpreadConstraint


def find_counted_domains(
    snapshot: Snapshot,
    pod: PodInfo,
    constraint: SpreadConstraint,
    keys: Sequence[str],
    *,
    absent_is_empty: bool = False,
) -> Domains:
    """The domains of a constraint, which consist of the nodes on which pods are counted.

    These nodes have a label for each of ``keys`` and pass the constraint's inclusion policies.
    """
    topology_key = constraint.topology_key
    every = snapshot.domains(topology_key, absent_is_empty=absent_is_empty)
    others = tuple(key for key in keys if key != topology_key)
    affinity = _node_selection(pod) if constraint.honors_affinity else None
    tolerations = pod.pod.spec.tolerations if constraint.honors_taints else None
    if not others and affinity is None and tolerations is None:
        return every
    name = (NAME, others, affinity, tolerations)

    def is_eligible(nodes: NodeColumns) -> NDArray[np.bool_]:
        mask = np.ones(len(nodes), dtype=np.bool_)
        for key in others:
            mask &= nodes.label(key).ids >= 0
        if affinity is not None:
            mask &= matches_pod(pod, nodes)
        if tolerations is not None:
            mask &= _find_tolerated(pod, nodes)
        return mask

    among = snapshot.memo(name, is_eligible, depends="node")
    counted = snapshot.domains(topology_key, among=(name, among), absent_is_empty=absent_is_empty)
    return every if counted.outside == every.outside else counted


def _node_selection(pod: PodInfo) -> Hashable | None:
    """The node selector and affinity of the pod; None if it has neither."""
    required = required_node_affinity(pod)
    selector = pod.pod.spec.node_selector
    if required is None and not selector:
        return None
    return (frozenset(selector.items()), required)


def _find_tolerated(pod: PodInfo, nodes: NodeColumns) -> BoolArray:
    tolerations = pod.pod.spec.tolerations
    fine = [not has_untolerated(taints, tolerations) for taints in nodes.taint_sets]
    return np.array(fine, dtype=np.bool_)[nodes.taint_ids]
