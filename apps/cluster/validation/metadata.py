"""metadata: names, labels, annotations, owners, finalizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.kind import Kind
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    required,
    too_long,
)

Body = Mapping[str, Any]

_ANNOTATIONS_LIMIT: Final = 256 * 1024
_STANDARD_FINALIZERS: Final = ("foregroundDeletion", "kubernetes", "orphan")
_NO_DOMAIN: Final = "name is neither a standard finalizer name nor is it fully qualified"
_OWNER_FIELDS: Final = (
    "apiVersion",
    "kind",
    "name",
    "uid",
    "controller",
    "blockOwnerDeletion",
)


def validate_metadata(kind: Kind, metadata: Body) -> Causes:
    """The metadata of an object."""
    yield from _names(metadata, kind.check_name or names.dns_subdomain)
    yield from common(metadata, "metadata")
    for index, finalizer in enumerate(metadata.get("finalizers", ())):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            yield invalid(f"metadata.finalizers[{index}]", finalizer, _NO_DOMAIN)


def validate_template_metadata(metadata: Body, path: str) -> Causes:
    """The labels and annotations of a template; its other metadata is not read."""
    if "labels" in metadata:
        yield from validate_labels(metadata["labels"], f"{path}.labels")
    if "annotations" in metadata:
        yield from _annotations(metadata["annotations"], f"{path}.annotations")


def common(metadata: Body, path: str) -> Causes:
    """Labels, annotations, owners and finalizers."""
    if "labels" in metadata:
        yield from validate_labels(metadata["labels"], f"{path}.labels")
    if "annotations" in metadata:
        yield from _annotations(metadata["annotations"], f"{path}.annotations")
    if "ownerReferences" in metadata:
        yield from _owners(metadata["ownerReferences"], f"{path}.ownerReferences")
    for finalizer in metadata.get("finalizers", ()):
        yield from all_invalid(f"{path}.finalizers", finalizer, names.qualified_name(finalizer))


def validate_metadata_update(metadata: Body, old: Body) -> Causes:
    """The rules for updates of metadata."""
    if old.get("deletionTimestamp"):
        before = set(old.get("finalizers") or ())
        added = [name for name in metadata.get("finalizers") or () if name not in before]
        if added:
            listed = ", ".join(f'"{name}"' for name in added)
            yield forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, found new "
                f"finalizers []string{{{listed}}}",
            )


def validate_labels(labels: Mapping[str, str], path: str) -> Causes:
    """Labels, or a plain selector by labels."""
    for key, value in labels.items():
        yield from all_invalid(path, key, names.qualified_name(key))
        yield from all_invalid(path, value, names.label_value(value))


def _names(metadata: Body, rule: names.Check) -> Causes:
    prefix, name = metadata.get("generateName", ""), metadata.get("name", "")
    if prefix:
        # The last character may be valid only together with the generated suffix.
        whole = f"{prefix[:-1]}a" if prefix.endswith("-") else prefix
        yield from all_invalid("metadata.generateName", prefix, rule(whole))
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from all_invalid("metadata.name", name, rule(name))


def _annotations(annotations: Mapping[str, str], path: str) -> Causes:
    size = 0
    for key, value in annotations.items():
        yield from all_invalid(path, key, names.qualified_name(key.lower()))
        size += len(key.encode()) + len(value.encode())
    if size > _ANNOTATIONS_LIMIT:
        yield too_long(path, _ANNOTATIONS_LIMIT)


def _owners(owners: Sequence[Body], path: str) -> Causes:
    controller = ""
    for owner in owners:
        if not owner.get("apiVersion", "").rpartition("/")[2]:
            yield invalid(
                f"{path}.apiVersion", owner.get("apiVersion", ""), "version must not be empty"
            )
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield invalid(f"{path}.{name}", "", "must not be empty")
        if not owner.get("controller"):
            continue
        this = f"{owner.get('kind')}/{owner.get('name')}"
        if controller:
            yield invalid(
                path,
                [{name: one[name] for name in _OWNER_FIELDS if name in one} for one in owners],
                'Only one reference can have Controller set to true. Found "true" in references '
                f"for {controller} and {this}",
            )
        controller = this
