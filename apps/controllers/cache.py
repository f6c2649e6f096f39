"""The controllers' cache of a cluster: its objects and their owners, updated from the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar, cast

from apps.cluster import kinds, queries, sql
from apps.cluster.kinds import Kind
from apps.cluster.models import Change, Cluster
from apps.cluster.queries import Selection
from apps.controllers.autoscaling.behavior import History
from apps.controllers.kubelet.thresholds import NodePressure
from apps.controllers.node_usage import NodeUsage
from apps.scheduler.features import FeatureGates
from apps.scheduler.objects import (
    KINDS,
    DeviceTaint,
    KubeObject,
    Node,
    PersistentVolume,
    Pod,
    ResourceSlice,
    Service,
)

Body = dict[str, Any]
#: (kind, namespace, name)
Ref = tuple[str, str, str]
T = TypeVar("T", bound=KubeObject)

#: Kinds of which controllers read more fields than the scheduler: their bodies are cached.
_WHOLE = frozenset(
    {
        "ConfigMap",
        "ControllerRevision",
        "CronJob",
        "DaemonSet",
        "Deployment",
        "HorizontalPodAutoscaler",
        "Job",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "ReplicaSet",
        "ReplicationController",
        "Service",
        "StatefulSet",
    }
)
#: Kinds that are not cached. Of those that are only data, the metadata of objects with owners or
#: finalizers is, and of custom resources.
UNWATCHED = frozenset(kind.name for kind in kinds.ALL if kind.is_record or kind.name not in KINDS)


class ControllerCache:
    """The objects of one cluster by kind and name, with indexes for the controllers."""

    def __init__(self, cluster: Cluster, read_gates: Callable[[Cluster], FeatureGates]) -> None:
        """`read_gates`: the feature gates in effect, whenever a controller asks."""
        self.cluster = cluster
        self._read_gates = read_gates
        self._objects: dict[str, dict[tuple[str, str], KubeObject]] = defaultdict(dict)
        self._bodies: dict[Ref, Body] = {}
        #: node -> the pods bound to it, in order of arrival
        self._pods_on: dict[str, dict[Ref, None]] = defaultdict(dict)
        #: node -> what its pods use, for nodes of which it was asked
        self._usage: dict[str, NodeUsage] = {}
        #: (namespace, claim) -> the pods that mount it
        self._users_of: dict[tuple[str, str], dict[Ref, None]] = defaultdict(dict)
        #: (namespace, claim) -> the volumes that refer to it
        self._volumes_for: dict[tuple[str, str], dict[Ref, None]] = defaultdict(dict)
        #: namespace -> its Services with a selector, by name
        self._selecting: dict[str, dict[str, Service]] = defaultdict(dict)
        #: uid of an owner -> its dependants
        self._owned_by: dict[str, dict[Ref, None]] = defaultdict(dict)
        #: uid -> an object of a kind that is not cached as a whole, such as a custom resource
        self._others: dict[str, Ref] = {}
        #: pods to evict from their node, and when
        self.leaving: dict[Ref, datetime] = {}
        #: pods to evict because of the taints of their devices, and when
        self.leaving_devices: dict[Ref, datetime] = {}
        #: the slices with tainted devices, by name
        self.tainted_slices: dict[str, ResourceSlice] = {}
        #: uid of an autoscaler -> what its controller remembers
        self.scalings: dict[str, History] = {}
        #: uid of a workload -> until when it creates no pods, and why the last one was refused
        self.refusals: dict[str, tuple[datetime, str]] = {}
        #: node -> what its kubelet remembers of thresholds, for nodes whose usage is set
        self.pressures: dict[str, NodePressure] = {}
        #: missing node that pods refer to -> when it was first missed
        self.missing_since: dict[str, datetime] = {}
        #: uid of a Job -> when those of its pods failed that were deleted
        self.lost_failures: dict[str, list[datetime]] = {}

    def take_in(
        self,
        kind: str,
        old: KubeObject | None,
        new: KubeObject | None,
        body: Body | str | None,
    ) -> None:
        """An object was added, changed or (`new` None) deleted; `body` may be JSON text."""
        if old is not None:
            self._unindex(kind, old)
            if new is None:
                self.leaving.pop(ref_of(kind, old), None)
                self.leaving_devices.pop(ref_of(kind, old), None)
                self.refusals.pop(old.metadata.uid, None)
        if new is not None:
            self._index(kind, new, body)

    def get(self, ref: Ref, expected: type[T]) -> T | None:
        """The object at `ref`, which has the type `expected`; None if there is none."""
        return cast("T | None", self._objects[ref[0]].get(ref[1:]))

    def body(self, ref: Ref) -> Body | None:
        """The whole object, for kinds whose bodies are cached."""
        return self._bodies.get(ref)

    def node(self, name: str) -> Node | None:
        return self.get(("Node", "", name), Node)

    def pod(self, ref: Ref) -> Pod | None:
        return self.get(ref, Pod)

    def list_all(self, kind: str, expected: type[T], namespace: str | None = None) -> list[T]:
        """All objects of a kind, in one namespace or in all."""
        items = self._objects[kind]
        if namespace is None:
            return cast("list[T]", list(items.values()))
        return cast("list[T]", [item for key, item in items.items() if key[0] == namespace])

    def has_existed(self, uid: str, *, deleted: bool = False) -> bool:
        """Whether an object with this uid was recorded, or (`deleted`) its deletion."""
        # rare enough to query the log
        known = Change.objects.filter(cluster=self.cluster, uid=uid)
        return (known.filter(type=Change.Type.DELETED) if deleted else known).exists()

    def find_stored(self, kind: Kind, namespace: str, name: str) -> Body | None:
        """An object of a kind that is not cached, as it is stored now."""
        row = kind.objects(self.cluster).filter(namespace=namespace, name=name).first()
        return None if row is None else row.body

    def find_all_stored(self, kind: Kind, namespace: str, names: Collection[str]) -> list[Body]:
        """The objects with these names of a kind in a namespace, as they are stored now."""
        if not names:
            return []
        rows = kind.objects(self.cluster).filter(namespace=namespace, name__in=names)
        return [each.body for each in rows]

    def list_stored(self, kind: Kind, namespace: str) -> list[Body]:
        """The objects of a kind in a namespace, as they are stored now."""
        return queries.list_objects(self.cluster, kind, Selection(namespace=namespace)).items

    def gates(self) -> FeatureGates:
        """The feature gates in effect."""
        return self._read_gates(self.cluster)

    def has_any(self, names: Iterable[str]) -> bool:
        """Whether there is an object of one of the kinds with these names."""
        # Asked several times for each pod: without a generator.
        return any(map(self._objects.get, names))

    def all_objects(self) -> Iterator[tuple[str, KubeObject]]:
        """Every object with its kind."""
        for kind, items in list(self._objects.items()):
            for item in list(items.values()):
                yield kind, item

    def pods_on(self, node: str) -> list[Pod]:
        """The pods bound to a node."""
        return self._pods(self._pods_on.get(node, ()))

    def usage_on(self, node: str) -> NodeUsage:
        """What the pods bound to a node use; follows later changes."""
        usage = self._usage.get(node)
        if usage is None:
            usage = self._usage[node] = NodeUsage(self.pods_on(node))
        return usage

    def users_of(self, namespace: str, claim: str) -> list[Pod]:
        """The pods that mount a claim, pending ones included."""
        return self._pods(self._users_of.get((namespace, claim), ()))

    def volumes_for(self, namespace: str, claim: str) -> list[PersistentVolume]:
        """The volumes whose claimRef refers to a claim."""
        refs = self._volumes_for.get((namespace, claim), ())
        return [volume for ref in refs if (volume := self.get(ref, PersistentVolume)) is not None]

    def selecting_services(self, namespace: str) -> Collection[Service]:
        """The Services of a namespace that have a selector."""
        services = self._selecting.get(namespace)
        return services.values() if services else ()

    def other(self, uid: str) -> Ref | None:
        """The object with this uid, if it is of an unwatched kind and has owners or finalizers."""
        return self._others.get(uid)

    def owned_by(self, uid: str) -> list[Ref]:
        """The objects that have `uid` among their owners."""
        return list(self._owned_by.get(uid, ()))

    def pods_of(self, uid: str) -> list[Pod]:
        """The pods whose controller is `uid`."""
        pods = self._pods(ref for ref in self._owned_by.get(uid, ()) if ref[0] == "Pod")
        return [pod for pod in pods if (owner := pod.metadata.controller) and owner.uid == uid]

    def device_taints(self, driver: str, pool: str, device: str) -> Iterator[DeviceTaint]:
        """The taints of a device, from the newest generation of its pool."""
        for each in self.tainted_slices.values():
            if (each.spec.driver, each.spec.pool.name) != (driver, pool):
                continue
            for listed in each.spec.devices:
                if listed.name == device and listed.taints and not self._is_outdated(each):
                    yield from listed.taints

    def _is_outdated(self, each: ResourceSlice) -> bool:
        pool = each.spec.pool
        return any(
            other.spec.driver == each.spec.driver
            and other.spec.pool.name == pool.name
            and other.spec.pool.generation > pool.generation
            for other in self.list_all("ResourceSlice", ResourceSlice)
        )

    def _pods(self, refs: Iterable[Ref]) -> list[Pod]:
        return [pod for ref in refs if (pod := self.pod(ref)) is not None]

    def _index(self, kind: str, item: KubeObject, body: Body | str | None) -> None:
        ref = ref_of(kind, item)
        self._objects[kind][ref[1:]] = item
        if kind not in KINDS:
            self._others[item.metadata.uid] = ref
        if kind in _WHOLE and body is not None:
            self._bodies[ref] = sql.load_json(body) if isinstance(body, str) else body
        for owner in item.metadata.owner_references:
            self._owned_by[owner.uid][ref] = None
        if isinstance(item, PersistentVolume) and (named := item.spec.claim_ref) is not None:
            self._volumes_for[named.namespace, named.name][ref] = None
        if isinstance(item, Service) and item.spec.selector:
            self._selecting[ref[1]][ref[2]] = item
        if isinstance(item, ResourceSlice) and any(each.taints for each in item.spec.devices):
            self.tainted_slices[item.metadata.name] = item
        if isinstance(item, Pod):
            if item.spec.node_name:
                self._pods_on[item.spec.node_name][ref] = None
                if (usage := self._usage.get(item.spec.node_name)) is not None:
                    usage.add(item)
            for claim in claims_of(item):
                self._users_of[ref[1], claim][ref] = None

    def _unindex(self, kind: str, item: KubeObject) -> None:
        ref = ref_of(kind, item)
        self._objects[kind].pop(ref[1:], None)
        self._others.pop(item.metadata.uid, None)
        self._bodies.pop(ref, None)
        for owner in item.metadata.owner_references:
            _remove_from_index(self._owned_by, owner.uid, ref)
        if isinstance(item, PersistentVolume) and (named := item.spec.claim_ref) is not None:
            _remove_from_index(self._volumes_for, (named.namespace, named.name), ref)
        if isinstance(item, Service):
            self._selecting[ref[1]].pop(ref[2], None)
        if isinstance(item, ResourceSlice):
            self.tainted_slices.pop(item.metadata.name, None)
        if isinstance(item, Pod):
            _remove_from_index(self._pods_on, item.spec.node_name, ref)
            if (usage := self._usage.get(item.spec.node_name)) is not None:
                usage.remove(item)
            for claim in claims_of(item):
                _remove_from_index(self._users_of, (ref[1], claim), ref)


K = TypeVar("K")


def _remove_from_index(index: dict[K, dict[Ref, None]], key: K, ref: Ref) -> None:
    entries = index.get(key)
    if entries is not None:
        entries.pop(ref, None)
        if not entries:
            del index[key]


def ref_of(kind: str, item: KubeObject) -> Ref:
    return kind, item.metadata.namespace, item.metadata.name


def controller_refs(item: KubeObject, kinds: Container[str]) -> list[Ref]:
    """The object's controller, if it is of one of these kinds."""
    owner = item.metadata.controller
    if owner is None or owner.kind not in kinds:
        return []
    return [(owner.kind, item.metadata.namespace, owner.name)]


def claims_of(pod: Pod) -> list[str]:
    """The names of the claims that a pod mounts, including those of ephemeral volumes."""
    names = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            names.append(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            names.append(f"{pod.metadata.name}-{volume.name}")
    return names


def owner_reference(owner: Mapping[str, Any]) -> Body:
    """The owner reference to the controller of an object."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_watched(api_version: str, kind: str) -> bool:
    """Whether objects of this type are cached, so that a missing one does not exist."""
    try:
        return kinds.by_api_version(api_version, kind).name not in UNWATCHED
    except KeyError:
        return False
