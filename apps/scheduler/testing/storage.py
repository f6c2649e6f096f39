"""Builders of volumes and claims: ``make_claim("c").asks("5Gi").in_class("local").obj()``."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

from apps.scheduler.objects import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    decode_as,
)
from apps.scheduler.testing.builders import Builder

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


def make_claim(name: str, namespace: str = "default") -> ClaimBuilder:
    return ClaimBuilder(name, namespace)


def make_volume(name: str) -> VolumeBuilder:
    return VolumeBuilder(name)


def make_storage_class(
    name: str, provisioner: str = "kubernetes.io/no-provisioner", **fields: Any
) -> StorageClass:
    """A class that waits for the first consumer; other fields by their names in the API."""
    body = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer", **fields}
    return decode_as(StorageClass, {"metadata": {"name": name}, **body})


def make_csi_node(name: str, limits: Mapping[str, int | None], migrated: str = "") -> CSINode:
    """``limits``: driver -> how many volumes; ``migrated``: the names of in-tree plugins."""
    key = "storage.alpha.kubernetes.io/migrated-plugins"
    meta = {"name": name, "annotations": {key: migrated} if migrated else {}}
    drivers = [
        {"name": driver, "nodeID": name, "allocatable": {"count": count}}
        for driver, count in limits.items()
    ]
    return decode_as(CSINode, {"metadata": meta, "spec": {"drivers": drivers}})


class _StorageBuilder(Builder):
    def annotation(self, key: str, value: str) -> Self:
        self.body["metadata"].setdefault("annotations", {})[key] = value
        return self

    def spec(self, **fields: Any) -> Self:
        """Set fields of the spec by their names in the API."""
        self.body["spec"] |= fields
        return self

    def in_class(self, name: str) -> Self:
        return self.spec(storageClassName=name)

    def phase(self, phase: str) -> Self:
        self.body["status"]["phase"] = phase
        return self

    def version(self, version: int) -> Self:
        self.body["metadata"]["resourceVersion"] = str(version)
        return self


class ClaimBuilder(_StorageBuilder):
    """A pending claim for 1 GiB with access mode ReadWriteOnce."""

    def __init__(self, name: str, namespace: str) -> None:
        super().__init__(name, namespace)
        self.modes("ReadWriteOnce").asks("1Gi").phase("Pending")

    def obj(self) -> PersistentVolumeClaim:
        return decode_as(PersistentVolumeClaim, copy.deepcopy(self.body))

    def asks(self, size: str) -> Self:
        return self.spec(resources={"requests": {"storage": size}})

    def modes(self, *modes: str) -> Self:
        return self.spec(accessModes=list(modes))

    def bound_to(self, volume: str) -> Self:
        """Bind the claim to this volume."""
        return self.spec(volumeName=volume).annotation(BIND_COMPLETED, "yes").phase("Bound")

    def created_for(self, pod_uid: str) -> Self:
        """The claim of a generic ephemeral volume."""
        owner = {"kind": "Pod", "uid": pod_uid, "controller": True}
        self.body["metadata"]["ownerReferences"] = [owner]
        return self


class VolumeBuilder(_StorageBuilder):
    """An available volume of 1 GiB for any access."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        modes = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]
        self.spec(accessModes=modes, capacity={"storage": "1Gi"}).phase("Available")

    def obj(self) -> PersistentVolume:
        return decode_as(PersistentVolume, copy.deepcopy(self.body))

    def holds(self, size: str) -> Self:
        return self.spec(capacity={"storage": size})

    def csi(self, driver: str, handle: str) -> Self:
        return self.spec(csi={"driver": driver, "volumeHandle": handle})

    def near(self, key: str, *values: str) -> Self:
        """Node affinity to nodes with one of these values of a label."""
        expression = {"key": key, "operator": "In", "values": list(values)}
        return self.affinity({"matchExpressions": [expression]})

    def affinity(self, *terms: Mapping[str, Any]) -> Self:
        """Required terms, as in the API."""
        return self.spec(nodeAffinity={"required": {"nodeSelectorTerms": list(terms)}})

    def claimed_by(self, claim: str, uid: str = "", namespace: str = "default") -> Self:
        reference = {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim}
        return self.spec(claimRef={**reference, "uid": uid})
