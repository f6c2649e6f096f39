"""SelectorSpread: the fewer pods of the same services and controllers, the better (until 1.22)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from apps.scheduler.cache.interning import Interner
from apps.scheduler.cache.label_index import selector_tags
from apps.scheduler.cache.node_tree import zone_of
from apps.scheduler.cache.pod_index import Name, PodClass
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, constant
from apps.scheduler.framework.status import SKIP, Status
from apps.scheduler.framework.types import LabelClass, PodInfo
from apps.scheduler.labels import Selector
from apps.scheduler.plugins.helper.arithmetic import decimal_text, rounded
from apps.scheduler.plugins.helper.default_selector import default_selector
from apps.scheduler.plugins.helper.normalize import raw_range

NAME: Final = "SelectorSpread"
#: the weight of the zone relative to the node
ZONE_WEIGHTING: Final = 2.0 / 3.0
NO_ZONE: Final = -1
_PRE_SCORE_STATE: Final = f"PreScore{NAME}"


@dataclass(frozen=True, slots=True)
class SiblingPods:
    """Counts the pods that belong to the same services and controllers."""

    namespace: str
    selector: Selector

    @property
    def name(self) -> Name:
        return Name(NAME, self.namespace, self.selector)

    @property
    def tags(self) -> Collection[Hashable] | None:
        return selector_tags(self.selector, (self.namespace,))

    def weigh(self, known: PodClass[LabelClass]) -> int:
        """1 for running pods that are not terminating; 0 if no selector selects the pod."""
        namespace, _, terminating = known.key
        if namespace != self.namespace or terminating or self.selector.everything:
            return 0
        return int(self.selector.matches(known.example.labels))


@dataclass(frozen=True, slots=True)
class PreScoreState:
    siblings: SiblingPods
    #: (rows to be scored,) int64, NO_ZONE for nodes without a zone
    zones: Int64Array

    def clone(self) -> PreScoreState:
        return self


class SelectorSpread:
    name = NAME
    is_legacy = True

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle
        self._zones: Interner[str] = Interner()

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        """Skip for a pod that has its own spread constraints."""
        if pod.pod.spec.topology_spread_constraints:
            return SKIP
        selector = default_selector(pod, self._handle.listers)
        zones = nodes.memo((self, "zones"), self._zone_ids, depends="node")[rows]
        siblings = SiblingPods(pod.namespace, selector)
        state.write(_PRE_SCORE_STATE, PreScoreState(siblings, zones))
        return None

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """The number of such pods on the node."""
        if not nodes.has_pods:
            return constant(len(rows), 0)
        siblings = state.read(_PRE_SCORE_STATE, PreScoreState).siblings
        counts = self._handle.snapshot.pods_by_labels.counts(siblings)
        return counts.values[nodes.snapshot_rows[rows]]

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Int64Array) -> Int64Array:
        return spread(scores, state.read(_PRE_SCORE_STATE, PreScoreState).zones)

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """The selector of such pods, and how many of them are on the node."""
        siblings = state.read(_PRE_SCORE_STATE, PreScoreState).siblings
        counts = self._handle.snapshot.pods_by_labels.counts(siblings)
        count = int(counts.values[nodes.snapshot_rows[0]])
        if siblings.selector.everything or siblings.selector.nothing:
            words = "no service or controller selects the pod: 0"
        else:
            words = f"pods with {siblings.selector} on the node: {count}"
        yield Detail(words, {"selector": str(siblings.selector), "score": count})

    def explain_normalization(
        self, state: CycleState, pod: PodInfo, scores: Int64Array, place: int
    ) -> Iterator[Detail]:
        zones = state.read(_PRE_SCORE_STATE, PreScoreState).zones
        return describe_spread(scores, zones, place, int(spread(scores, zones)[place]))

    def _zone_ids(self, nodes: NodeColumns) -> Int64Array:
        """(n,) int64: a number for each zone of a region."""
        ids = np.full(len(nodes), NO_ZONE, dtype=np.int64)
        for row in np.flatnonzero(nodes.alive).tolist():
            node = nodes.info(row).node
            zone = zone_of(node) if node is not None else ""
            if zone:
                ids[row] = self._zones.id(zone)
        return ids


def spread(counts: Int64Array, zones: Int64Array) -> Int64Array:
    """100 where there are no matching pods, 0 where there are most; in a zone, 2/3 by the zone.

    The order of the float operations is upstream's, as the result is truncated.
    """
    by_node = _free_share(counts, counts.max(initial=0))
    zoned = zones != NO_ZONE
    if not zoned.any():
        return by_node.astype(np.int64)
    in_zone = np.bincount(zones[zoned], weights=counts[zoned]).astype(np.int64)
    by_zone = _free_share(in_zone, in_zone.max(initial=0))[np.where(zoned, zones, 0)]
    both = by_node * (1.0 - ZONE_WEIGHTING) + ZONE_WEIGHTING * by_zone
    return np.where(zoned, both, by_node).astype(np.int64)


def describe_spread(
    counts: Int64Array, zones: Int64Array, place: int, result: int
) -> Iterator[Detail]:
    """The share by the node, the share by its zone, and the two together."""
    figures = raw_range(counts, place)
    most = figures["greatest"]
    by_node = Fraction(100 * (most - figures["raw"]), most) if most else Fraction(100)
    yield Detail(
        f"by node: 100 × ({most} − {figures['raw']}) / {most} = {decimal_text(by_node)}"
        if most
        else "by node: no node has such pods: 100",
        {"by": "node", "pods": figures["raw"], "most": most, "share": float(by_node)},
    )
    if zones[place] == NO_ZONE:
        yield Detail(f"the node has no zone: {result}", {**figures, "score": result})
        return
    in_zone = np.bincount(zones[zones != NO_ZONE], weights=counts[zones != NO_ZONE])
    here, most = int(in_zone[zones[place]]), int(in_zone.max())
    by_zone = Fraction(100 * (most - here), most) if most else Fraction(100)
    yield Detail(
        f"by zone: 100 × ({most} − {here}) / {most} = {decimal_text(by_zone)}"
        if most
        else "by zone: no zone has such pods: 100",
        {"by": "zone", "pods": here, "most": most, "share": float(by_zone)},
    )
    exact = by_node / 3 + by_zone * 2 / 3
    yield Detail(
        f"{decimal_text(by_node)} × 1/3 + {decimal_text(by_zone)} × 2/3 = {rounded(exact, result)}",
        {**figures, "score": result},
    )


def _free_share(counts: Int64Array, greatest: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if greatest == 0:
        return np.full(len(counts), float(MAX_NODE_SCORE))
    return MAX_NODE_SCORE * ((greatest - counts) / float(greatest))
