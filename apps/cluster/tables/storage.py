"""The tables of volumes, claims and storage classes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apps.cluster.tables.columns import AGE, NAME, NONE, Column, access_modes, get, path

Body = Mapping[str, Any]

_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def _phase(volume: Body, now: datetime) -> str:
    if get(volume, "metadata", "deletionTimestamp"):
        return "Terminating"
    return str(get(volume, "status", "phase", default="Pending"))


def _storage_class(volume: Body, now: datetime) -> str:
    annotated = get(volume, "metadata", "annotations", _BETA_CLASS)
    return str(annotated or get(volume, "spec", "storageClassName"))


def _claim(volume: Body, now: datetime) -> str:
    claim = get(volume, "spec", "claimRef", default={})
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _field_if_bound(claim: Body, *steps: str, default: Any, unbound: Any) -> Any:
    """A field of a claim that is only valid once it is bound; `unbound` before."""
    return get(claim, *steps, default=default) if get(claim, "spec", "volumeName") else unbound


def _class_name(storage_class: Body, now: datetime) -> str:
    name = str(get(storage_class, "metadata", "name"))
    annotations = get(storage_class, "metadata", "annotations", default={})
    default = any(annotations.get(each) == "true" for each in _DEFAULT_CLASS)
    return f"{name} (default)" if default else name


def _token_requests(driver: Body, now: datetime) -> str:
    requests = get(driver, "spec", "tokenRequests", default=[])
    return ",".join(request.get("audience", "") for request in requests) or "<unset>"


_VOLUME_MODE = Column("VolumeMode", path("spec", "volumeMode", default="<unset>"), priority=1)
_ATTRIBUTES_CLASS = Column(
    "VolumeAttributesClass", path("spec", "volumeAttributesClassName", default="<unset>")
)
_STORAGE_CLASS = Column("StorageClass", _storage_class)

VOLUMES = (
    NAME,
    Column("Capacity", path("spec", "capacity", "storage", default="0")),
    Column(
        "Access Modes",
        lambda volume, now: access_modes(get(volume, "spec", "accessModes", default=[])),
    ),
    Column("Reclaim Policy", path("spec", "persistentVolumeReclaimPolicy")),
    Column("Status", _phase),
    Column("Claim", _claim),
    _STORAGE_CLASS,
    _ATTRIBUTES_CLASS,
    Column("Reason", path("status", "reason")),
    AGE,
    _VOLUME_MODE,
)
CLAIMS = (
    NAME,
    Column("Status", _phase),
    Column("Volume", path("spec", "volumeName")),
    Column(
        "Capacity",
        lambda c, now: _field_if_bound(c, "status", "capacity", "storage", default="0", unbound=""),
    ),
    Column(
        "Access Modes",
        lambda c, now: access_modes(
            _field_if_bound(c, "status", "accessModes", default=[], unbound=[])
        ),
    ),
    _STORAGE_CLASS,
    _ATTRIBUTES_CLASS,
    AGE,
    _VOLUME_MODE,
)
CLASSES = (
    Column("Name", _class_name, format="name"),
    Column("Provisioner", path("provisioner")),
    Column("ReclaimPolicy", path("reclaimPolicy", default="Delete")),
    Column("VolumeBindingMode", path("volumeBindingMode", default="Immediate")),
    Column("AllowVolumeExpansion", path("allowVolumeExpansion", default=False)),
    AGE,
)
CSI_NODES = (
    NAME,
    Column("Drivers", lambda node, now: len(get(node, "spec", "drivers", default=[])), "integer"),
    AGE,
)
CSI_DRIVERS = (
    NAME,
    Column("AttachRequired", path("spec", "attachRequired", default=True), "boolean"),
    Column("PodInfoOnMount", path("spec", "podInfoOnMount", default=False), "boolean"),
    Column("StorageCapacity", path("spec", "storageCapacity", default=False), "boolean"),
    Column("TokenRequests", _token_requests),
    Column("RequiresRepublish", path("spec", "requiresRepublish", default=False), "boolean"),
    Column(
        "Modes",
        lambda driver, now: (
            ",".join(get(driver, "spec", "volumeLifecycleModes", default=[])) or NONE
        ),
    ),
    AGE,
)
ATTACHMENTS = (
    NAME,
    Column("Attacher", path("spec", "attacher"), format="name"),
    Column("PV", path("spec", "source", "persistentVolumeName")),
    Column("Node", path("spec", "nodeName")),
    Column("Attached", path("status", "attached", default=False), "boolean"),
    AGE,
)
VOLUME_ATTRIBUTES_CLASSES = (NAME, Column("DriverName", path("driverName")), AGE)
