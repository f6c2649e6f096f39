"""Admission of volumes (plugins StorageObjectInUseProtection and DefaultStorageClass)."""

from __future__ import annotations

from collections.abc import Callable

from apps.cluster.admission.draft import Body, child
from apps.cluster.lookups import Lookups

_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def add_protection_finalizer(finalizer: str) -> Callable[[Body, Lookups], None]:
    """Return an admission function that adds `finalizer`, which protects an object in use."""

    def admit(draft: Body, _: Lookups) -> None:
        finalizers = draft["metadata"].setdefault("finalizers", [])
        if finalizer not in finalizers:
            finalizers.append(finalizer)

    return admit


_protect_claim = add_protection_finalizer("kubernetes.io/pvc-protection")


def admit_volume_claim(claim: Body, lookups: Lookups) -> None:
    """Protect a claim, and set the default class if it does not specify a class."""
    _protect_claim(claim, lookups)
    annotations = claim["metadata"].get("annotations") or {}
    spec = child(claim, "spec")
    if "storageClassName" in spec or annotations.get(_BETA_CLASS) is not None:
        return
    default = lookups.default_storage_class()
    if default is not None:
        spec["storageClassName"] = default["metadata"]["name"]
