"""The volume sources of pods and persistent volumes that scheduling reads."""

from __future__ import annotations

import msgspec

from apps.scheduler.objects.meta import (
    Int32,
    KubeStruct,
    LabelSelector,
    ObjectMeta,
    ResourceList,
    TypedLocalObjectReference,
)


class ResourceRequirements(KubeStruct, frozen=True):
    requests: ResourceList = {}
    limits: ResourceList = {}


class PersistentVolumeClaimVolumeSource(KubeStruct, frozen=True):
    claim_name: str = ""
    read_only: bool = False


class PersistentVolumeClaimSpec(KubeStruct, frozen=True):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: ResourceRequirements = ResourceRequirements()
    volume_name: str = ""
    #: None selects the default class, "" no class
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    data_source: TypedLocalObjectReference | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(KubeStruct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(KubeStruct, frozen=True):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class GCEPersistentDiskVolumeSource(KubeStruct, frozen=True):
    pd_name: str = ""
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(KubeStruct, frozen=True):
    volume_id: str = msgspec.field(default="", name="volumeID")
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AzureDiskVolumeSource(KubeStruct, frozen=True):
    disk_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")
    read_only: bool = False


class AzureFileVolumeSource(KubeStruct, frozen=True):
    secret_name: str = ""
    share_name: str = ""
    secret_namespace: str | None = None
    read_only: bool = False


class CinderVolumeSource(KubeStruct, frozen=True):
    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class VsphereVirtualDiskVolumeSource(KubeStruct, frozen=True):
    volume_path: str = ""


class PortworxVolumeSource(KubeStruct, frozen=True):
    volume_id: str = msgspec.field(default="", name="volumeID")
    read_only: bool = False


class ISCSIVolumeSource(KubeStruct, frozen=True):
    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    read_only: bool = False


class RBDVolumeSource(KubeStruct, frozen=True):
    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class CSIVolumeSource(KubeStruct, frozen=True):
    """Inline in a pod (no handle) or of a persistent volume."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    fs_type: str = ""
    volume_attributes: dict[str, str] = {}


class ImageVolumeSource(KubeStruct, frozen=True):
    reference: str = ""
    pull_policy: str = ""


class HostPathVolumeSource(KubeStruct, frozen=True):
    path: str = ""
    type: str | None = None


class LocalVolumeSource(KubeStruct, frozen=True):
    path: str = ""


class VolumeSources(KubeStruct, frozen=True):
    """The sources a pod's volume and a persistent volume have in common."""

    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None


class Volume(VolumeSources, frozen=True):
    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None
