"""The volumes that pods mount, as keys: volumes with equal keys are the same volume."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from apps.scheduler.objects import Pod, Volume


class MountKind(Enum):
    #: (namespace, claim)
    CLAIM = "claim"
    #: (namespace, claim, uid of the pod that the claim is created for)
    EPHEMERAL = "ephemeral"
    #: (disk name,)
    GCE_DISK = "gce disk"
    #: (volume id,)
    EBS_VOLUME = "ebs volume"
    #: (disk URI,)
    AZURE_DISK = "azure disk"
    #: (volume id,)
    CINDER_VOLUME = "cinder volume"
    #: (volume id,)
    PORTWORX_VOLUME = "portworx volume"
    #: (iqn,)
    ISCSI_VOLUME = "iscsi volume"
    #: (monitor, pool, image); one mount for each monitor
    RBD_IMAGE = "rbd image"


class Mount(NamedTuple):
    kind: MountKind
    #: identifies the volume; see MountKind
    of: tuple[str, ...]
    read_only: bool = False


def mounts_of(pod: Pod) -> tuple[Mount, ...]:
    """The distinct mounts of a pod's volumes, in order; volumes of other kinds are left out.

    Claims count as mounted read-write: no plugin needs to know whether a claim is read-only.
    """
    mounts = (mount for volume in pod.spec.volumes for mount in _mounts(pod, volume))
    return tuple(dict.fromkeys(mounts))


def _mounts(pod: Pod, volume: Volume) -> Iterator[Mount]:
    meta = pod.metadata
    if volume.persistent_volume_claim is not None:
        claim = volume.persistent_volume_claim.claim_name
        yield Mount(MountKind.CLAIM, (meta.namespace, claim))
    elif volume.ephemeral is not None:
        claim = f"{meta.name}-{volume.name}"
        yield Mount(MountKind.EPHEMERAL, (meta.namespace, claim, meta.uid))
    else:
        yield from _inline_mounts(volume)


def _inline_mounts(volume: Volume) -> Iterator[Mount]:
    if (disk := volume.gce_persistent_disk) is not None:
        yield Mount(MountKind.GCE_DISK, (disk.pd_name,), disk.read_only)
    if (ebs := volume.aws_elastic_block_store) is not None:
        yield Mount(MountKind.EBS_VOLUME, (ebs.volume_id,), ebs.read_only)
    if (azure := volume.azure_disk) is not None:
        yield Mount(MountKind.AZURE_DISK, (azure.disk_uri,), azure.read_only)
    if (cinder := volume.cinder) is not None:
        yield Mount(MountKind.CINDER_VOLUME, (cinder.volume_id,), cinder.read_only)
    if (portworx := volume.portworx_volume) is not None:
        yield Mount(MountKind.PORTWORX_VOLUME, (portworx.volume_id,), portworx.read_only)
    if (iscsi := volume.iscsi) is not None:
        yield Mount(MountKind.ISCSI_VOLUME, (iscsi.iqn,), iscsi.read_only)
    if (rbd := volume.rbd) is not None:
        for monitor in rbd.monitors:
            yield Mount(MountKind.RBD_IMAGE, (monitor, rbd.pool, rbd.image), rbd.read_only)
