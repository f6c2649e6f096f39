"""PersistentVolumeClaims, and the rules they share with volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

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
from apps.scheduler import quantity

Body = Mapping[str, Any]

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES: Final = ("Block", "Filesystem")
_NOT_POSITIVE: Final = "must be greater than zero"
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


def validate_claim_update(claim: Body, old: Body) -> Causes:
    """A claim may be bound and get a class once; a bound claim may be expanded."""
    before = old.get("spec") or {}
    spec = dict(claim.get("spec", {}))
    for field in ("volumeName", "storageClassName"):
        if not before.get(field):
            spec = _restore_field(spec, before, field)
    spec = _restore_field(spec, before, "volumeAttributesClassName")
    size, old_size = _size(spec), _size(before)
    if (old.get("status") or {}).get("phase") == "Bound" and size is not None:
        if old_size is not None and quantity.compare(size, old_size) < 0:
            yield forbidden(
                "spec.resources.requests.storage", "field can not be less than previous value"
            )
        spec = _restore_field(spec, before, "resources")
    if spec != before:
        yield forbidden("spec", f"{_IMMUTABLE}\n{claim_spec_difference(before, spec)}")


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
    nanos = quantity.parse(size).nanos
    if nanos < 0:
        yield invalid(path, size, names.NOT_NEGATIVE)
    elif not nanos:
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
