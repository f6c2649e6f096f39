"""Defaults of persistent volumes, claims and storage classes."""

from __future__ import annotations

from typing import Final

from apps.cluster.admission.defaulting.resources import canonicalize
from apps.cluster.admission.defaulting.volumes import default_claim_spec, default_sources
from apps.cluster.admission.draft import Body, child, drop_empty

#: API group and kind of what `dataSource` can be.
_FILLING: Final = frozenset(
    {("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")}
)


def default_persistent_volume(volume: Body) -> None:
    """A persistent volume: retained when its claim is deleted."""
    spec = child(volume, "spec")
    canonicalize(spec, "capacity")
    drop_empty(spec, "storageClassName", "persistentVolumeReclaimPolicy", "accessModes")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    default_sources(spec)


def default_persistent_volume_claim(claim: Body) -> None:
    """A claim: volumeMode defaults to Filesystem, both data sources to each other."""
    spec = child(claim, "spec")
    default_claim_spec(spec)
    _default_data_sources(spec)
    canonicalize(claim.get("status", {}), "capacity")


def _default_data_sources(spec: Body) -> None:
    """dataSource is a claim or a snapshot; dataSourceRef anything in the same namespace."""
    reference = spec.get("dataSourceRef")
    if reference is not None and reference.get("namespace"):
        # namespaces other than that of the claim are behind a feature gate that is off
        del spec["dataSourceRef"]
    source = spec.get("dataSource")
    named = ((source or {}).get("apiGroup") or "", (source or {}).get("kind"))
    if source is not None and named not in _FILLING:
        del spec["dataSource"]
    for field, other in (("dataSource", "dataSourceRef"), ("dataSourceRef", "dataSource")):
        if spec.get(other) is not None and spec.get(field) is None:
            spec[field] = dict(spec[other])


def default_claim_template(claim: Body) -> None:
    """A claim template of a StatefulSet."""
    claim.setdefault("apiVersion", "v1")
    claim.setdefault("kind", "PersistentVolumeClaim")
    child(claim, "metadata")
    default_claim_spec(child(claim, "spec"))
    child(claim, "status").setdefault("phase", "Pending")


def default_storage_class(storage_class: Body) -> None:
    """A storage class: binds immediately and deletes the volumes that it has provisioned."""
    drop_empty(storage_class, "parameters", "mountOptions", "allowedTopologies")
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")
