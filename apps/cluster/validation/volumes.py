"""Volumes of pods: names, and one source each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps import quantity
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from apps.cluster.validation.local_paths import has_backsteps
from apps.cluster.validation.projections import validate_files_of_source
from apps.cluster.validation.volume_claims import validate_claim_spec

Body = Mapping[str, Any]

#: The sources in the order of checks; only the first one found is allowed.
_SOURCES: Final = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
    "photonPersistentDisk",
)
#: Required fields of a source.
REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "hostPath": ("path",),
    "gitRepo": ("repository",),
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "secret": ("secretName",),
    "configMap": ("name",),
    "nfs": ("server", "path"),
    "iscsi": ("targetPortal", "iqn"),
    "persistentVolumeClaim": ("claimName",),
    "rbd": ("monitors", "image"),
    "cinder": ("volumeID",),
    "cephfs": ("monitors",),
    "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",),
    "portworxVolume": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "csi": (),
    "ephemeral": ("volumeClaimTemplate",),
    "image": ("reference",),
    "local": ("path",),
    "flexVolume": ("driver",),
    "scaleIO": ("gateway", "system", "volumeName"),
    "storageos": ("volumeName",),
    "photonPersistentDisk": ("pdID",),
}
_CACHING_MODES: Final = ("None", "ReadOnly", "ReadWrite")
_AZURE_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
#: how the URI of a disk begins, and its form: of blobs, and of managed disks
_AZURE_DISK_URIS: Final = (
    ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"),
    (
        "/subscriptions/",
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
        "{disk-id}",
    ),
)
_DRIVER_NAME_LENGTH: Final = 63
_MAX_UNIT: Final = 255
_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)


def validate_volumes(volumes: Sequence[Body], path: str, valid: dict[str, Body]) -> Causes:
    """spec.volumes. Those without a fault are added to ``valid`` by name: others do not exist for
    the containers."""
    for index, volume in enumerate(volumes):
        place, name = f"{path}[{index}]", volume.get("name", "")
        causes = [*validate_sources(volume, place, _SOURCES)]
        if not name:
            causes.append(required(f"{place}.name"))
        else:
            causes += all_invalid(f"{place}.name", name, names.dns_label(name))
        if name in valid:
            causes.append(duplicate(f"{place}.name", name))
        if not causes:
            valid[name] = volume
        yield from causes


def validate_sources(holder: Body, path: str, sources: Sequence[str]) -> Causes:
    """Exactly one source, with its required fields."""
    given = [name for name in sources if name in holder]
    if not given:
        yield required(path, "must specify a volume type")
        return
    place = f"{path}.{given[0]}"
    yield from _source(holder[given[0]], place, REQUIRED.get(given[0], ()))
    yield from validate_files_of_source(given[0], holder[given[0]], place)
    for name in given[1:]:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 volume type")


def _azure_disk(source: Body, path: str) -> Causes:
    caching, kind, uri = (source.get(field, "") for field in ("cachingMode", "kind", "diskURI"))
    if "cachingMode" in source and caching not in _CACHING_MODES:
        yield not_supported(f"{path}.cachingMode", caching, _CACHING_MODES)
    if "kind" in source and kind not in _AZURE_DISK_KINDS:
        yield not_supported(f"{path}.kind", kind, _AZURE_DISK_KINDS)
    prefix, form = _AZURE_DISK_URIS[kind == "Managed"]
    if not uri.startswith(prefix):
        yield not_supported(f"{path}.diskURI", uri, (form,))


def _iscsi(source: Body, path: str) -> Causes:
    name, unit = source.get("iqn", ""), source.get("lun", 0)
    if name and not name.startswith(("iqn", "eui", "naa")):
        yield invalid(f"{path}.iqn", name, "must be valid format starting with iqn, eui, or naa")
    if not 0 <= unit <= _MAX_UNIT:
        yield invalid(f"{path}.lun", unit, f"must be between 0 and {_MAX_UNIT}, inclusive")


def _flocker(source: Body, path: str) -> Causes:
    name, uid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uid:
        yield required(path, "one of datasetName and datasetUUID is required")
    elif name and uid:
        yield invalid(
            path, "resource", "datasetName and datasetUUID can not be specified simultaneously"
        )
    if "/" in name:
        yield invalid(f"{path}.datasetName", name, "must not contain '/'")


def validate_driver_name(name: str, path: str) -> Causes:
    """The name of a CSI driver."""
    if not name:
        yield required(path)
        return
    if len(name) > _DRIVER_NAME_LENGTH:
        yield too_long(path, _DRIVER_NAME_LENGTH)
    yield from all_invalid(path, name, names.dns_subdomain(name.lower()))


def _source(source: Body, path: str, needed: Sequence[str]) -> Causes:
    for field in needed:
        if not source.get(field):
            yield required(f"{path}.{field}")
    if path.endswith(".csi"):
        yield from validate_driver_name(source.get("driver", ""), f"{path}.driver")
    if path.endswith((".hostPath", ".local")) and has_backsteps(source.get("path", "")):
        yield invalid(f"{path}.path", source["path"], "must not contain '..'")
    if path.endswith(".nfs") and not source.get("path", "").startswith("/"):
        yield invalid(f"{path}.path", source.get("path", ""), "must be an absolute path")
    if path.endswith(".iscsi"):
        yield from _iscsi(source, path)
    if path.endswith(".hostPath") and source.get("type", "") not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", source["type"], _HOST_PATH_TYPES)
    if path.endswith(".flocker"):
        yield from _flocker(source, path)
    if path.endswith(".azureDisk"):
        yield from _azure_disk(source, path)
    limit = source.get("sizeLimit")
    if limit is not None and quantity.parse(limit).nanos < 0:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")
    template = source.get("volumeClaimTemplate")
    if template is not None:
        yield from validate_claim_spec(template.get("spec", {}), f"{path}.volumeClaimTemplate.spec")
