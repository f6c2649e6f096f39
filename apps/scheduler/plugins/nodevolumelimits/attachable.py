"""Which CSI driver attaches a volume, and under which handle."""

from __future__ import annotations

from dataclasses import dataclass

from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.mounts import Mount, MountKind
from apps.scheduler.objects import PersistentVolume, PersistentVolumeClaim
from apps.scheduler.plugins.helper.csi_migration import (
    MigratedPlugin,
    TranslationError,
    is_in_tree,
    plugin_of_mount,
    plugin_of_provisioner,
    plugin_of_volume,
)
from apps.scheduler.plugins.helper.storage import class_of_claim, is_created_for


@dataclass(frozen=True, slots=True)
class CSIVolume:
    """A volume, attached once to a node for all pods there that use it."""

    driver: str
    handle: str


@dataclass(frozen=True, slots=True)
class Attachable:
    """A volume that counts: everywhere, or, with an in-tree plugin, on nodes with a CSINode.

    All of these plugins are migrated for good; unlike VolumeBinding, kube-scheduler does not ask
    here which ones the CSINode lists.
    """

    volume: CSIVolume
    plugin: MigratedPlugin | None = None


class AttachableVolumes:
    """Finds the volumes of mounts through claims, volumes and classes."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        #: whether any result so far depended on CSINodes
        self.depends_on_csi_nodes = False

    def claim_of(self, mount: Mount) -> PersistentVolumeClaim | None:
        """The claim that a claim or an ephemeral volume names."""
        return self._listers.persistent_volume_claims.get(mount.of[1], mount.of[0])

    def of(self, mount: Mount) -> Attachable | None:
        """None if no driver counts it, or if a claim or class is missing.

        Raises TranslationError for an inline volume that has no CSI equivalent.
        """
        if mount.kind not in (MountKind.CLAIM, MountKind.EPHEMERAL):
            plugin = plugin_of_mount(mount)
            if plugin is None:
                return None
            return Attachable(CSIVolume(plugin.driver, plugin.handle(mount.of[0], {})), plugin)
        claim = self.claim_of(mount)
        if claim is None:
            return None
        if mount.kind is MountKind.EPHEMERAL and not is_created_for(claim, mount.of[2]):
            return None
        attachable = self._of_claim(claim)
        if attachable is None or not attachable.volume.driver or not attachable.volume.handle:
            return None
        return attachable

    def resolve(self, mount: Mount, node_name: str) -> CSIVolume | None:
        """The volume that is attached to the node, None if it does not count."""
        try:
            attachable = self.of(mount)
        except TranslationError:
            return None
        if attachable is None or attachable.plugin is None:
            return None if attachable is None else attachable.volume
        self.depends_on_csi_nodes = True
        return None if self._listers.csi_nodes.get(node_name) is None else attachable.volume

    def _of_claim(self, claim: PersistentVolumeClaim) -> Attachable | None:
        """The disk that the claim attaches: its volume, or the one that will be provisioned."""
        volume = self._listers.persistent_volumes.get(claim.spec.volume_name)
        if volume is not None:
            return of_volume(volume)
        storage_class = self._listers.storage_classes.get(class_of_claim(claim))
        if storage_class is None:
            return None
        # No driver has handles like this one: the claim counts as the volume it will get.
        handle = f"\0{claim.key}"
        provisioner = storage_class.provisioner
        if not is_in_tree(provisioner):
            return Attachable(CSIVolume(provisioner, handle))
        plugin = plugin_of_provisioner(provisioner)
        return None if plugin is None else Attachable(CSIVolume(plugin.driver, handle), plugin)


def of_volume(volume: PersistentVolume) -> Attachable | None:
    """None for a volume that is neither a CSI volume nor can be translated."""
    csi = volume.spec.csi
    if csi is not None:
        return Attachable(CSIVolume(csi.driver, csi.volume_handle))
    in_tree = plugin_of_volume(volume)
    if in_tree is None:
        return None
    plugin, name = in_tree
    try:
        handle = plugin.handle(name, volume.metadata.labels)
    except TranslationError:
        return None
    return Attachable(CSIVolume(plugin.driver, handle), plugin)
