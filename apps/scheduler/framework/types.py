"""Pods and nodes in the scheduler: the API object and what is computed from it once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apps.scheduler.framework import resources
from apps.scheduler.framework.affinity_terms import PodTerms, pod_terms
from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.mounts import Mount, mounts_of

if TYPE_CHECKING:
    from apps.scheduler.objects import Node, Pod, PodAffinityTerm, WeightedPodAffinityTerm

#: (namespace, labels, terminating): pods of one class match the same label selectors
LabelClass = tuple[str, frozenset[tuple[str, str]], bool]

#: values of a PodInfo that depend on its spec alone: in general, without volumes, and without
#: inter-pod (anti-)affinity
_OF_SPEC = (
    "priority",
    "requests",
    "spec_requests",
    "nonzero_requests",
    "fit_scoring_requests",
    "host_ports",
    "required_affinity_terms",
    "required_anti_affinity_terms",
    "preferred_affinity_terms",
    "preferred_anti_affinity_terms",
    "has_pod_affinity",
)
_OF_VOLUMES = ("claim_names", "mounts")
_OF_AFFINITY = ("terms",)

#: host IPs that mean all addresses of a node
ANY_IP = frozenset({"", "0.0.0.0"})


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that a container occupies."""

    port: int
    protocol: str
    ip: str

    @property
    def key(self) -> tuple[str, int]:
        return (self.protocol, self.port)

    def conflicts_with(self, ip: str) -> bool:
        """Whether the same port on ``ip`` conflicts (a wildcard means every address)."""
        return self.ip == ip or self.ip in ANY_IP or ip in ANY_IP


