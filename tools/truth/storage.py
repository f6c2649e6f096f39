"""Volumes of random clusters that are bound where pods go, and claims of which some are no good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.truth.clusters import Cluster

Body = dict[str, Any]

_ZONE, _HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_DRIVER, _CLAIM = "csi.example.com", "PersistentVolumeClaim"
_LOCAL = "kubernetes.io/no-provisioner"
_SHARED = "only"


def add_classes(cluster: Cluster) -> None:
    wait = {"volumeBindingMode": "WaitForFirstConsumer"}
    cluster.add("StorageClass", "local", provisioner=_LOCAL, **wait)
    values = {"key": _ZONE, "values": ["z0", "z2"]}
    topologies = [{"matchLabelExpressions": [values]}]
    cluster.add(
        "StorageClass", "zonal", provisioner="x.example.com", allowedTopologies=topologies, **wait
    )
    for number in range(24):
        _add_local(cluster, f"local{number}", number)


def _add_local(cluster: Cluster, name: str, number: int) -> None:
    dice = cluster.dice
    key = dice.choice((_HOSTNAME, _ZONE))
    values = dice.sample(cluster.nodes, 2) if key == _HOSTNAME else [f"z{dice.randint(0, 3)}"]
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": values}]}]
    # no two have one size: which of them is taken would be random
    spec = {
        "capacity": {"storage": f"{1024 + 131 * number}Mi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "volumeMode": dice.choice(("Filesystem", "Filesystem", "Block")),
        "local": {"path": "/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
    }
    labels = {"disk": dice.choice(("ssd", "hdd"))}
    status = {"phase": "Available"}
    cluster.add("PersistentVolume", name, metadata={"labels": labels}, spec=spec, status=status)


def claim_of_local(cluster: Cluster, name: str) -> Body:
    """A volume source; its claim waits for a consumer, or cannot be used."""
    dice, draw = cluster.dice, cluster.dice.random()
    spec: Body = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{dice.randint(1, 4)}Gi"}},
        "volumeMode": "Filesystem",
        "storageClassName": dice.choice(("local", "local", "zonal")),
    }
    metadata: Body = {}
    status = {"phase": "Pending"}
    if cluster.odds(0.2):
        spec["selector"] = {"matchLabels": {"disk": "ssd"}}
    if draw < 0.1:
        metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
        metadata["finalizers"] = ["kubernetes.io/pvc-protection"]
    elif draw < 0.2:
        status = {"phase": "Lost"}
        spec["volumeName"] = "gone"
    elif draw < 0.3:
        spec["storageClassName"] = "unknown"
    elif draw < 0.4:
        chosen = dice.choice(cluster.nodes)
        metadata["annotations"] = {"volume.kubernetes.io/selected-node": chosen}
    if draw < 0.95:
        cluster.add(_CLAIM, name, metadata=metadata, spec=spec, status=status)
    return {"persistentVolumeClaim": {"claimName": name}}


def add_exclusive(cluster: Cluster) -> list[str]:
    """Claims that one pod may use; their names."""
    return [_exclusive(cluster, f"{_SHARED}{number}") for number in range(10)]


def _exclusive(cluster: Cluster, name: str) -> str:
    dice = cluster.dice
    zones = "__".join(dice.sample(("z0", "z1", "z2", "z3"), 3))
    labels = {dice.choice((_ZONE, "failure-domain.beta.kubernetes.io/zone")): zones}
    spec: Body = {
        "accessModes": ["ReadWriteOncePod"],
        "storageClassName": "now",
        "volumeMode": "Filesystem",
    }
    user = {"kind": _CLAIM, "namespace": "default", "name": name, "uid": f"default/{name}"}
    csi = {"driver": _DRIVER, "volumeHandle": f"h-{name}"}
    cluster.add(
        "PersistentVolume",
        f"pv-{name}",
        metadata={"labels": labels},
        spec={**spec, "capacity": {"storage": "1Gi"}, "csi": csi, "claimRef": user},
        status={"phase": "Bound"},
    )
    cluster.add(
        _CLAIM,
        name,
        metadata={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        spec={
            **spec,
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": f"pv-{name}",
        },
        status={"phase": "Bound"},
    )
    return name
