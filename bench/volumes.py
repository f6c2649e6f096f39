"""Volumes of a CSI driver for the workload SchedulingCSIPVs: bound before their pods exist."""

from __future__ import annotations

from collections.abc import Iterator

from apps.scheduler import objects
from apps.scheduler.objects import KubeObject

#: volumes of the driver that a node can attach
LIMIT = 39
_MODES = ["ReadOnlyMany"]


def csi_node(name: str, driver: str) -> KubeObject:
    """The limit of a node."""
    entry = {"name": driver, "nodeID": name, "allocatable": {"count": LIMIT}}
    return objects.decode("CSINode", {"metadata": {"name": name}, "spec": {"drivers": [entry]}})


def bound_claim(name: str, namespace: str, driver: str) -> Iterator[tuple[str, KubeObject]]:
    """A volume and a claim of the same name, 1 GiB, bound to each other."""
    uid = f"{namespace}/{name}"
    reference = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": uid}
    volume = {
        "metadata": {"name": name, "uid": f"volume/{name}"},
        "spec": {
            "accessModes": _MODES,
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": driver, "volumeHandle": name},
            "claimRef": reference,
            "persistentVolumeReclaimPolicy": "Retain",
        },
        "status": {"phase": "Bound"},
    }
    claim = {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "annotations": {"pv.kubernetes.io/bind-completed": "true"},
        },
        "spec": {
            "accessModes": _MODES,
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": name,
        },
        "status": {"phase": "Bound"},
    }
    yield "PersistentVolume", objects.decode("PersistentVolume", volume)
    yield "PersistentVolumeClaim", objects.decode("PersistentVolumeClaim", claim)
