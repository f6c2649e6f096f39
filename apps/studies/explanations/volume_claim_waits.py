"""Why a pod waits for its PersistentVolumeClaims before any node is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


def describe_unbound_claims(cluster: Cluster, pod: Pod) -> str:
    """A sentence for each claim that keeps the pod from all nodes; "" if there is none now."""
    names = list(_claim_names(pod))
    if not names:
        return ""
    rows = kinds.by_name("PersistentVolumeClaim").objects(cluster)
    claims = {row.name: row.body for row in rows.filter(namespace=pod.namespace, name__in=names)}
    classes = {row.name: row.body for row in kinds.by_name("StorageClass").objects(cluster)}
    told = (_describe(name, claims.get(name), classes) for name in names)
    return " ".join(sentence for sentence in told if sentence)


def _claim_names(pod: Pod) -> Iterator[str]:
    for volume in pod.body["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield f"{pod.name}-{volume['name']}"


def _describe(
    name: str, claim: Mapping[str, Any] | None, classes: Mapping[str, Mapping[str, Any]]
) -> str:
    if claim is None:
        return f"Its PersistentVolumeClaim {name} does not exist."
    if claim["metadata"].get("deletionTimestamp"):
        return f"Its PersistentVolumeClaim {name} is being deleted."
    if claim["spec"].get("volumeName"):
        return ""
    why = _why_unbound(claim["spec"].get("storageClassName"), classes)
    return f"Its PersistentVolumeClaim {name} has no volume: {why}." if why else ""


def _why_unbound(class_name: str | None, classes: Mapping[str, Mapping[str, Any]]) -> str:
    """Why a claim of a class has no volume; "" if it gets one when its pod has a node."""
    if class_name is None:
        return "it names no StorageClass, and the cluster has no default one"
    if not class_name:
        return "no PersistentVolume without a StorageClass matches it"
    body = classes.get(class_name)
    if body is None:
        return f"its StorageClass {class_name} does not exist"
    if body.get("volumeBindingMode") == "WaitForFirstConsumer":
        return ""
    if body.get("provisioner") == _NO_PROVISIONER:
        return f"no PersistentVolume of StorageClass {class_name} matches it"
    return f"it waits for one of StorageClass {class_name}"
