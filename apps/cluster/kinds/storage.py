"""Volumes, their claims and classes, and what drivers say of them."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.admission.defaulting.cluster import (
    default_csi_driver,
    default_csi_node,
    default_csi_storage_capacity,
)
from apps.cluster.admission.defaulting.storage import (
    default_persistent_volume,
    default_persistent_volume_claim,
    default_storage_class,
)
from apps.cluster.admission.statuses import initial_volume_status
from apps.cluster.admission.storage import add_protection_finalizer, admit_volume_claim
from apps.cluster.kind import CLIENT_METADATA, Kind
from apps.cluster.tables.storage import (
    ATTACHMENTS,
    CLAIMS,
    CLASSES,
    CSI_DRIVERS,
    CSI_NODES,
    VOLUME_ATTRIBUTES_CLASSES,
    VOLUMES,
)
from apps.cluster.usage import CLAIM_QUOTA
from apps.cluster.validation.statuses import validate_volume_claim_status
from apps.cluster.validation.storage import (
    validate_attributes_class,
    validate_attributes_class_update,
    validate_csi_node,
    validate_csi_node_update,
    validate_csi_storage_capacity,
    validate_csi_storage_capacity_update,
    validate_persistent_volume,
    validate_persistent_volume_update,
    validate_storage_class,
    validate_storage_class_update,
    validate_volume_attachment,
    validate_volume_attachment_update,
)
from apps.cluster.validation.volume_claims import validate_claim, validate_claim_update
from apps.cluster.warnings.objects import (
    csi_driver_warnings,
    storage_capacity_warnings,
    storage_class_warnings,
    volume_claim_warnings,
    volume_warnings,
)

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
        default=default_persistent_volume,
        initial_status=initial_volume_status,
        admit_new=add_protection_finalizer("kubernetes.io/pv-protection"),
        validate=validate_persistent_volume,
        validate_update=validate_persistent_volume_update,
        columns=VOLUMES,
        warn=volume_warnings,
        warn_update=lambda new, _: volume_warnings(new),
    ),
    Kind(
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        models.PersistentVolumeClaim,
        short_names=("pvc",),
        has_status=True,
        returns_deleted=True,
        default=default_persistent_volume_claim,
        initial_status=lambda _: {"phase": "Pending"},
        admit_new=admit_volume_claim,
        validate=validate_claim,
        validate_update=validate_claim_update,
        validate_status=validate_volume_claim_status,
        quota=CLAIM_QUOTA,
        columns=CLAIMS,
        warn=volume_claim_warnings,
        warn_update=lambda new, _: volume_claim_warnings(new),
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
        default=default_storage_class,
        validate=validate_storage_class,
        validate_update=validate_storage_class_update,
        columns=CLASSES,
        warn=storage_class_warnings,
        warn_update=lambda new, _: storage_class_warnings(new),
    ),
    Kind(
        "VolumeAttributesClass",
        "volumeattributesclasses",
        group=_STORAGE,
        namespaced=False,
        short_names=("vac",),
        returns_deleted=True,
        validate=validate_attributes_class,
        validate_update=validate_attributes_class_update,
        compares_updates=True,
        columns=VOLUME_ATTRIBUTES_CLASSES,
        admit_new=add_protection_finalizer("kubernetes.io/vac-protection"),
    ),
    Kind(
        "CSINode",
        "csinodes",
        models.CSINode,
        group=_STORAGE,
        namespaced=False,
        returns_deleted=True,
        validate=validate_csi_node,
        validate_update=validate_csi_node_update,
        columns=CSI_NODES,
        needs_version=True,
        default=default_csi_node,
    ),
    Kind(
        "CSIDriver",
        "csidrivers",
        models.CSIDriver,
        group=_STORAGE,
        namespaced=False,
        returns_deleted=True,
        default=default_csi_driver,
        counts_changes=True,
        columns=CSI_DRIVERS,
        needs_version=True,
        warn=csi_driver_warnings,
    ),
    Kind(
        "CSIStorageCapacity",
        "csistoragecapacities",
        models.CSIStorageCapacity,
        group=_STORAGE,
        default=default_csi_storage_capacity,
        validate=validate_csi_storage_capacity,
        validate_update=validate_csi_storage_capacity_update,
        needs_version=True,
        warn=storage_capacity_warnings,
        warn_update=lambda new, _: storage_capacity_warnings(new),
    ),
    Kind(
        "VolumeAttachment",
        "volumeattachments",
        models.VolumeAttachment,
        group=_STORAGE,
        namespaced=False,
        has_status=True,
        status_keeps=CLIENT_METADATA,
        returns_deleted=True,
        initial_status=lambda _: {"attached": False},
        validate=validate_volume_attachment,
        validate_update=validate_volume_attachment_update,
        columns=ATTACHMENTS,
        needs_version=True,
    ),
)
