"""Persistent volumes, storage classes and what CSI drivers report."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.schema.go_types import internal
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    sort_keys,
    too_long,
)
from apps.cluster.validation.differences import volume_source_difference
from apps.cluster.validation.quantities import validate_amount
from apps.cluster.validation.selectors import (
    validate_label_key,
    validate_label_selector,
    validate_node_selector,
)
from apps.cluster.validation.volume_claims import (
    validate_access_modes,
    validate_class_and_mode,
    validate_size,
)
from apps.cluster.validation.volumes import REQUIRED, validate_driver_name, validate_sources

Body = Mapping[str, Any]

_SOURCES: Final = tuple(
    name
    for name in (*REQUIRED, "fc", "flocker", "glusterfs", "quobyte")
    if name not in ("secret", "configMap", "gitRepo", "persistentVolumeClaim", "ephemeral", "image")
)
_KEEPING: Final = ("Delete", "Recycle", "Retain")
_CLASS_KEEPING: Final = ("Delete", "Retain")
_BINDING_MODES: Final = ("Immediate", "WaitForFirstConsumer")
_IMMUTABLE: Final = "field is immutable"
_NODE_ID_LENGTH: Final = 192
_MOST_PARAMETERS: Final = 512
_LARGEST_PARAMETERS: Final = 256 * 1024
_MOUNT_OPTIONS: Final = "volume.beta.kubernetes.io/mount-options"
#: The types of volumes that this annotation applies to.
_WITH_MOUNT_OPTIONS: Final = frozenset(
    (
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "gcePersistentDisk",
        "glusterfs",
        "iscsi",
        "nfs",
        "photonPersistentDisk",
        "quobyte",
        "rbd",
        "vsphereVolume",
    )
)


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
        yield not_supported("spec.capacity", sort_keys(spec.get("capacity")), ("storage",))
    for name, size in capacity.items():
        yield from validate_size(size, f"spec.capacity[{name}]")
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy is not None and policy not in _KEEPING:
        yield not_supported("spec.persistentVolumeReclaimPolicy", policy, _KEEPING)
    yield from _node_affinity(spec)
    yield from validate_sources(spec, "spec", _SOURCES)
    if "local" in spec and "nodeAffinity" not in spec:
        yield required("spec.nodeAffinity", "Local volume requires node affinity")
    if "csi" in spec:
        yield from _csi_source(spec["csi"])
    root = "hostPath" in spec and posixpath.normpath(spec["hostPath"].get("path", "")) == "/"
    if root and policy == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden("spec.persistentVolumeReclaimPolicy", why)
    yield from validate_class_and_mode(spec, "spec")
    attributes = spec.get("volumeAttributesClassName")
    if attributes is not None:
        path = "spec.volumeAttributesClassName"
        if attributes:
            yield from all_invalid(path, attributes, names.dns_subdomain(attributes))
        else:
            yield required(path, "an empty string is disallowed")
        if "csi" not in spec:
            yield required("spec.csi", "has to be specified when using volumeAttributesClassName")
    annotations = volume["metadata"].get("annotations") or {}
    if _MOUNT_OPTIONS in annotations and not _WITH_MOUNT_OPTIONS & spec.keys():
        why = "may not specify mount options for this volume type"
        yield forbidden(f"metadata.annotations.{_MOUNT_OPTIONS}", why)


def _csi_source(source: Body) -> Causes:
    """A volume of a CSI driver, beyond its required fields."""
    if not source.get("volumeHandle"):
        yield required("spec.csi.volumeHandle")
    for kind in ("controllerPublish", "controllerExpand", "nodePublish", "nodeExpand"):
        reference, path = source.get(f"{kind}SecretRef"), f"spec.csi.{kind}SecretRef"
        if reference is not None:
            yield from _secret_reference(reference, path)


def _secret_reference(reference: Body, path: str) -> Causes:
    for field, check in (("name", names.dns_subdomain), ("namespace", names.dns_label)):
        given = reference.get(field, "")
        if given:
            yield from all_invalid(f"{path}.{field}", given, check(given))
        else:
            yield required(f"{path}.{field}")


def validate_persistent_volume_update(volume: Body, old: Body) -> Causes:
    """The source, volume mode and node affinity of a volume are immutable."""
    # the API server checks an updated volume twice
    yield from validate_persistent_volume(volume)
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
        shown = internal("core.VolumeNodeAffinity", spec.get("nodeAffinity"))
        yield invalid("nodeAffinity", shown, _IMMUTABLE)


def validate_storage_class(storage_class: Body) -> Causes:
    """A StorageClass."""
    provisioner = storage_class.get("provisioner", "")
    if not provisioner:
        yield required("provisioner")
    else:
        yield from all_invalid(
            "provisioner", provisioner, names.qualified_name(provisioner.lower())
        )
    yield from _parameters(storage_class.get("parameters") or {})
    for field, supported in (
        ("reclaimPolicy", _CLASS_KEEPING),
        ("volumeBindingMode", _BINDING_MODES),
    ):
        chosen = storage_class.get(field)
        if chosen is not None and chosen not in supported:
            yield not_supported(field, chosen, supported)
    yield from _topologies(storage_class.get("allowedTopologies") or ())


def validate_storage_class_update(storage_class: Body, old: Body) -> Causes:
    """A StorageClass is immutable, except for expansion and topologies."""
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        given = storage_class.get(field)
        if given != old.get(field):
            empty = None if field == "parameters" else ""
            yield invalid(field, empty if given is None else given, _IMMUTABLE)


def validate_attributes_class(attributes_class: Body) -> Causes:
    """A VolumeAttributesClass."""
    driver, parameters = (attributes_class.get(each) for each in ("driverName", "parameters"))
    if not driver:
        yield required("driverName")
    else:
        # the API server's messages show the name in lower case
        lower = driver.lower()
        yield from all_invalid("driverName", lower, names.qualified_name(lower))
    if not parameters:
        yield required("parameters", "must contain at least one key/value pair")
    yield from _parameters(parameters or {})


def validate_attributes_class_update(attributes_class: Body, old: Body) -> Causes:
    """A VolumeAttributesClass is immutable."""
    for field in ("driverName", "parameters"):
        if attributes_class.get(field) != old.get(field):
            yield forbidden(field, f"updates to {field} are forbidden.")
    yield from validate_attributes_class(attributes_class)


def _parameters(parameters: Mapping[str, str]) -> Causes:
    """The parameters of a class, for a driver."""
    if len(parameters) > _MOST_PARAMETERS:
        yield too_long("parameters", _MOST_PARAMETERS)
        return
    if "" in parameters:
        yield invalid("parameters", "", "field can not be empty.")
    if sum(len(key) + len(value) for key, value in parameters.items()) > _LARGEST_PARAMETERS:
        yield too_long("parameters", _LARGEST_PARAMETERS)


def validate_csi_node(node: Body) -> Causes:
    """A CSINode."""
    seen: set[str] = set()
    for index, driver in enumerate(node.get("spec", {}).get("drivers") or ()):
        path, name = f"spec.drivers[{index}]", driver.get("name", "")
        yield from validate_driver_name(name, f"{path}.name")
        yield from _csi_driver_of_node(driver, path)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _topology_keys(driver.get("topologyKeys") or (), path)


def validate_volume_attachment(attachment: Body) -> Causes:
    """A VolumeAttachment."""
    spec = attachment.get("spec", {})
    yield from validate_driver_name(spec.get("attacher", ""), "spec.attacher")
    yield from _attached_source(spec.get("source", {}))
    node = spec.get("nodeName", "")
    yield from all_invalid("spec.nodeName", node, names.dns_subdomain(node))


def _attached_source(source: Body) -> Causes:
    why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        yield required("spec.source", why)
    elif name is not None and inline is not None:
        yield forbidden("spec.source", why)
    elif name == "":
        yield required(
            "spec.source.persistentVolumeName", "must specify non empty persistentVolumeName"
        )


def validate_volume_attachment_update(attachment: Body, old: Body) -> Causes:
    """The spec of a VolumeAttachment is immutable."""
    spec, before = attachment.get("spec", {}), old.get("spec") or {}
    if spec != before:
        yield invalid("spec", internal("storage.VolumeAttachmentSpec", spec), _IMMUTABLE)


def validate_csi_node_update(node: Body, old: Body) -> Causes:
    """A driver of a CSINode may only change what is allocatable."""
    drivers = node.get("spec", {}).get("drivers") or ()
    for before in (old.get("spec") or {}).get("drivers") or ():
        for driver in drivers:
            same = all(driver.get(each) == before.get(each) for each in ("nodeID", "topologyKeys"))
            if driver.get("name") == before.get("name") and not same:
                shown = internal("storage.CSINodeDriver", driver)
                yield invalid("spec.drivers", shown, _IMMUTABLE)


def validate_csi_storage_capacity_update(capacity: Body, old: Body) -> Causes:
    """What the capacity is of cannot be changed."""
    for field in ("nodeTopology", "storageClassName"):
        if capacity.get(field) != old.get(field):
            yield invalid(field, capacity.get(field), _IMMUTABLE)


def validate_csi_storage_capacity(capacity: Body) -> Causes:
    """A CSIStorageCapacity."""
    yield from validate_label_selector(capacity.get("nodeTopology"), "nodeTopology")
    name = capacity.get("storageClassName", "")
    yield from all_invalid("storageClassName", name, names.dns_subdomain(name))
    amount = capacity.get("capacity")
    if amount is not None:
        yield from validate_amount("storage", amount, "capacity")


def _node_affinity(spec: Body) -> Causes:
    affinity = spec.get("nodeAffinity")
    if affinity is None:
        return
    if "required" not in affinity:
        yield required("spec.nodeAffinity.required", "must specify required node constraints")
        return
    yield from validate_node_selector(affinity["required"], "spec.nodeAffinity.required")


def _topologies(terms: Sequence[Body]) -> Causes:
    """Terms that select something, each once."""
    # the API server compares a term with one without expressions for each term, too
    seen: list[dict[str, set[str]]] = [{} for _ in terms]
    for index, term in enumerate(terms):
        expressions = term.get("matchLabelExpressions") or ()
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        yield from _topology(expressions, path)
        chosen = {each.get("key", ""): set(each.get("values") or ()) for each in expressions}
        for _ in range(seen.count(chosen)):
            yield duplicate(path, "")
        seen.append(chosen)


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


def _topology_keys(keys: Sequence[str], path: str) -> Causes:
    for index, key in enumerate(keys):
        # the API server's messages name the driver, not the key
        if not key:
            yield required(path)
        if key in keys[:index]:
            yield duplicate(path, key)
        yield from validate_label_key(key, path)
