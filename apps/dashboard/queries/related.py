"""Related objects: owners, selected pods, and objects that use an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster, KubernetesObject, Pod
from apps.cluster.tables.columns import NONE, get, labels, selector
from apps.dashboard.links import object_url
from apps.dashboard.queries.pods import filter_by_labels

Body = Mapping[str, Any]

#: Objects of a relation that are listed.
MAX_LISTED = 12


@dataclass(frozen=True, slots=True)
class Link:
    """A link to the page of an object."""

    words: str
    address: str


@dataclass(frozen=True, slots=True)
class Relation:
    """Objects with one relation to an object; `address` is the list of all of them, or empty."""

    label: str
    links: Sequence[Link]
    total: int
    address: str = ""

    @property
    def more(self) -> int:
        return self.total - len(self.links)


def selected_pods(cluster: Cluster, stored: KubernetesObject) -> tuple[QuerySet[Pod], str]:
    """The pods that match an object's selector in its namespace, and the selector as text."""
    text = _selector(stored.body)
    pods = Pod.objects.filter(cluster=cluster, namespace=stored.namespace)
    return (filter_by_labels(pods, text) if text else pods.none()), text


def pods_with_claim(cluster: Cluster, namespace: str, claim: str) -> QuerySet[Pod]:
    """The pods that mount a claim."""
    volume = [{"persistentVolumeClaim": {"claimName": claim}}]
    pods = Pod.objects.filter(cluster=cluster, namespace=namespace)
    return pods.filter(body__spec__volumes__contains=volume)


def _selector(body: Body) -> str:
    """A selector as text; services and replication controllers have a map of labels."""
    value = get(body, "spec", "selector", default={})
    is_map = body["kind"] in ("Service", "ReplicationController")
    text = labels(value) if is_map else selector(value)
    return "" if text == NONE else text


def owners_of(cluster: Cluster, stored: KubernetesObject) -> Relation:
    references = get(stored.body, "metadata", "ownerReferences", default=[])
    links = [
        link
        for each in references
        if (link := _link(cluster, each.get("kind", ""), stored.namespace, each.get("name", "")))
    ]
    return Relation("Owned by", links, len(links))


def selected_by(cluster: Cluster, stored: KubernetesObject) -> Iterator[Relation]:
    pods, text = selected_pods(cluster, stored)
    if text:
        query = {"namespace": stored.namespace, "labels": text}
        yield _pods(cluster, "Selected pods", pods, query)


def of_deployment(cluster: Cluster, deployment: KubernetesObject) -> Iterator[Relation]:
    owned = [{"uid": str(deployment.uid)}]
    sets = kinds.by_name("ReplicaSet").model._default_manager.filter(
        cluster=cluster,
        namespace=deployment.namespace,
        body__metadata__ownerReferences__contains=owned,
    )
    yield _objects(cluster, "ReplicaSets", kinds.by_name("ReplicaSet"), sets)
    yield from selected_by(cluster, deployment)


def of_priority_class(cluster: Cluster, priority_class: KubernetesObject) -> Iterator[Relation]:
    value = get(priority_class.body, "value", default=0)
    pods = Pod.objects.filter(cluster=cluster, priority=value)
    yield _pods(cluster, "Pods with this priority", pods, {"priority": str(value)})


def of_namespace(cluster: Cluster, stored: KubernetesObject) -> Iterator[Relation]:
    pods = Pod.objects.filter(cluster=cluster, namespace=stored.name)
    yield _pods(cluster, "Pods in this namespace", pods, {"namespace": stored.name})


def of_volume_claim(cluster: Cluster, stored: KubernetesObject) -> Iterator[Relation]:
    yield _one(cluster, "Volume", "PersistentVolume", get(stored.body, "spec", "volumeName"))
    storage_class = get(stored.body, "spec", "storageClassName")
    yield _one(cluster, "Storage class", "StorageClass", storage_class)
    pods = pods_with_claim(cluster, stored.namespace, stored.name)
    yield _pods(cluster, "Pods that mount it", pods, None)


def of_volume(cluster: Cluster, volume: KubernetesObject) -> Iterator[Relation]:
    claim = get(volume.body, "spec", "claimRef", default={})
    link = _link(cluster, "PersistentVolumeClaim", claim.get("namespace", ""), claim.get("name"))
    yield Relation("Bound to", [link] if link else [], 1 if link else 0)
    storage_class = get(volume.body, "spec", "storageClassName")
    yield _one(cluster, "Storage class", "StorageClass", storage_class)


def of_storage_class(cluster: Cluster, stored: KubernetesObject) -> Iterator[Relation]:
    for name, label in (("PersistentVolumeClaim", "Claims"), ("PersistentVolume", "Volumes")):
        kind = kinds.by_name(name)
        objects = kind.objects(cluster)
        using = objects.filter(body__spec__storageClassName=stored.name)
        yield _objects(cluster, f"{label} of this class", kind, using)


