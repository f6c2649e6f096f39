"""VolumeRestrictions: disks that a node mounts once, and claims that only one pod may use."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
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
from apps.scheduler.framework.node_columns import NodeColumns, Reads
from apps.scheduler.framework.status import SKIP, Status, unresolvable, unschedulable
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import PersistentVolumeClaim, Pod
from apps.scheduler.plugins.helper.node_text import list_names
from apps.scheduler.plugins.helper.pod_signs import volumes_sign
from apps.scheduler.plugins.helper.storage import claim_not_found

NAME: Final = "VolumeRestrictions"
REASON_DISK: Final = "node(s) had no available disk"
REASON_READ_WRITE_ONCE_POD: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"

_DISK, _CLAIM = 1, 2
_STATUSES = (None, unschedulable(REASON_DISK), unschedulable(REASON_READ_WRITE_ONCE_POD))
_PRE_FILTER_STATE: Final = f"PreFilter{NAME}"
_ONCE_PER_NODE: Final = frozenset(
    {MountKind.GCE_DISK, MountKind.EBS_VOLUME, MountKind.ISCSI_VOLUME, MountKind.RBD_IMAGE}
)


@dataclass(slots=True)
class PreFilterState:
    #: names of the pod's claims that only one pod may use
    exclusive_claims: frozenset[str]
    #: how many pods on nodes use these claims; updated by AddPod and RemovePod
    users: int

    def clone(self) -> PreFilterState:
        return replace(self)

    def count(self, pod: PodInfo, sign: int) -> None:
        """Counts by the name of the claim only, in any namespace, as upstream."""
        for volume in pod.pod.spec.volumes:
            claim = volume.persistent_volume_claim
            if claim is not None and claim.claim_name in self.exclusive_claims:
                self.users += sign


class VolumeRestrictions:
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
        exclusive = set()
        for mount in pod.mounts:
            if mount.kind is not MountKind.CLAIM:
                continue
            namespace, name = mount.of
            claim = self._handle.listers.persistent_volume_claims.get(name, namespace)
            if claim is None:
                return None, unresolvable(claim_not_found(name))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                exclusive.add(mount)
        in_use = sum(bool(self._handle.snapshot.mounts.rows(mount)) for mount in exclusive)
        if not in_use and not any(mount.kind in _ONCE_PER_NODE for mount in pod.mounts):
            return None, SKIP
        claims = frozenset(mount.of[1] for mount in exclusive)
        state.write(_PRE_FILTER_STATE, PreFilterState(claims, in_use))
        return None, None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, nodes: NodeColumns) -> None:
        state.read(_PRE_FILTER_STATE, PreFilterState).count(added, 1)

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, nodes: NodeColumns
    ) -> None:
        state.read(_PRE_FILTER_STATE, PreFilterState).count(removed, -1)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        disks = [rival for mount in pod.mounts for rival in rivals(mount)]
        users = state.read(_PRE_FILTER_STATE, PreFilterState).users
        if not disks and users <= 0:
            return None
        otherwise = _CLAIM if users > 0 else 0
        taken = nodes.mounted(disks)
        return Verdicts(np.where(taken, _DISK, otherwise).astype(np.uint16), _STATUSES)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        """The disks that pods of the node mount, or the claims that pods of any node use."""
        if REASON_DISK in status.reasons:
            return _describe_disks(pod, nodes.info(0))
        return self._describe_claims(state)

    def _describe_claims(self, state: CycleState) -> Iterator[Detail]:
        claims = state.read(_PRE_FILTER_STATE, PreFilterState).exclusive_claims
        snapshot = self._handle.snapshot
        for row in snapshot.order.tolist():
            info = snapshot.info(row)
            for other in info.pods.values():
                for claim in sorted(claims.intersection(other.claim_names)):
                    yield Detail(
                        f"claim {claim} has the access mode {READ_WRITE_ONCE_POD} and is used by "
                        f"{other.key} on {info.name}",
                        {"claim": claim, "pod": other.key, "node": info.name},
                    )

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        deleted = ClusterEvent(Resource.POD, ActionType.DELETE)
        claim = ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
        return (
            ClusterEventWithHint(
                deleted, _hint_pod_deleted, looks_for="that uses a disk or claim of this pod"
            ),
            ClusterEventWithHint(ClusterEvent(Resource.NODE, ActionType.ADD)),
            ClusterEventWithHint(claim, _hint_claim_added),
        )


def _hint_pod_deleted(pod: PodInfo, old: Pod, new: Pod | None) -> QueueingHint:
    """A pod of the namespace no longer uses a disk or a claim of this pod."""
    if old.metadata.namespace != pod.namespace:
        return QueueingHint.QUEUE_SKIP
    freed = set(PodInfo(old).mounts)
    disks = any(rival in freed for mount in pod.mounts for rival in rivals(mount))
    claims = any(mount.kind is MountKind.CLAIM and mount in freed for mount in pod.mounts)
    return QueueingHint.QUEUE if disks or claims else QueueingHint.QUEUE_SKIP


def _hint_claim_added(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """A claim of the pod was created, so that its access mode is known."""
    claim = Mount(MountKind.CLAIM, (new.metadata.namespace, new.metadata.name))
    return QueueingHint.QUEUE if claim in pod.mounts else QueueingHint.QUEUE_SKIP


def _describe_disks(pod: PodInfo, node: NodeInfo) -> Iterator[Detail]:
    """The pods of a node that mount a disk of this pod in a way that conflicts."""
    for mount in pod.mounts:
        holders = [
            other.key
            for other in node.pods.values()
            if any(rival in other.mounts for rival in rivals(mount))
        ]
        if holders:
            disk = "/".join(mount.of)
            yield Detail(
                f"the {mount.kind.value} {disk} is mounted by {list_names(holders)}",
                {"kind": mount.kind.value, "disk": disk, "pods": holders},
            )


def rivals(mount: Mount) -> tuple[Mount, ...]:
    """Mounts that conflict with this one on a node.

    An EBS volume can be mounted once; a GCE disk, an iSCSI volume and an RBD image once, or any
    number of times if all mounts are read-only.
    """
    if mount.kind not in _ONCE_PER_NODE:
        return ()
    writer, reader = mount._replace(read_only=False), mount._replace(read_only=True)
    if mount.read_only and mount.kind is not MountKind.EBS_VOLUME:
        return (writer,)
    return (writer, reader)
