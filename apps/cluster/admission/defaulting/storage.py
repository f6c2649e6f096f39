"""Defaults of persistent volumes, claims and storage classes."""

from __future__ import annotations

from apps.cluster.admission.defaulting.resources import canonicalize
from apps.cluster.admission.defaulting.volumes import default_claim_spec, default_sources
from apps.cluster.admission.draft import Body, child, drop_empty


def default_persistent_volume(volume: Body) -> None:
    """A persistent volume: retained when its claim is deleted."""
    spec = child(volume, "spec")
    canonicalize(spec, "capacity")
    drop_empty(spec, "storageClassName", "persistentVolumeReclaimPolicy", "accessModes")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    default_sources(spec)


def default_persistent_volume_claim(claim: Body) -> None:
    """A claim: volumeMode defaults to Filesystem."""
    default_claim_spec(child(claim, "spec"))
    canonicalize(claim.get("status", {}), "capacity")


def default_claim_template(claim: Body) -> None:
    """A claim template of a StatefulSet."""
    claim.setdefault("apiVersion", "v1")
    claim.setdefault("kind", "PersistentVolumeClaim")
    child(claim, "metadata")
    default_persistent_volume_claim(claim)
    child(claim, "status").setdefault("phase", "Pending")


def default_storage_class(storage_class: Body) -> None:
    """A storage class: binds immediately and deletes the volumes that it has provisioned."""
    drop_empty(storage_class, "parameters", "mountOptions", "allowedTopologies")
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")
