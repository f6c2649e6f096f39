"""The outcome of a pod's claims on each node: bind, provision, or the reason why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.node_columns import BoolArray, Int64Array, NodeColumns, UInt16Array
from apps.scheduler.framework.status import StatusError, error
from apps.scheduler.labels import SelectorError
from apps.scheduler.objects import PersistentVolume, PersistentVolumeClaim
from apps.scheduler.plugins.helper.csi_migration import TranslationError, plugin_of_volume
from apps.scheduler.plugins.helper.csi_nodes import find_migrated_nodes
from apps.scheduler.plugins.helper.storage import class_of_claim
from apps.scheduler.plugins.volumebinding.matching import NO_VOLUME, match
from apps.scheduler.plugins.volumebinding.pod_volume_claims import (
    PodClaims,
    requested_storage,
    selected_node,
)
from apps.scheduler.plugins.volumebinding.provisioning import Provisioning
from apps.scheduler.plugins.volumebinding.topology import (
    find_reachable,
    migrated_affinity,
    node_affinity,
)
from apps.scheduler.plugins.volumebinding.volumes import ClassVolumes, VolumeTables

#: bound claims: no problem, a volume is not accessible, a volume is missing
BOUND_OK, OUT_OF_REACH, MISSING = 0, 1, 2
#: other claims: no problem, nothing to bind to, not enough capacity to provision a volume
DELAYED_OK, NOTHING_TO_BIND, NO_SPACE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Pick:
    """The volume that a claim would be bound to on each node."""

    claim: PersistentVolumeClaim
    volumes: ClassVolumes
    #: (n,) int64, NO_VOLUME where there is none
    slots: Int64Array


@dataclass(frozen=True, slots=True)
class Provision:
    """A claim for which a volume has to be provisioned."""

    claim: PersistentVolumeClaim
    #: (n,) bool: the nodes for which
    where: BoolArray
    #: (n,) int64 bytes from which it would be, NO_CAPACITY if that is not tracked; empty unless
    #: the binder was asked for it
    capacity: Int64Array


@dataclass(slots=True)
class PodVolumes:
    """The outcome for n rows of a table."""

    #: (n,) uint16, BOUND_OK, OUT_OF_REACH or MISSING
    bound: UInt16Array
    #: (n,) uint16, DELAYED_OK, NOTHING_TO_BIND or NO_SPACE
    delayed: UInt16Array
    picks: list[Pick] = field(default_factory=list)
    provisions: list[Provision] = field(default_factory=list)
    #: whether the capacities of provisions are looked up
    measures: bool = False


class VolumeBinder:
    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._tables = VolumeTables(listers)
        self._provisioning = Provisioning(listers)

    def find_pod_volumes(
        self, claims: PodClaims, nodes: NodeColumns, *, measures: bool = False
    ) -> PodVolumes:
        """Raises StatusError for errors other than volumes that are not accessible.

        With `measures`, the capacities from which volumes would be provisioned are looked up.
        """
        none = np.zeros(len(nodes), dtype=np.uint16)
        bound = self._check_bound_claims(claims.bound, nodes)
        volumes = PodVolumes(bound, none, measures=measures)
        if claims.delayed:
            self._place_delayed_claims(claims.delayed, nodes, volumes)
        return volumes

    # -- bound claims --------------------------------------------------------------------------

    def _check_bound_claims(
        self, claims: Sequence[PersistentVolumeClaim], nodes: NodeColumns
    ) -> UInt16Array:
        """The first claim with a problem decides."""
        outcome = np.zeros(len(nodes), dtype=np.uint16)
        for claim in claims:
            volume = self._listers.assumed_volumes.get(claim.spec.volume_name)
            if volume is None:
                outcome[outcome == BOUND_OK] = MISSING
                break
            in_reach = self._reach_of(volume, nodes)
            if in_reach is not None:
                outcome[(outcome == BOUND_OK) & ~in_reach] = OUT_OF_REACH
        return outcome

    def _reach_of(self, volume: PersistentVolume, nodes: NodeColumns) -> BoolArray | None:
        """(n,) bool: nodes that can use the volume; None for all of them."""
        selector = node_affinity(volume)
        own = find_reachable(selector, nodes) if selector is not None else None
        in_tree = plugin_of_volume(volume)
        if in_tree is None:
            return own
        plugin, name = in_tree
        served = find_migrated_nodes(plugin, nodes, self._listers.csi_nodes)
        if not served.any():
            return own
        try:
            plugin.handle(name, volume.metadata.labels)
        except TranslationError as unknown:
            raise StatusError(error(f"could not translate pv: {unknown}")) from unknown
        by_driver = find_reachable(migrated_affinity(volume, plugin), nodes)
        return np.where(served, by_driver, True if own is None else own)

    # -- unbound claims ------------------------------------------------------------------------

    def _place_delayed_claims(
        self, claims: Sequence[PersistentVolumeClaim], nodes: NodeColumns, volumes: PodVolumes
    ) -> None:
        """Match claims with volumes, the smallest claim first; provision volumes for the others."""
        to_make = [claim for claim in claims if selected_node(claim) is not None]
        for claim in to_make:
            elsewhere = np.ones(len(nodes), dtype=np.bool_)
            elsewhere[_rows_of(nodes, selected_node(claim))] = False
            volumes.delayed[elsewhere] = NOTHING_TO_BIND
        to_match = [claim for claim in claims if selected_node(claim) is None]
        for claim in sorted(to_match, key=requested_storage):
            volumes.picks.append(self._match(claim, nodes, volumes.picks))
        everywhere = np.ones(len(nodes), dtype=np.bool_)
        for claim in to_make:
            self._provision(claim, everywhere, nodes, volumes)
        for pick in volumes.picks:
            self._provision(pick.claim, pick.slots == NO_VOLUME, nodes, volumes)

    def _match(
        self, claim: PersistentVolumeClaim, nodes: NodeColumns, others: Sequence[Pick]
    ) -> Pick:
        volumes = self._tables.of_class(class_of_claim(claim))
        taken = [pick.slots for pick in others if pick.volumes is volumes]
        try:
            return Pick(claim, volumes, match(claim, volumes, nodes, taken))
        except SelectorError as invalid:
            reason = f"error creating internal label selector for claim: {claim.key}: {invalid}"
            raise StatusError(error(reason)) from invalid

    def _provision(
        self,
        claim: PersistentVolumeClaim,
        needed: BoolArray,
        nodes: NodeColumns,
        volumes: PodVolumes,
    ) -> None:
        """Check where a volume can be provisioned for the claim."""
        needed = needed & (volumes.delayed == DELAYED_OK)
        if not needed.any():
            return
        possible = self._provisioning.possible(claim, nodes)
        volumes.delayed[needed & ~possible] = NOTHING_TO_BIND
        needed &= possible
        if not needed.any():
            return
        has_room = self._provisioning.has_room(claim, nodes)
        volumes.delayed[needed & ~has_room] = NO_SPACE
        volumes.provisions.append(
            Provision(claim, needed & has_room, self._measure(claim, nodes, volumes))
        )

    def _measure(
        self, claim: PersistentVolumeClaim, nodes: NodeColumns, volumes: PodVolumes
    ) -> Int64Array:
        if not volumes.measures:
            return np.empty(0, dtype=np.int64)
        return self._provisioning.capacity_for(claim, nodes)


def _rows_of(nodes: NodeColumns, name: str | None) -> list[int]:
    row = nodes.row_of(name) if name is not None else -1
    return [row] if row >= 0 else []
