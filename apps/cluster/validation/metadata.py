"""metadata: names, labels, annotations, owners, finalizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
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
_FINALIZERS_OF_POLICIES: Final = ("foregroundDeletion", "orphan")
_BOTH_FINALIZERS: Final = "finalizer orphan and foregroundDeletion cannot be both set"
_NO_VERSION: Final = "version must not be empty"
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
    if not kind.schema_name:
        # custom objects are only warned of
        yield from _finalizer_domains(metadata)


def _finalizer_domains(metadata: Body) -> Causes:
    for index, finalizer in enumerate(metadata.get("finalizers", ())):
        yield from _domain(finalizer, f"metadata.finalizers[{index}]")


def _domain(finalizer: str, path: str) -> Causes:
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        yield invalid(path, finalizer, _NO_DOMAIN)


def validate_namespace(namespace: Body) -> Causes:
    """The finalizers that hold the contents of a new namespace."""
    for finalizer in (namespace.get("spec") or {}).get("finalizers") or ():
        yield from _namespace_finalizer(finalizer, "spec.finalizers")


def validate_finalize(namespace: Body, old: Body) -> Causes:
    """The same after an update of `/finalize`."""
    for index, finalizer in enumerate((namespace.get("spec") or {}).get("finalizers") or ()):
        yield from _namespace_finalizer(finalizer, f"spec.finalizers[{index}]")


def _namespace_finalizer(finalizer: str, path: str) -> Causes:
    yield from all_invalid(path, finalizer, names.qualified_name(finalizer))
    yield from _domain(finalizer, path)


def validate_template_metadata(metadata: Body, path: str) -> Causes:
    """The labels and annotations of a template; its other metadata is not read."""
    if "labels" in metadata:
        yield from validate_labels(metadata["labels"], f"{path}.labels")
    if "annotations" in metadata:
        yield from validate_annotations(metadata["annotations"], f"{path}.annotations")


def common(metadata: Body, path: str) -> Causes:
    """Labels, annotations, owners and finalizers."""
    yield from _changeable(metadata, path)
    finalizers = metadata.get("finalizers", ())
    for finalizer in finalizers:
        yield from all_invalid(f"{path}.finalizers", finalizer, names.qualified_name(finalizer))
    if set(_FINALIZERS_OF_POLICIES) <= set(finalizers):
        yield invalid(f"{path}.finalizers", list(finalizers), _BOTH_FINALIZERS)


def _changeable(metadata: Body, path: str) -> Causes:
    """Labels, annotations and owners."""
    if "labels" in metadata:
        yield from validate_labels(metadata["labels"], f"{path}.labels")
    if "annotations" in metadata:
        yield from validate_annotations(metadata["annotations"], f"{path}.annotations")
    if "ownerReferences" in metadata:
        yield from _owners(metadata["ownerReferences"], f"{path}.ownerReferences")


def validate_metadata_update(
    kind: Kind, metadata: Body, old: Body, subresource: str = ""
) -> Causes:
    """The rules for updates of metadata, repeated as often as the API server reports them.

    It checks all kinds in one place, and most of them again among the rules of the kind.
    """
    yield from common(metadata, "metadata")
    yield from _update(metadata, old)
    repeated = _repeated_checks(kind.key, subresource)
    if repeated is _Repeated.ALL_KINDS:
        yield from common(metadata, "metadata")
    if repeated is not _Repeated.NOTHING:
        yield from _update(metadata, old)
    checks_domains = repeated in (_Repeated.UPDATE_AND_FINALIZERS, _Repeated.WHOLE)
    if checks_domains and not kind.schema_name:
        yield from _finalizer_domains(metadata)
    if repeated is _Repeated.WHOLE:
        yield from validate_metadata(kind, metadata)


class _Repeated(Enum):
    """Which checks of metadata an update repeats among the rules of its kind."""

    NOTHING = auto()
    UPDATE = auto()
    #: those of the one place for all kinds
    ALL_KINDS = auto()
    UPDATE_AND_FINALIZERS = auto()
    #: and those of a new object
    WHOLE = auto()


def _repeated_checks(kind: str, subresource: str) -> _Repeated:
    if subresource and kind in _STATUS_REPEATS:
        return _STATUS_REPEATS[kind]
    repeated = _REPEATS.get(kind, _Repeated.UPDATE_AND_FINALIZERS)
    # rules of new objects do not concern a subresource
    return (
        _Repeated.UPDATE_AND_FINALIZERS if subresource and repeated is _Repeated.WHOLE else repeated
    )


_REPEATS: Final[Mapping[str, _Repeated]] = {
    **dict.fromkeys(("Event", "PodDisruptionBudget"), _Repeated.NOTHING),
    **dict.fromkeys(
        (
            "CustomResourceDefinition",
            "Lease",
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ),
        _Repeated.UPDATE,
    ),
    **dict.fromkeys(("APIService", "RuntimeClass"), _Repeated.ALL_KINDS),
    **dict.fromkeys(
        (
            "CSIStorageCapacity",
            "CertificateSigningRequest",
            "ClusterRole",
            "ClusterRoleBinding",
            "ConfigMap",
            "ControllerRevision",
            "DeviceClass",
            "Endpoints",
            "IPAddress",
            "Ingress",
            "IngressClass",
            "Job",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "ResourceClaim",
            "ResourceClaimTemplate",
            "Role",
            "RoleBinding",
            "Secret",
            "ServiceAccount",
            "StorageClass",
            "VolumeAttributesClass",
        ),
        _Repeated.WHOLE,
    ),
}
_STATUS_REPEATS: Final[Mapping[str, _Repeated]] = {
    "CertificateSigningRequest": _Repeated.WHOLE,
    "CronJob": _Repeated.NOTHING,
}


def _update(metadata: Body, old: Body) -> Causes:
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
    yield from _changeable(metadata, "metadata")


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


def validate_annotations(annotations: Mapping[str, str], path: str) -> Causes:
    """The names of annotations, and the size of all."""
    size = 0
    for key, value in annotations.items():
        yield from all_invalid(path, key, names.qualified_name(key.lower()))
        size += len(key.encode()) + len(value.encode())
    if size > _ANNOTATIONS_LIMIT:
        yield too_long(path, _ANNOTATIONS_LIMIT)


def _owners(owners: Sequence[Body], path: str) -> Causes:
    controller = ""
    for owner in owners:
        yield from _owner(owner, path)
        if not owner.get("controller"):
            continue
        this = f"{owner.get('kind')}/{owner.get('name')}"
        if controller:
            yield invalid(
                path,
                [_shown_owner(one) for one in owners],
                'Only one reference can have Controller set to true. Found "true" in references '
                f"for {controller} and {this}",
            )
        controller = this


def _owner(owner: Body, path: str) -> Causes:
    group, slash, version = owner.get("apiVersion", "").partition("/")
    if not slash:
        group, version = "", group
    if not version or "/" in version:
        yield invalid(f"{path}.apiVersion", owner.get("apiVersion", ""), _NO_VERSION)
    for name in ("kind", "name", "uid"):
        if not owner.get(name):
            yield invalid(f"{path}.{name}", "", "must not be empty")
    if (group, version, owner.get("kind")) == ("", "v1", "Event"):
        why = "/v1, Kind=Event is disallowed from being an owner"
        yield invalid(path, _shown_owner(owner), why)


def _shown_owner(owner: Body) -> Body:
    return {name: owner[name] for name in _OWNER_FIELDS if name in owner}
