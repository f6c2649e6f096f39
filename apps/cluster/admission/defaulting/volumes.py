"""Defaults of volume sources, in pods and persistent volumes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.admission.defaulting.containers import default_field_ref, pull_policy
from apps.cluster.admission.defaulting.resources import default_requirements
from apps.cluster.admission.draft import Body, child, drop_empty

_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600

_SOURCE_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "secret": {"defaultMode": _FILE_MODE},
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "projected": {"defaultMode": _FILE_MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_volume(volume: Body) -> None:
    """A volume of a pod: an emptyDir if it has no source."""
    if len(volume) == ("name" in volume):
        volume["emptyDir"] = {}
    default_sources(volume)
    for item in volume.get("downwardAPI", {}).get("items", ()):
        default_field_ref(item)
    for source in volume.get("projected", {}).get("sources", ()):
        _default_projection(source)
    image = volume.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference", ""))
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate")
    if template is not None:
        child(template, "metadata")
        default_claim_spec(child(template, "spec"))


def default_sources(holder: Body) -> None:
    """Defaults of the volume sources of a volume."""
    for name, source in holder.items():
        if type(source) is not dict:
            continue
        if name != "azureDisk":
            drop_empty(source, "readOnly", "fsType")
        for field, default in _SOURCE_DEFAULTS.get(name, {}).items():
            source.setdefault(field, default)


def default_claim_spec(spec: Body) -> None:
    """The spec of a PersistentVolumeClaim, or of a template for one."""
    spec.setdefault("volumeMode", "Filesystem")
    default_requirements(child(spec, "resources"))
    drop_empty(spec, "accessModes", "volumeName")


def _default_projection(source: Body) -> None:
    token = source.get("serviceAccountToken")
    if token is not None:
        token.setdefault("expirationSeconds", _TOKEN_SECONDS)
    for item in source.get("downwardAPI", {}).get("items", ()):
        default_field_ref(item)
