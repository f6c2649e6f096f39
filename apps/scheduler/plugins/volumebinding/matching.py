"""Find the smallest volume for a claim, for all nodes at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.labels import EVERYTHING, Selector, from_label_selector
from apps.scheduler.objects import PersistentVolume, PersistentVolumeClaim
from apps.scheduler.plugins.volumebinding.pod_volume_claims import requested_storage
from apps.scheduler.plugins.volumebinding.topology import find_reachable, node_affinity
from apps.scheduler.plugins.volumebinding.volumes import ClassVolumes, Traits, traits_of

NO_VOLUME: Final = -1
#: worse than the rank of any candidate
_NONE: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Demand:
    """The requirements of a claim for a volume."""

    #: size in 10⁻⁹ bytes
    nanos: int
    mode: str
    attributes_class: str
    access_modes: frozenset[str]
    selector: Selector

    def takes(self, traits: Traits) -> bool:
        """Whether a volume without a claim matches."""
        return (
            self.takes_promised(traits)
            and self.access_modes <= traits.access_modes
            and self.selector.matches(dict(traits.labels))
        )

    def takes_promised(self, traits: Traits) -> bool:
        """Whether a volume that names the claim matches."""
        return (
            traits.nanos >= self.nanos
            and traits.mode == self.mode
            and traits.attributes_class == self.attributes_class
        )


def demand_of(claim: PersistentVolumeClaim) -> Demand:
    """Raises SelectorError for an invalid selector."""
    spec = claim.spec
    return Demand(
        nanos=requested_storage(claim),
        mode=spec.volume_mode,
        attributes_class=spec.volume_attributes_class_name or "",
        access_modes=frozenset(spec.access_modes),
        selector=from_label_selector(spec.selector) if spec.selector is not None else EVERYTHING,
    )


def match(
    claim: PersistentVolumeClaim,
    volumes: ClassVolumes,
    nodes: NodeColumns,
    taken: Sequence[Int64Array],
) -> Int64Array:
    """(n,) int64: the slot of the volume that each node would get, NO_VOLUME if it gets none.

    A volume that names the claim, or else the smallest that matches (among equals the first by
    name). ``taken``: the volumes that the pod's other claims of this class would get.
    """
    demand = demand_of(claim)
    promised = _find_promised(claim, demand, volumes)
    if promised is None:
        return _find_smallest_open(demand, volumes, nodes, taken)
    slot = volumes.slot_of(promised.metadata.name)
    in_reach = find_reachable(node_affinity(promised), nodes)
    if any((others == slot).any() for others in taken):
        # The pod names the claim twice; upstream looks for a second volume then.
        return np.where(in_reach, _find_smallest_open(demand, volumes, nodes, taken), NO_VOLUME)
    return np.where(in_reach, slot, NO_VOLUME)


def _find_smallest_open(
    demand: Demand, volumes: ClassVolumes, nodes: NodeColumns, taken: Sequence[Int64Array]
) -> Int64Array:
    slots = _rank_candidates(demand, volumes)
    best = np.full(len(nodes), _NONE, dtype=np.int64)
    for ranks in _offers(volumes, slots, nodes, depth=len(taken) + 1):
        offered = ranks < best
        for others in taken:
            offered[offered] = slots[ranks[offered]] != others[offered]
        best[offered] = ranks[offered]
    chosen = np.full(len(nodes), NO_VOLUME, dtype=np.int64)
    matched = best != _NONE
    chosen[matched] = slots[best[matched]]
    return chosen


def _find_promised(
    claim: PersistentVolumeClaim, demand: Demand, volumes: ClassVolumes
) -> PersistentVolume | None:
    for volume in volumes.meant_for(claim):
        if volume.metadata.deletion_timestamp is None and demand.takes_promised(traits_of(volume)):
            return volume
    return None


def _rank_candidates(demand: Demand, volumes: ClassVolumes) -> Int64Array:
    """Slots of the matching volumes, the best first: the position is a volume's *rank*."""
    if not len(volumes):
        return np.empty(0, dtype=np.int64)
    will_do = np.array([demand.takes(traits) for traits in volumes.traits.values], dtype=np.bool_)
    return volumes.smallest_first(np.flatnonzero(volumes.open & will_do[volumes.trait_ids]))


def _offers(
    volumes: ClassVolumes, slots: Int64Array, nodes: NodeColumns, *, depth: int
) -> Iterator[Int64Array]:
    """(n,) int64 arrays of ranks, _NONE where there is none.

    Together they hold, for every node, at least its ``depth`` best candidates: enough to choose
    from when other claims take all but one.
    """
    reaches = volumes.reaches
    ranks = np.arange(len(slots), dtype=np.int64)
    of_reach = _find_smallest(volumes.reach_ids[slots].astype(np.int64), ranks, len(reaches), depth)
    for number in reaches.others:
        if of_reach[0, number] != _NONE:
            in_reach = find_reachable(reaches[number], nodes)
            for rank in of_reach[:, number]:
                yield np.where(in_reach, rank, _NONE)
    for key, listed in reaches.by_label.items():
        column = nodes.label(key)
        numbers, value_ids = listed.pairs(column)
        offered = of_reach[:, numbers]
        levels, pairs = np.nonzero(offered != _NONE)
        of_value = _find_smallest(
            value_ids[pairs], offered[levels, pairs], len(column.values), depth
        )
        yield from of_value[:, column.ids]


def _find_smallest(groups: Int64Array, ranks: Int64Array, size: int, depth: int) -> Int64Array:
    """(depth, size + 1) int64: the smallest ranks of each group, ascending, then _NONE.

    ``groups[i]`` in 0..size-1 is the group of ``ranks[i]``. The last column is _NONE, so that an
    index of -1 finds nothing.
    """
    table = np.full((depth, size + 1), _NONE, dtype=np.int64)
    if depth == 1:
        np.minimum.at(table[0], groups, ranks)
        return table
    order = np.lexsort((ranks, groups))
    groups, ranks = groups[order], ranks[order]
    level = np.arange(len(groups)) - np.searchsorted(groups, groups)
    kept = level < depth
    table[level[kept], groups[kept]] = ranks[kept]
    return table
