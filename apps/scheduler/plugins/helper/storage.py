"""Properties of claims and volumes that several plugins need, and messages for missing objects."""

from __future__ import annotations

from typing import Final

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import PersistentVolume, PersistentVolumeClaim

WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"

#: the annotation for the class, from before the field existed; it takes precedence
_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """Name of the claim's storage class, "" if it has none."""
    return claim.metadata.annotations.get(_CLASS_ANNOTATION, claim.spec.storage_class_name or "")


def class_of_volume(volume: PersistentVolume) -> str:
    """Name of the volume's storage class, "" if it has none."""
    return volume.metadata.annotations.get(_CLASS_ANNOTATION, volume.spec.storage_class_name)


def is_created_for(claim: PersistentVolumeClaim, pod_uid: str) -> bool:
    """Whether the claim of a generic ephemeral volume belongs to this pod."""
    return any(
        owner.controller is True and owner.uid == pod_uid
        for owner in claim.metadata.owner_references
    )


def claim_not_created_for(claim: PersistentVolumeClaim, pod: PodInfo) -> str:
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def claim_not_found(name: str) -> str:
    return f'persistentvolumeclaim "{name}" not found'


def volume_not_found(name: str) -> str:
    return f'persistentvolume "{name}" not found'


def class_not_found(name: str) -> str:
    return f'storageclass.storage.k8s.io "{name}" not found'
