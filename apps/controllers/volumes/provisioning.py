"""The mock provisioner: creates a volume for a claim that is accessible from its node."""

from __future__ import annotations

from typing import Any, Final

from apps.cluster.validation.volumes import validate_driver_name
from apps.scheduler.objects import Node, PersistentVolumeClaim, StorageClass

Body = dict[str, Any]

_ZONE: Final = "topology.kubernetes.io/zone"


def new_volume(
    claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node | None
) -> Body:
    """The volume that the class's provisioner creates; with a node, in the node's zone."""
    meta, spec = claim.metadata, claim.spec
    name = f"pvc-{meta.uid}"
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }
    affinity = _affinity(storage_class, node)
    return {
        "metadata": {
            "name": name,
            "annotations": {"pv.kubernetes.io/provisioned-by": storage_class.provisioner},
        },
        "spec": {
            "accessModes": list(spec.access_modes),
            "capacity": {"storage": spec.resources.requests.get("storage", "0")},
            "claimRef": reference,
            **_source(storage_class.provisioner, name),
            "persistentVolumeReclaimPolicy": storage_class.reclaim_policy,
            "storageClassName": storage_class.metadata.name,
            "volumeMode": spec.volume_mode,
            **({"nodeAffinity": {"required": affinity}} if affinity else {}),
        },
    }


def _source(provisioner: str, name: str) -> Body:
    """A volume of the CSI driver with the name of the provisioner, if a driver may have it.

    Otherwise a folder of the node, as the provisioners of local volumes create it.
    """
    if any(validate_driver_name(provisioner, "driver")):
        return {"hostPath": {"path": f"/var/lib/mock-volumes/{name}", "type": "DirectoryOrCreate"}}
    return {"csi": {"driver": provisioner, "volumeHandle": name}}


def _affinity(storage_class: StorageClass, node: Node | None) -> Body | None:
    """The zone of the selected node, otherwise the allowed topologies of the class."""
    if node is not None and _ZONE in node.metadata.labels:
        zone = {"key": _ZONE, "operator": "In", "values": [node.metadata.labels[_ZONE]]}
        return {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}
    terms = [
        {
            "matchExpressions": [
                {"key": each.key, "operator": "In", "values": list(each.values)}
                for each in term.match_label_expressions
            ]
        }
        for term in storage_class.allowed_topologies
    ]
    return {"nodeSelectorTerms": terms} if terms else None