class PodInfo:
    """A pod with everything that plugins would otherwise compute again in every cycle.

    Immutable: an updated pod is a new PodInfo. Requests are plain dicts from resource name to an
    integer: milli-CPU for ``cpu``, bytes or whole units for everything else.
    """

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.namespace = pod.metadata.namespace
        self.name = pod.metadata.name
        self.key = f"{self.namespace}/{self.name}"
        self.uid = pod.metadata.uid

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"

    def with_pod(self, pod: Pod) -> PodInfo:
        """The same for another version of the pod, with equal computed values."""
        other = PodInfo.__new__(PodInfo)
        other.__dict__.update(self.__dict__, pod=pod)
        return other

    def share(self) -> Mapping[str, object]:
        """The values that every pod with an equal spec has, unless it is being resized."""
        names: tuple[str, ...] = _OF_SPEC
        if not self.pod.spec.volumes:
            names += _OF_VOLUMES
        if not self.has_pod_affinity:
            names += _OF_AFFINITY
        return {name: getattr(self, name) for name in names}

    def take_over(self, shared: Mapping[str, object]) -> None:
        """Use what a pod with an equal spec shares instead of computing it again."""
        self.__dict__.update(shared)

    def has_same_footprint(self, other: PodInfo) -> bool:
        """Whether all computed values of ``other``, a version of this pod, are equal."""
        ours, theirs = self.pod.metadata, other.pod.metadata
        return (
            ours.labels == theirs.labels
            and ours.annotations == theirs.annotations
            and ours.deletion_timestamp == theirs.deletion_timestamp
            and self.takes_same_room(other)
        )

    def takes_same_room(self, other: PodInfo) -> bool:
        """Whether the values that `share` returns are equal for ``other``, a version of this pod.

        It then takes the same room on a node; its labels may differ.
        """
        ours, theirs = self.pod, other.pod
        return (
            self.key == other.key
            and ours.spec == theirs.spec
            and ours.status.node_allocatable_resource_claim_statuses
            == theirs.status.node_allocatable_resource_claim_statuses
            and not resources.has_resize_status(ours)
            and not resources.has_resize_status(theirs)
        )

    @property
    def labels(self) -> Mapping[str, str]:
        return self.pod.metadata.labels

    @lazy
    def priority(self) -> int:
        return self.pod.spec.priority

    @property
    def is_terminating(self) -> bool:
        return self.pod.metadata.deletion_timestamp is not None

    @lazy
    def requests(self) -> dict[str, int]:
        """The requests that count on its node, with in-place resizes and overhead."""
        return resources.pod_requests(self.pod, use_status=True)

    @lazy
    def spec_requests(self) -> dict[str, int]:
        """The requests of a pod without a node: by its spec alone."""
        if resources.has_counted_status(self.pod):
            return resources.pod_requests(self.pod, use_status=False)
        return self.requests

    @lazy
    def nonzero_requests(self) -> tuple[int, int]:
        """(milli-CPU, bytes) with 100m and 200Mi for each container without a request."""
        return resources.nonzero_requests(self.pod)

    @lazy
    def fit_scoring_requests(self) -> dict[str, int]:
        """The requests by which NodeResourcesFit scores the pod; see framework.resources."""
        return resources.fit_scoring_requests(self.pod)

    @lazy
    def host_ports(self) -> tuple[HostPort, ...]:
        """Host ports of containers and of restartable init containers."""
        return tuple(_host_ports(self.pod))

    @lazy
    def required_affinity_terms(self) -> tuple[PodAffinityTerm, ...]:
        affinity = self.pod.spec.affinity
        if affinity is None or affinity.pod_affinity is None:
            return ()
        return affinity.pod_affinity.required_during_scheduling_ignored_during_execution

    @lazy
    def required_anti_affinity_terms(self) -> tuple[PodAffinityTerm, ...]:
        affinity = self.pod.spec.affinity
        if affinity is None or affinity.pod_anti_affinity is None:
            return ()
        return affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution

    @lazy
    def preferred_affinity_terms(self) -> tuple[WeightedPodAffinityTerm, ...]:
        affinity = self.pod.spec.affinity
        if affinity is None or affinity.pod_affinity is None:
            return ()
        return affinity.pod_affinity.preferred_during_scheduling_ignored_during_execution

    @lazy
    def preferred_anti_affinity_terms(self) -> tuple[WeightedPodAffinityTerm, ...]:
        affinity = self.pod.spec.affinity
        if affinity is None or affinity.pod_anti_affinity is None:
            return ()
        return affinity.pod_anti_affinity.preferred_during_scheduling_ignored_during_execution

    @lazy
    def has_pod_affinity(self) -> bool:
        """Whether the pod has any inter-pod affinity or anti-affinity term."""
        affinity = self.pod.spec.affinity
        return affinity is not None and bool(
            self.required_affinity_terms
            or self.required_anti_affinity_terms
            or self.preferred_affinity_terms
            or self.preferred_anti_affinity_terms
        )

    @lazy
    def label_class(self) -> LabelClass:
        return (self.namespace, frozenset(self.labels.items()), self.is_terminating)

    @lazy
    def terms(self) -> PodTerms:
        """The pod's inter-pod (anti-)affinity terms, compiled."""
        return pod_terms(self.pod)

    @lazy
    def claim_names(self) -> tuple[str, ...]:
        """Names of the PersistentVolumeClaims the pod mounts, ephemeral volumes included."""
        return tuple(_claim_names(self.pod))

    @lazy
    def mounts(self) -> tuple[Mount, ...]:
        """The volumes that pods may share or that count against a limit."""
        return mounts_of(self.pod) if self.pod.spec.volumes else ()


def _host_ports(pod: Pod) -> Iterable[HostPort]:
    sidecars = (c for c in pod.spec.init_containers if c.restart_policy == "Always")
    for container in (*pod.spec.containers, *sidecars):
        for port in container.ports:
            if port.host_port > 0:
                yield HostPort(port.host_port, port.protocol, port.host_ip or "0.0.0.0")


def _claim_names(pod: Pod) -> Iterable[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.name}-{volume.name}"


