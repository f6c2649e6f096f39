"""VolumeZone: refuses nodes outside the zones and regions of the pod's volumes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.mounts import Mount, MountKind
from apps.scheduler.framework.node_columns import BoolArray, NodeColumns, Reads
from apps.scheduler.framework.status import SKIP, Status, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from apps.scheduler.plugins.helper.csi_migration import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    ZONE_DELIMITER,
)
from apps.scheduler.plugins.helper.node_text import label_text
from apps.scheduler.plugins.helper.pod_signs import volumes_sign
from apps.scheduler.plugins.helper.storage import (
    WAIT_FOR_FIRST_CONSUMER,
    claim_not_found,
    class_not_found,
    class_of_claim,
    volume_not_found,
)

NAME: Final = "VolumeZone"
REASON: Final = "node(s) had no available volume zone"
REASON_NO_CLASS: Final = "PersistentVolumeClaim had no pv name and storageClass name"
REASON_NO_VOLUME: Final = "PersistentVolume had no name"
#: labels of volumes and nodes that name a zone or region
TOPOLOGY_LABELS: Final = (BETA_ZONE, BETA_REGION, ZONE, REGION)

_STATUSES = (None, unresolvable(REASON))
_PRE_FILTER_STATE: Final = f"PreFilter{NAME}"
#: older label -> newer label, which counts where a node lacks the older one
_SUCCESSOR: Final = {BETA_ZONE: ZONE, BETA_REGION: REGION}

#: topology labels and the zones or regions they allow: a node must satisfy each of them
Topologies = frozenset[tuple[str, frozenset[str]]]


@dataclass(frozen=True, slots=True)
class PreFilterState:
    topologies: Topologies

    def clone(self) -> PreFilterState:
        return self


class VolumeZone:
    name = NAME
    sign_reads: Reads = "nodes"

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    def sign(self, pod: PodInfo) -> Hashable | None:
        return None if pod.pod.spec.volumes else ()

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return volumes_sign(pod)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        topologies: set[tuple[str, frozenset[str]]] = set()
        for mount in pod.mounts:
            if mount.kind is MountKind.CLAIM:
                zones = self._zones(*mount.of)
                if isinstance(zones, Status):
                    return None, zones
                topologies.update(zones.items())
        if not topologies:
            return None, SKIP
        state.write(_PRE_FILTER_STATE, PreFilterState(frozenset(topologies)))
        return None, None

    def _zones(self, namespace: str, name: str) -> Mapping[str, frozenset[str]] | Status:
        """The zones of the claim's volume, none if it has no volume yet; a status on failure."""
        listers = self._handle.listers
        claim = listers.persistent_volume_claims.get(name, namespace)
        if claim is None:
            return unresolvable(claim_not_found(name))
        if not claim.spec.volume_name:
            return self._zones_of_unbound(claim)
        volume = listers.persistent_volumes.get(claim.spec.volume_name)
        if volume is None:
            return unresolvable(volume_not_found(claim.spec.volume_name))
        return zones_of(volume)

    def _zones_of_unbound(
        self, claim: PersistentVolumeClaim
    ) -> Mapping[str, frozenset[str]] | Status:
        name = class_of_claim(claim)
        if not name:
            return unresolvable(REASON_NO_CLASS)
        storage_class = self._handle.listers.storage_classes.get(name)
        if storage_class is None:
            return unresolvable(class_not_found(name))
        if storage_class.volume_binding_mode != WAIT_FOR_FIRST_CONSUMER:
            return unresolvable(REASON_NO_VOLUME)
        return {}

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        topologies = state.read(_PRE_FILTER_STATE, PreFilterState).topologies
        refused = nodes.memo(
            (NAME, topologies), lambda table: ~allows(topologies, table), depends="node"
        )
        return Verdicts(refused.astype(np.uint16), _STATUSES)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        """The volumes whose zone or region is not the node's."""
        node = nodes.info(0).node
        labels = node.metadata.labels if node is not None else {}
        for mount in pod.mounts:
            zones = self._zones(*mount.of) if mount.kind is MountKind.CLAIM else {}
            for key, allowed in {} if isinstance(zones, Status) else sorted(zones.items()):
                own = key if key in labels else _SUCCESSOR.get(key, key)
                if labels.get(own) not in allowed:
                    yield self._describe_zone(mount, key, allowed, label_text(labels, own))

    def _describe_zone(self, mount: Mount, key: str, allowed: Collection[str], has: str) -> Detail:
        namespace, claim = mount.of
        bound = self._handle.listers.persistent_volume_claims.get(claim, namespace)
        volume = bound.spec.volume_name if bound is not None else ""
        zones = ", ".join(sorted(allowed))
        return Detail(
            f"claim {claim} is bound to volume {volume} in {key}={zones}: the node has {has}",
            {"claim": claim, "volume": volume, "key": key, "allowed": sorted(allowed), "has": has},
        )

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        either = ActionType.ADD | ActionType.UPDATE
        node = ClusterEvent(Resource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        storage_class = ClusterEvent(Resource.STORAGE_CLASS, ActionType.ADD)
        claim = ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, either)
        volume = ClusterEvent(Resource.PERSISTENT_VOLUME, either)
        return (
            ClusterEventWithHint(storage_class, _hint_storage_class_added),
            ClusterEventWithHint(node),
            ClusterEventWithHint(claim, _hint_claim_changed),
            ClusterEventWithHint(volume, _hint_volume_changed),
        )


def _hint_storage_class_added(
    pod: PodInfo, old: StorageClass | None, new: StorageClass
) -> QueueingHint:
    """Only a class with WaitForFirstConsumer lets a claim without a volume pass."""
    waits = new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    return QueueingHint.QUEUE if waits else QueueingHint.QUEUE_SKIP


def _hint_claim_changed(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """One of the claims that the pod names was created or updated."""
    sources = (volume.persistent_volume_claim for volume in pod.pod.spec.volumes)
    named = {source.claim_name for source in sources if source is not None}
    own = new.metadata.namespace == pod.namespace and new.metadata.name in named
    return QueueingHint.QUEUE if own else QueueingHint.QUEUE_SKIP


def _hint_volume_changed(
    pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume
) -> QueueingHint:
    """The volume is new, or its zones changed."""
    helps = old is None or zones_of(old) != zones_of(new)
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def allows(topologies: Topologies, nodes: NodeColumns) -> BoolArray:
    """(n,) bool: nodes in the zones and regions; a node without any such label passes."""
    columns = {key: nodes.label(key) for key in TOPOLOGY_LABELS}
    nowhere, matching = np.ones((2, len(nodes)), dtype=np.bool_)
    for column in columns.values():
        nowhere &= column.ids < 0
    for key, zones in topologies:
        own = columns[key]
        matches = own.is_any_of(zones)
        if key in _SUCCESSOR:
            newer = columns[_SUCCESSOR[key]].is_any_of(zones)
            matches = np.where(own.ids < 0, newer, matches)
        matching &= matches
    return matching | nowhere


def zones_of(volume: PersistentVolume) -> Mapping[str, frozenset[str]]:
    """Topology label -> its zones, which are separated by a double underscore.

    A label with an empty zone in its list is left out, as upstream.
    """
    labels = volume.metadata.labels
    named = {key: labels[key].split(ZONE_DELIMITER) for key in TOPOLOGY_LABELS if key in labels}
    return {
        key: frozenset(zone.strip() for zone in zones)
        for key, zones in named.items()
        if all(zone.strip() for zone in zones)
    }
