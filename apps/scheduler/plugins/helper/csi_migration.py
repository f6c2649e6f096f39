"""In-tree volumes that are migrated to CSI drivers, on nodes whose CSINode says so.

The data is that of k8s.io/csi-translation-lib, for the plugins that kube-scheduler 1.36 still
checks: EBS, GCE PD, Azure Disk, Cinder and Portworx.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from apps.scheduler.framework.mounts import Mount, MountKind
from apps.scheduler.objects import CSINode, PersistentVolume

MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"

BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
#: separates the zones in the label of a volume
ZONE_DELIMITER: Final = "__"

_EBS_ID = re.compile(r"vol-[^/]*")
_UNSPECIFIED: Final = "UNSPECIFIED"


class TranslationError(ValueError):
    """An in-tree volume that has no CSI equivalent; the message is for users."""


@dataclass(frozen=True, slots=True)
class MigratedPlugin:
    """An in-tree plugin and the CSI driver that replaces it."""

    name: str
    driver: str
    #: the driver's node label for zones; "" if it has none
    zone_key: str
    #: (volume's id, labels of the persistent volume) -> the driver's handle
    handle: Callable[[str, Mapping[str, str]], str]

    def is_migrated_on(self, csi_node: CSINode | None) -> bool:
        """Whether the node uses the driver for the volumes of this plugin."""
        if csi_node is None:
            return False
        return self.name in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")


def _same(volume: str, labels: Mapping[str, str]) -> str:
    return volume


def _ebs_handle(volume: str, labels: Mapping[str, str]) -> str:
    """The bare id; in-tree volumes may write it ``aws://zone/vol-1``."""
    if not volume.startswith("aws://"):
        return volume
    name = volume.removeprefix("aws://").partition("/")[2].strip("/")
    if not _EBS_ID.fullmatch(name):
        raise TranslationError(
            "failed to translate Kubernetes ID to EBS Volume ID "
            f"Invalid format for AWS volume ({volume})"
        )
    return name


def _gce_handle(disk: str, labels: Mapping[str, str]) -> str:
    """The disk's path, with the zone (or, of several zones, the region) of the volume's labels."""
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_DELIMITER)
    place = f"zones/{zones[0] or _UNSPECIFIED}"
    if len(zones) > 1:
        place = f"regions/{_gce_region(zones)}"
    return f"projects/{_UNSPECIFIED}/{place}/disks/{disk}"


def _gce_region(zones: list[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        raise TranslationError(
            "failed to get region from zones: multiple or no regions gotten from zones, "
            f"got: {sorted(regions)}"
        )
    return regions.pop()


EBS: Final = MigratedPlugin(
    "kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone", _ebs_handle
)
GCE_PD: Final = MigratedPlugin(
    "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone", _gce_handle
)
AZURE_DISK: Final = MigratedPlugin(
    "kubernetes.io/azure-disk", "disk.csi.azure.com", "topology.disk.csi.azure.com/zone", _same
)
CINDER: Final = MigratedPlugin(
    "kubernetes.io/cinder",
    "cinder.csi.openstack.org",
    "topology.cinder.csi.openstack.org/zone",
    _same,
)
PORTWORX: Final = MigratedPlugin("kubernetes.io/portworx-volume", "pxd.portworx.com", "", _same)

_BY_KIND: Final = {
    MountKind.EBS_VOLUME: EBS,
    MountKind.GCE_DISK: GCE_PD,
    MountKind.AZURE_DISK: AZURE_DISK,
    MountKind.CINDER_VOLUME: CINDER,
    MountKind.PORTWORX_VOLUME: PORTWORX,
}
#: in-tree plugins whose classes count as in-tree, although no limit counts their volumes
_OTHERS: Final = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})
_BY_NAME: Final = {plugin.name: plugin for plugin in _BY_KIND.values()}


def plugin_of_mount(mount: Mount) -> MigratedPlugin | None:
    """The plugin of a volume that a pod names inline."""
    return _BY_KIND.get(mount.kind)


def plugin_of_provisioner(provisioner: str) -> MigratedPlugin | None:
    return _BY_NAME.get(provisioner)


def is_in_tree(provisioner: str) -> bool:
    """Whether volumes of this provisioner are in-tree ones."""
    return provisioner in _BY_NAME or provisioner in _OTHERS


def plugin_of_volume(volume: PersistentVolume) -> tuple[MigratedPlugin, str] | None:
    """The plugin of an in-tree volume and the volume's id there; None for other volumes."""
    spec = volume.spec
    if spec.aws_elastic_block_store is not None:
        return EBS, spec.aws_elastic_block_store.volume_id
    if spec.gce_persistent_disk is not None:
        return GCE_PD, spec.gce_persistent_disk.pd_name
    if spec.azure_disk is not None:
        return AZURE_DISK, spec.azure_disk.disk_uri
    if spec.cinder is not None:
        return CINDER, spec.cinder.volume_id
    if spec.portworx_volume is not None:
        return PORTWORX, spec.portworx_volume.volume_id
    return None