@dataclass(slots=True)
class NodeInfo:
    """A node and the pods on it, assumed ones included.

    ``node`` is None if there are pods on it but no Node object (yet, or any more); such a NodeInfo
    has no row in the snapshot.
    """

    name: str
    node: Node | None = None
    pods: dict[str, PodInfo] = field(default_factory=dict)
    #: sum of the pods' requests, in the units of PodInfo.requests
    requested: dict[str, int] = field(default_factory=dict)
    nonzero_cpu: int = 0
    nonzero_memory: int = 0
    allocatable: dict[str, int] = field(default_factory=dict)
    allowed_pods: int = 0
    #: (protocol, port) -> host IPs in use
    used_ports: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    #: pods with any inter-pod (anti-)affinity term, by key
    pods_with_affinity: dict[str, PodInfo] = field(default_factory=dict)
    #: pods with a required inter-pod anti-affinity term, by key
    pods_with_required_anti_affinity: dict[str, PodInfo] = field(default_factory=dict)
    #: number of pods here that have the mount
    mounts: dict[Mount, int] = field(default_factory=dict)

    def set_node(self, node: Node | None) -> None:
        self.node = node
        listed = node.status.allocatable if node is not None else {}
        self.allocatable, self.allowed_pods = resources.node_allocatable(listed)

    def add_pod(self, pod: PodInfo) -> None:
        """Add ``pod``, which must not be here yet."""
        self.pods[pod.key] = pod
        if pod.has_pod_affinity:
            self.pods_with_affinity[pod.key] = pod
        if pod.required_anti_affinity_terms:
            self.pods_with_required_anti_affinity[pod.key] = pod
        self._count(pod, 1)
        for port in pod.host_ports:
            self.used_ports.setdefault(port.key, set()).add(port.ip)

    def remove_pod(self, key: str) -> PodInfo:
        """Remove and return the pod with this key. Raises KeyError if there is none."""
        pod = self.pods.pop(key)
        self.pods_with_affinity.pop(key, None)
        self.pods_with_required_anti_affinity.pop(key, None)
        self._count(pod, -1)
        for port in pod.host_ports:
            self._release(port)
        return pod

    def replace_pod(self, pod: PodInfo) -> None:
        """Replace a pod by a version of it with the same footprint."""
        for pods in (self.pods, self.pods_with_affinity, self.pods_with_required_anti_affinity):
            if pod.key in pods:
                pods[pod.key] = pod

    def reorder_pods(self, keys: Iterable[str]) -> None:
        """List the pods in this order; ``keys`` contains the key of each of them."""
        self.pods = {key: self.pods[key] for key in keys}

    def _count(self, pod: PodInfo, sign: int) -> None:
        requested = self.requested
        for name, amount in pod.requests.items():
            requested[name] = requested.get(name, 0) + sign * amount
        cpu, memory = pod.nonzero_requests
        self.nonzero_cpu += sign * cpu
        self.nonzero_memory += sign * memory
        for mount in pod.mounts:
            self.mounts[mount] = self.mounts.get(mount, 0) + sign
            if self.mounts[mount] == 0:
                del self.mounts[mount]

    def _release(self, port: HostPort) -> None:
        """Free ``port``; as upstream without counting, since pods never share a host port."""
        ips = self.used_ports.get(port.key)
        if ips is not None:
            ips.discard(port.ip)
            if not ips:
                del self.used_ports[port.key]

    def port_conflicts(self, wanted: Iterable[HostPort]) -> bool:
        """Whether any of the wanted host ports is in use here."""
        return any(
            port.conflicts_with(ip) for port in wanted for ip in self.used_ports.get(port.key, ())
        )

    def without_pods(self) -> NodeInfo:
        """The node with nothing on it."""
        return NodeInfo(
            name=self.name,
            node=self.node,
            allocatable=self.allocatable,
            allowed_pods=self.allowed_pods,
        )

    def clone(self) -> NodeInfo:
        """An independent copy."""
        return NodeInfo(
            name=self.name,
            node=self.node,
            pods=dict(self.pods),
            requested=dict(self.requested),
            nonzero_cpu=self.nonzero_cpu,
            nonzero_memory=self.nonzero_memory,
            allocatable=self.allocatable,
            allowed_pods=self.allowed_pods,
            used_ports={key: set(ips) for key, ips in self.used_ports.items()},
            pods_with_affinity=dict(self.pods_with_affinity),
            pods_with_required_anti_affinity=dict(self.pods_with_required_anti_affinity),
            mounts=dict(self.mounts),
        )
