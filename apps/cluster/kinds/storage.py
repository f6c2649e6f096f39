"""Volumes, their claims and classes, and what drivers say of them."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.kind import Kind

_STORAGE: Final = "storage.k8s.io"


KINDS: Final = (
    Kind(
        "PersistentVolume",
        "persistentvolumes",
        models.PersistentVolume,
        namespaced=False,
        short_names=("pv",),
        has_status=True,
        returns_deleted=True,
    ),
    Kind(
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        models.PersistentVolumeClaim,
        short_names=("pvc",),
        has_status=True,
        returns_deleted=True,
    ),
    Kind(
        "StorageClass",
        "storageclasses",
        models.StorageClass,
        group=_STORAGE,
        namespaced=False,
        short_names=("sc",),
        returns_deleted=True,
        is_looked_up=True,
    ),
    Kind(
        "VolumeAttributesClass",
        "volumeattributesclasses",
        group=_STORAGE,
        namespaced=False,
        short_names=("vac",),
        returns_deleted=True,
    ),
    Kind(
        "CSINode",
        "csinodes",
        models.CSINode,
        group=_STORAGE,
        namespaced=False,
        returns_deleted=True,
    ),
    Kind(
        "CSIDriver",
        "csidrivers",
        models.CSIDriver,
        group=_STORAGE,
        namespaced=False,
        returns_deleted=True,
    ),
    Kind(
        "CSIStorageCapacity",
        "csistoragecapacities",
        models.CSIStorageCapacity,
        group=_STORAGE,
    ),
    Kind(
        "VolumeAttachment",
        "volumeattachments",
        models.VolumeAttachment,
        group=_STORAGE,
        namespaced=False,
        has_status=True,
        returns_deleted=True,
    ),
)
