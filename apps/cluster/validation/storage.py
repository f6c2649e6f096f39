"""Persistent volumes, storage classes and what CSI drivers report."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.claims import (
    validate_access_modes,
    validate_class_and_mode,
    validate_size,
)
from apps.cluster.validation.differences import volume_source_difference
from apps.cluster.validation.selectors import validate_label_key, validate_node_selector
from apps.cluster.validation.volumes import REQUIRED, validate_sources

Body = Mapping[str, Any]

_SOURCES: Final = tuple(
    name
    for name in (*REQUIRED, "fc", "glusterfs", "flexVolume", "storageos", "scaleIO", "quobyte")
    if name not in ("secret", "configMap", "gitRepo", "persistentVolumeClaim", "ephemeral", "image")
)
_KEEPING: Final = ("Delete", "Recycle", "Retain")
_CLASS_KEEPING: Final = ("Delete", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_IMMUTABLE: Final = "field is immutable"
_NODE_ID_LENGTH: Final = 192


def validate_persistent_volume(volume: Body) -> Causes:
    """A PersistentVolume."""
    spec = volume.get("spec", {})
    modes, capacity = spec.get("accessModes") or (), spec.get("capacity") or {}
    if not modes:
        yield required("spec.accessModes")
    yield from validate_access_modes(modes, "spec.accessModes")
    if not capacity:
        yield required("spec.capacity")
    if list(capacity) != ["storage"]:
        yield not_supported("spec.capacity", spec.get("capacity"), ("storage",))
    for name, size in capacity.items():
        yield from validate_size(size, f"spec.capacity[{name}]")
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy is not None and policy not in _KEEPING:
        yield not_supported("spec.persistentVolumeReclaimPolicy", policy, _KEEPING)
    yield from _node_affinity(spec)
    yield from validate_sources(spec, "spec", _SOURCES)
    if "local" in spec and "nodeAffinity" not in spec:
        yield required("spec.nodeAffinity", "Local volume requires node affinity")
    if "csi" in spec and not spec["csi"].get("volumeHandle"):
        yield required("spec.csi.volumeHandle")
    root = "hostPath" in spec and posixpath.normpath(spec["hostPath"].get("path", "")) == "/"
    if root and policy == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden("spec.persistentVolumeReclaimPolicy", why)
    yield from validate_class_and_mode(spec, "spec")


def validate_persistent_volume_update(volume: Body, old: Body) -> Causes:
    """The source, volume mode and node affinity of a volume are immutable."""
    spec, before = volume.get("spec", {}), old.get("spec") or {}
    if any(spec.get(name) != before.get(name) for name in _SOURCES):
        yield forbidden(
            "spec.persistentvolumesource",
            "spec.persistentvolumesource is immutable after creation\n"
            f"{volume_source_difference(before, spec)}",
        )
    if spec.get("volumeMode") != before.get("volumeMode"):
        # the API server's messages name these fields without the spec
        yield invalid("volumeMode", spec.get("volumeMode"), _IMMUTABLE)
    if before.get("nodeAffinity") and spec.get("nodeAffinity") != before["nodeAffinity"]:
        yield invalid("nodeAffinity", spec.get("nodeAffinity"), _IMMUTABLE)


def validate_storage_class(storage_class: Body) -> Causes:
    """A StorageClass."""
    provisioner = storage_class.get("provisioner", "")
    if not provisioner:
        yield required("provisioner")
    else:
        yield from all_invalid(
            "provisioner", provisioner, names.qualified_name(provisioner.lower())
        )
    for field, supported in (
        ("reclaimPolicy", _CLASS_KEEPING),
        ("volumeBindingMode", _BINDING_MODES),
    ):
        chosen = storage_class.get(field)
        if chosen is not None and chosen not in supported:
            yield not_supported(field, chosen, supported)
    for index, term in enumerate(storage_class.get("allowedTopologies", ())):
        yield from _topology(
            term.get("matchLabelExpressions", ()),
            f"allowedTopologies[{index}].matchLabelExpressions",
        )


def validate_storage_class_update(storage_class: Body, old: Body) -> Causes:
    """A StorageClass is immutable, except for expansion and topologies."""
    for field in ("parameters", "provisioner", "reclaimPolicy"):
        if storage_class.get(field) != old.get(field):
            yield forbidden(field, f"updates to {field} are forbidden.")
    mode = storage_class.get("volumeBindingMode")
    if mode != old.get("volumeBindingMode"):
        yield invalid("volumeBindingMode", mode, _IMMUTABLE)


def validate_csi_node(node: Body) -> Causes:
    """A CSINode."""
    seen: set[str] = set()
    for index, driver in enumerate(node.get("spec", {}).get("drivers", ())):
        path, name = f"spec.drivers[{index}]", driver.get("name", "")
        if not name:
            yield required(f"{path}.name")
        else:
            yield from all_invalid(f"{path}.name", name, names.dns_subdomain(name.lower()))
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _csi_driver_of_node(driver, path)


def validate_volume_attachment(attachment: Body) -> Causes:
    """A VolumeAttachment."""
    spec = attachment.get("spec", {})
    if not spec.get("attacher"):
        yield required("spec.attacher")
    if not spec.get("nodeName"):
        yield required("spec.nodeName")
    source = spec.get("source", {})
    if not source.get("persistentVolumeName") and not source.get("inlineVolumeSpec"):
        yield required(
            "spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        )


def validate_csi_storage_capacity(capacity: Body) -> Causes:
    """A CSIStorageCapacity."""
    name = capacity.get("storageClassName", "")
    yield from all_invalid("storageClassName", name, names.dns_subdomain(name))


def _node_affinity(spec: Body) -> Causes:
    affinity = spec.get("nodeAffinity")
    if affinity is None:
        return
    if "required" not in affinity:
        yield required("spec.nodeAffinity.required", "must specify required node constraints")
        return
    yield from validate_node_selector(affinity["required"], "spec.nodeAffinity.required")


def _topology(expressions: Sequence[Body], path: str) -> Causes:
    seen: set[str] = set()
    for index, expression in enumerate(expressions):
        place, key = f"{path}[{index}]", expression.get("key", "")
        values = expression.get("values") or ()
        if not values:
            yield required(f"{place}.values")
        for position, value in enumerate(values):
            if value in values[:position]:
                yield duplicate(f"{place}.values[{position}]", value)
        yield from validate_label_key(key, f"{place}.key")
        if key in seen:
            yield duplicate(f"{place}.key", key)
        seen.add(key)


def _csi_driver_of_node(driver: Body, path: str) -> Causes:
    node_id = driver.get("nodeID", "")
    if not node_id:
        yield required(f"{path}.nodeID")
    elif len(node_id) > _NODE_ID_LENGTH:
        yield invalid(f"{path}.nodeID", node_id, f"must be {_NODE_ID_LENGTH} characters or less")
    count = driver.get("allocatable", {}).get("count")
    if count is not None and count < 0:
        yield invalid(f"{path}.allocatable.count", count, names.NOT_NEGATIVE)
    for index, key in enumerate(driver.get("topologyKeys", ())):
        yield from validate_label_key(key, f"{path}.topologyKeys[{index}]")
