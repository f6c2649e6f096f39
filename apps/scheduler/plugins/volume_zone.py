"""VolumeZone: volumes of a zone are used in that zone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.nodes import NodeTable
from apps.scheduler.framework.status import SKIP, Status, error
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from apps.scheduler.plugins import names

NAME = names.VOLUME_ZONE
#: labels of volumes and nodes that name a zone or region
TOPOLOGY_LABELS: Final = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)


class VolumeZone:
    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        if not pod.claim_names:
            return None, SKIP
        return None, error("PersistentVolumeClaims are not supported yet")

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable) -> Verdicts | None:
        return None

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
    """Only a class that waits for its consumer lets a pod without a volume pass."""
    waits = new.volume_binding_mode == "WaitForFirstConsumer"
    return QueueingHint.QUEUE if waits else QueueingHint.QUEUE_SKIP


def _hint_claim_changed(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """One of the claims that the pod names was made or changed."""
    sources = (volume.persistent_volume_claim for volume in pod.pod.spec.volumes)
    named = {source.claim_name for source in sources if source is not None}
    own = new.metadata.namespace == pod.namespace and new.metadata.name in named
    return QueueingHint.QUEUE if own else QueueingHint.QUEUE_SKIP


def _hint_volume_changed(
    pod: PodInfo, old: PersistentVolume | None, new: PersistentVolume
) -> QueueingHint:
    """A volume is new, or belongs to other zones now."""
    helps = old is None or zones_of(old) != zones_of(new)
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def zones_of(volume: PersistentVolume) -> Mapping[str, frozenset[str]]:
    """Topology label -> the zones it names, which are joined by a double underscore.

    A label with an empty zone in its list is left out, as upstream cannot read it.
    """
    labels = volume.metadata.labels
    named = {key: labels[key].split("__") for key in TOPOLOGY_LABELS if key in labels}
    return {
        key: frozenset(zone.strip() for zone in zones)
        for key, zones in named.items()
        if all(zone.strip() for zone in zones)
    }