def of_attachment(cluster: Cluster, attachment: KubernetesObject) -> Iterator[Relation]:
    yield _one(cluster, "Node", "Node", get(attachment.body, "spec", "nodeName"))
    volume = get(attachment.body, "spec", "source", "persistentVolumeName")
    yield _one(cluster, "Volume", "PersistentVolume", volume)


def of_resource_claim(cluster: Cluster, stored: KubernetesObject) -> Iterator[Relation]:
    users = [
        each.get("name", "")
        for each in get(stored.body, "status", "reservedFor", default=[])
        if each.get("resource") == "pods"
    ]
    pods = Pod.objects.filter(cluster=cluster, namespace=stored.namespace, name__in=users)
    yield _pods(cluster, "Reserved by", pods, None)
    results = get(stored.body, "status", "allocation", "devices", "results", default=[])
    links = [link for each in results if (link := _device_link(cluster, each))]
    yield Relation("Devices", links[:MAX_LISTED], len(links))
    requests = get(stored.body, "spec", "devices", "requests", default=[])
    asked = [
        part
        for each in requests
        for part in (each.get("exactly"), *(each.get("firstAvailable") or ()))
        if part
    ]
    names = dict.fromkeys(part.get("deviceClassName", "") for part in asked)
    classes = [link for name in names if (link := _link(cluster, "DeviceClass", "", name))]
    yield Relation("Device classes", classes, len(classes))


def _device_link(cluster: Cluster, result: Mapping[str, Any]) -> Link | None:
    """A device, with the page of the slice that lists it."""
    kind = kinds.by_name("ResourceSlice")
    pool, device = result.get("pool", ""), result.get("device", "")
    listed = kind.objects(cluster).filter(
        body__spec__pool__name=pool,
        body__spec__driver=result.get("driver", ""),
        body__spec__devices__contains=[{"name": device}],
    )
    name = listed.values_list("name", flat=True).first()
    if name is None:
        return None
    return Link(f"{device} of {pool}", object_url(cluster, kind, "", name))


def of_resource_slice(cluster: Cluster, resource_slice: KubernetesObject) -> Iterator[Relation]:
    yield _one(cluster, "Node", "Node", get(resource_slice.body, "spec", "nodeName"))
    result = {
        "driver": get(resource_slice.body, "spec", "driver"),
        "pool": get(resource_slice.body, "spec", "pool", "name"),
    }
    kind = kinds.by_name("ResourceClaim")
    claims = kind.objects(cluster).filter(
        body__status__allocation__devices__results__contains=[result]
    )
    yield _objects(cluster, "Claims with devices of its pool", kind, claims)


def of_device_class(cluster: Cluster, device_class: KubernetesObject) -> Iterator[Relation]:
    kind = kinds.by_name("ResourceClaim")
    request = [{"exactly": {"deviceClassName": device_class.name}}]
    claims = kind.objects(cluster).filter(body__spec__devices__requests__contains=request)
    yield _objects(cluster, "Claims of this class", kind, claims)


def of_its_node(cluster: Cluster, stored: KubernetesObject) -> Iterator[Relation]:
    if stored.body["kind"] != "Lease" or stored.namespace == "kube-node-lease":
        yield _one(cluster, "Node", "Node", stored.name)


def _one(cluster: Cluster, label: str, kind: str, name: str) -> Relation:
    link = _link(cluster, kind, "", name)
    return Relation(label, [link] if link else [], 1 if link else 0)


def _pods(
    cluster: Cluster, label: str, pods: QuerySet[Pod], query: Mapping[str, str] | None
) -> Relation:
    relation = _objects(cluster, label, kinds.POD, pods)
    address = f"{object_url(cluster, kinds.POD)}?{urlencode(query)}" if query else ""
    return Relation(relation.label, relation.links, relation.total, address)


def _objects(cluster: Cluster, label: str, kind: Kind, objects: QuerySet[Any]) -> Relation:
    named = objects.order_by("namespace", "name").values_list("namespace", "name")
    first: list[tuple[str, str]] = list(named[: MAX_LISTED + 1])
    total = len(first) if len(first) <= MAX_LISTED else objects.count()
    links = [
        Link(name, object_url(cluster, kind, namespace, name))
        for namespace, name in first[:MAX_LISTED]
    ]
    return Relation(label, links, total)


def _link(cluster: Cluster, kind: str, namespace: str, name: str | None) -> Link | None:
    """None for an object without a page."""
    known = {each.name: each for each in kinds.ALL}.get(kind)
    if known is None or not name:
        return None
    where = namespace if known.namespaced else ""
    return Link(f"{known.name} {name}", object_url(cluster, known, where, name))
