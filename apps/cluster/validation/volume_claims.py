"""PersistentVolumeClaims, and the rules they share with volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps import quantity
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.differences import claim_spec_difference
from apps.cluster.validation.selectors import validate_label_selector

Body = Mapping[str, Any]

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_NOT_POSITIVE: Final = "must be greater than zero"
_WITHOUT_GROUP: Final = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
_EXCLUSIVE: Final = "ReadWriteOncePod"
_IMMUTABLE: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)


def validate_claim(claim: Body) -> Causes:
    """A PersistentVolumeClaim."""
    return validate_claim_spec(claim.get("spec", {}), "spec")


def validate_claim_spec(spec: Body, path: str) -> Causes:
    """The spec of a claim, or of a template for one."""
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from validate_label_selector(spec.get("selector"), f"{path}.selector")
    yield from validate_access_modes(modes, f"{path}.accessModes")
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        yield required(f"{path}.resources[storage]")
    else:
        yield from _requested_size(size, f"{path}.resources[storage]")
    yield from validate_class_and_mode(spec, path)
    yield from _data_sources(spec, path)
    attributes = spec.get("volumeAttributesClassName")
    if attributes:
        place = f"{path}.volumeAttributesClassName"
        yield from all_invalid(place, attributes, names.dns_subdomain(attributes))


def _data_sources(spec: Body, path: str) -> Causes:
    """What a volume is filled from: both fields name the same."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for field, given in (("dataSource", source), ("dataSourceRef", reference)):
        if given is not None:
            yield from _data_source(given, f"{path}.{field}")
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        yield invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield invalid(path, {}, "must match dataSourceRef")


def _data_source(source: Body, path: str) -> Causes:
    kind, group = source.get("kind", ""), source.get("apiGroup") or ""
    for field in ("name", "kind"):
        if not source.get(field):
            yield required(f"{path}.{field}")
    if not group and kind != "PersistentVolumeClaim":
        yield invalid(path, kind, _WITHOUT_GROUP)
    if group:
        yield from all_invalid(f"{path}.apiGroup", group, names.dns_subdomain(group))
    namespace = source.get("namespace")
    if namespace:
        yield from all_invalid(f"{path}.namespace", namespace, names.dns_label(namespace))


def validate_claim_update(claim: Body, old: Body) -> Causes:
    """A claim may be bound and get a class once; a bound claim may be expanded."""
    before = old.get("spec") or {}
    given, status = claim.get("spec", {}), old.get("status") or {}
    spec = dict(given)
    if not before.get("volumeName"):
        spec = _restore_field(spec, before, "volumeName")
    if before.get("storageClassName") is None and spec.get("storageClassName") is not None:
        spec = _restore_field(spec, before, "storageClassName")
    if status.get("phase") == "Bound":
        spec = _restore_bound(spec, before)
    if spec != before:
        yield forbidden("spec", f"{_IMMUTABLE}\n{claim_spec_difference(before, spec)}")
    yield from _shrunk(given, before, status)
    if given.get("volumeMode") != before.get("volumeMode"):
        # the API server's message names this field without the spec
        yield invalid("volumeMode", given.get("volumeMode"), "field is immutable")
    if before.get("volumeAttributesClassName") is not None:
        attributes, path = given.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
        if attributes is None:
            yield forbidden(path, "update from non-nil value to nil is forbidden")
        elif not attributes:
            yield forbidden(path, "update from non-nil value to an empty string is forbidden")


def _restore_bound(spec: Body, before: Body) -> dict[str, Any]:
    """A spec with the old size and class of attributes, which may change when it is bound."""
    restored = dict(spec)
    resources = restored.get("resources") or {}
    size = _size(before)
    if resources.get("requests") and size is not None:
        requests = {**resources["requests"], "storage": size}
        restored["resources"] = {**resources, "requests": requests}
    if restored.get("volumeAttributesClassName") is not None:
        restored = _restore_field(restored, before, "volumeAttributesClassName")
    return restored


def _shrunk(spec: Body, before: Body, status: Body) -> Causes:
    """A request may shrink, but not to what the volume already has."""
    size, old_size = (quantity.parse(_size(each) or "0").nanos for each in (spec, before))
    capacity = quantity.parse((status.get("capacity") or {}).get("storage", "0")).nanos
    if size < old_size and size <= capacity:
        why = "field can not be less than status.capacity"
        yield forbidden("spec.resources.requests.storage", why)


def validate_access_modes(modes: Sequence[str], path: str) -> Causes:
    """Access modes of a claim or a volume."""
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(path, mode, _ACCESS_MODES)
    if _EXCLUSIVE in modes and len(set(modes)) > 1:
        yield forbidden(path, f"may not use {_EXCLUSIVE} with other access modes")


def validate_size(size: Any, path: str) -> Causes:
    """The capacity of a volume: greater than zero."""
    nanos = quantity.parse(size).nanos
    if nanos < 0:
        yield invalid(path, quantity.value(size), "must be a valid resource quantity")
    if nanos <= 0:
        yield invalid(path, size, _NOT_POSITIVE)


def _requested_size(size: Any, path: str) -> Causes:
    if quantity.parse(size).nanos <= 0:
        yield invalid(path, size, _NOT_POSITIVE)


def validate_class_and_mode(spec: Body, path: str) -> Causes:
    """storageClassName and volumeMode."""
    name, mode = spec.get("storageClassName"), spec.get("volumeMode")
    if name:
        yield from all_invalid(f"{path}.storageClassName", name, names.dns_subdomain(name))
    if mode is not None and mode not in _VOLUME_MODES:
        yield not_supported(f"{path}.volumeMode", mode, _VOLUME_MODES)


def _size(spec: Body) -> Any:
    return ((spec.get("resources") or {}).get("requests") or {}).get("storage")


def _restore_field(spec: Body, before: Body, field: str) -> dict[str, Any]:
    """A copy of `spec` in which one field is as in `before`, present or absent."""
    kept = {name: value for name, value in spec.items() if name != field}
    return {**kept, field: before[field]} if field in before else kept
