"""EBSLimits, GCEPDLimits, AzureDiskLimits, CinderLimits: disks a node can attach (until 1.30).

They count in-tree volumes on nodes without a CSINode; NodeVolumeLimits counts the rest.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.mounts import Mount, MountKind
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.status import unschedulable
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import PersistentVolumeClaim
from apps.scheduler.plugins.helper.csi_migration import (
    AZURE_DISK,
    CINDER,
    EBS,
    GCE_PD,
    MigratedPlugin,
    plugin_of_mount,
    plugin_of_provisioner,
    plugin_of_volume,
)
from apps.scheduler.plugins.helper.csi_nodes import find_with_csi_node
from apps.scheduler.plugins.nodevolumelimits.attachable import CSIVolume
from apps.scheduler.plugins.nodevolumelimits.attached import AttachedVolumes

REASON: Final = "node(s) exceed max volume count"
_STATUSES = (None, unschedulable(REASON))
_INSTANCE_TYPE: Final = ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type")
_NITRO = re.compile("^[cmr]5.*|t3|z1d")
_NITRO_LIMIT: Final = 25


class InTreeVolumes:
    """The in-tree volume of a mount; the name of the plugin takes the place of the driver."""

    #: which volume a mount has does not depend on the node
    depends_on_csi_nodes = False

    def __init__(self, plugin: MigratedPlugin, listers: Listers) -> None:
        self._plugin = plugin
        self._listers = listers

    def claim_of(self, mount: Mount) -> PersistentVolumeClaim | None:
        return self._listers.persistent_volume_claims.get(mount.of[1], mount.of[0])

    def resolve(self, mount: Mount, node_name: str) -> CSIVolume | None:
        """None for volumes of other plugins and for unknown volumes."""
        if plugin_of_mount(mount) is self._plugin:
            return CSIVolume(self._plugin.name, mount.of[0])
        claim = self.claim_of(mount) if mount.kind is MountKind.CLAIM else None
        if claim is None:
            return None
        volume = self._listers.persistent_volumes.get(claim.spec.volume_name)
        if volume is not None:
            in_tree = plugin_of_volume(volume)
            known = in_tree is not None and in_tree[0] is self._plugin
            return CSIVolume(self._plugin.name, in_tree[1]) if in_tree and known else None
        # A claim that waits for a volume of the plugin counts as that volume.
        storage_class = self._listers.storage_classes.get(claim.spec.storage_class_name or "")
        if storage_class is None:
            return None
        if plugin_of_provisioner(storage_class.provisioner) is not self._plugin:
            return None
        return CSIVolume(self._plugin.name, f"\0{claim.key}")


class InTreeLimits:
    """One kind of disk; the limit is that of the node, or else of its machine type."""

    name: str
    is_legacy = True
    plugin: MigratedPlugin
    #: the name of the limit in a node's allocatable
    resource: str
    default_limit: int

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle
        self._volumes = InTreeVolumes(self.plugin, handle.listers)
        self._attached = AttachedVolumes(handle.snapshot, handle.listers, self._volumes)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        wanted = self._wanted(pod)
        if not wanted:
            return None
        total = self._total(wanted, nodes)
        refused = total > nodes.memo((self.name, "limits"), self._limits, depends="node")
        refused &= ~find_with_csi_node(nodes, self._handle.listers.csi_nodes)
        return Verdicts(refused.astype(np.uint16), _STATUSES)

    def room(self, pod: PodInfo, nodes: NodeColumns) -> tuple[Int64Array, Int64Array] | None:
        """How many volumes the pod adds to each node, and how many the node can still attach.

        (n,) int64 each; None for a pod without such volumes.
        """
        wanted = self._wanted(pod)
        if not wanted:
            return None
        total = self._total(wanted, nodes)
        attached = self._attached.count(self.plugin.name)[nodes.snapshot_rows]
        limits = nodes.memo((self.name, "limits"), self._limits, depends="node")
        return total - attached, limits - attached

    def _wanted(self, pod: PodInfo) -> set[CSIVolume]:
        volumes = (self._volumes.resolve(mount, "") for mount in pod.mounts)
        return {volume for volume in volumes if volume is not None}

    def _total(self, wanted: set[CSIVolume], nodes: NodeColumns) -> Int64Array:
        """(n,) int64: the volumes on each node, with those of the pod."""
        self._attached.refresh()
        new = np.full(len(self._handle.snapshot), len(wanted), dtype=np.int64)
        for volume in wanted:
            new[list(self._attached.rows_with(volume))] -= 1
        total = (self._attached.count(self.plugin.name) + new)[nodes.snapshot_rows]
        for row in nodes.modified_rows:
            info = nodes.info(row)
            total[row] = len(self._attached.volumes_of(info.mounts, info.name) | wanted)
        return np.asarray(total)

    def _limits(self, nodes: NodeColumns) -> Int64Array:
        limits = np.zeros(len(nodes), dtype=np.int64)
        for row in np.flatnonzero(nodes.alive).tolist():
            info = nodes.info(row)
            own = info.allocatable.get(self.resource)
            limits[row] = self.limit_of_machine(info) if own is None else own
        return limits

    def limit_of_machine(self, node: NodeInfo) -> int:
        """The limit of a node that does not report one."""
        return self.default_limit


class EBSLimits(InTreeLimits):
    name = "EBSLimits"
    plugin = EBS
    resource = "attachable-volumes-aws-ebs"
    default_limit = 39

    def limit_of_machine(self, node: NodeInfo) -> int:
        """Newer machine types have a lower limit."""
        labels = node.node.metadata.labels if node.node is not None else {}
        machine = next((labels[key] for key in _INSTANCE_TYPE if key in labels), "")
        return _NITRO_LIMIT if _NITRO.search(machine) else self.default_limit


class GCEPDLimits(InTreeLimits):
    name = "GCEPDLimits"
    plugin = GCE_PD
    resource = "attachable-volumes-gce-pd"
    default_limit = 16


class AzureDiskLimits(InTreeLimits):
    name = "AzureDiskLimits"
    plugin = AZURE_DISK
    resource = "attachable-volumes-azure-disk"
    default_limit = 16


class CinderLimits(InTreeLimits):
    name = "CinderLimits"
    plugin = CINDER
    resource = "attachable-volumes-cinder"
    default_limit = 256


#: in the order in which they ran
ATTACHMENT_LIMITS: Final[tuple[type[InTreeLimits], ...]] = (
    EBSLimits,
    GCEPDLimits,
    AzureDiskLimits,
    CinderLimits,
)
