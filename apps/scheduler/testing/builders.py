"""Fluent builders of pods and nodes: ``make_pod("p").req(cpu="500m").on("n1").obj()``."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, Pod, decode_as

PAUSE_IMAGE = "registry.k8s.io/pause:3.10"


def make_pod(name: str = "pod", namespace: str = "default") -> PodBuilder:
    return PodBuilder(name, namespace)


def make_node(name: str = "node") -> NodeBuilder:
    return NodeBuilder(name)


def resources(listed: Mapping[str, str | int]) -> dict[str, str | int]:
    """Keyword arguments to resource names: ``ephemeral_storage`` -> ``ephemeral-storage``."""
    return {key.replace("_", "-"): amount for key, amount in listed.items()}


class Builder:
    """Builds any object from its body as in the API."""

    def __init__(self, name: str, namespace: str = "") -> None:
        self.body: dict[str, Any] = {
            "metadata": {"name": name, "namespace": namespace, "labels": {}},
            "spec": {},
            "status": {},
        }
        self.uid(f"{namespace}/{name}" if namespace else name)

    def uid(self, uid: str) -> Self:
        self.body["metadata"]["uid"] = uid
        return self

    def label(self, key: str, value: str = "") -> Self:
        self.body["metadata"]["labels"][key] = value
        return self

    def labels(self, labels: Mapping[str, str]) -> Self:
        self.body["metadata"]["labels"] |= labels
        return self

    def terminating(self, at: str = "2026-01-01T00:00:00Z") -> Self:
        self.body["metadata"]["deletionTimestamp"] = at
        return self


class PodBuilder(Builder):
    """A pod with one container, to which ``req`` and ``host_port`` apply."""

    def __init__(self, name: str, namespace: str) -> None:
        super().__init__(name, namespace)
        self._container: dict[str, Any] = {"name": "c", "image": PAUSE_IMAGE}
        self.body["spec"] |= {"containers": [self._container], "priority": 0}

    def obj(self) -> Pod:
        return decode_as(Pod, copy.deepcopy(self.body))

    def info(self) -> PodInfo:
        return PodInfo(self.obj())

    def spec(self, **fields: Any) -> Self:
        """Set fields of the spec by their names in the API."""
        self.body["spec"] |= fields
        return self

    def req(self, listed: Mapping[str, str | int] | None = None, **named: str | int) -> Self:
        """Requests of the container, e.g. ``req({"example.com/gpu": 1}, cpu="500m")``."""
        requests = self._container.setdefault("resources", {}).setdefault("requests", {})
        requests |= {**(listed or {}), **resources(named)}
        return self

    def init_req(self, *, sidecar: bool = False, **named: str | int) -> Self:
        """Add an init container with these requests."""
        container: dict[str, Any] = {"name": "i", "resources": {"requests": resources(named)}}
        if sidecar:
            container["restartPolicy"] = "Always"
        self.body["spec"].setdefault("initContainers", []).append(container)
        return self

    def pod_level(self, **named: str | int) -> Self:
        return self.spec(resources={"requests": resources(named)})

    def overhead(self, **named: str | int) -> Self:
        return self.spec(overhead=resources(named))

    def image(self, image: str) -> Self:
        self._container["image"] = image
        return self

    def host_port(self, port: int, *, protocol: str = "TCP", ip: str = "") -> Self:
        entry = {"containerPort": port, "hostPort": port, "protocol": protocol, "hostIP": ip}
        self._container.setdefault("ports", []).append(entry)
        return self

    def on(self, node: str) -> Self:
        """The pod runs on this node."""
        self.body["status"] |= {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
        return self.spec(nodeName=node)

    def started(self, at: str | None) -> Self:
        """When the pod started to run; None = not yet."""
        self.body["status"]["startTime"] = at
        return self

    def phase(self, phase: str) -> Self:
        self.body["status"]["phase"] = phase
        return self

    def nominated(self, node: str) -> Self:
        self.body["status"]["nominatedNodeName"] = node
        return self

    def priority(self, priority: int) -> Self:
        return self.spec(priority=priority)

    def scheduler(self, name: str) -> Self:
        return self.spec(schedulerName=name)

    def gate(self, *gates: str) -> Self:
        return self.spec(schedulingGates=[{"name": gate} for gate in gates])

    def toleration(
        self, key: str = "", value: str = "", effect: str = "", operator: str = "Equal"
    ) -> Self:
        entry = {"key": key, "value": value, "effect": effect, "operator": operator}
        self.body["spec"].setdefault("tolerations", []).append(entry)
        return self

    def node_selector(self, labels: Mapping[str, str]) -> Self:
        return self.spec(nodeSelector=dict(labels))

    def node_affinity(self, *terms: Mapping[str, Any]) -> Self:
        """Required terms, as in the API."""
        selector = {"nodeSelectorTerms": list(terms)}
        self._node_affinity()["requiredDuringSchedulingIgnoredDuringExecution"] = selector
        return self

    def node_affinity_in(self, key: str, *values: str) -> Self:
        expression = {"key": key, "operator": "In", "values": list(values)}
        return self.node_affinity({"matchExpressions": [expression]})

    def node_names(self, *names: str) -> Self:
        """Required node affinity to nodes by name."""
        return self.node_affinity(
            *(
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
                for name in names
            )
        )

    def prefers_in(self, weight: int, key: str, *values: str) -> Self:
        expression = {"key": key, "operator": "In", "values": list(values)}
        preferred = self._node_affinity().setdefault(
            "preferredDuringSchedulingIgnoredDuringExecution", []
        )
        preferred.append({"weight": weight, "preference": {"matchExpressions": [expression]}})
        return self

    def pod_affinity(self, topology_key: str, labels: Mapping[str, str]) -> Self:
        return self._pod_term("podAffinity", topology_key, labels)

    def pod_anti_affinity(self, topology_key: str, labels: Mapping[str, str]) -> Self:
        return self._pod_term("podAntiAffinity", topology_key, labels)

    def prefers_pods(self, topology_key: str, labels: Mapping[str, str], *, weight: int) -> Self:
        """A preferred term; of anti-affinity if the weight is negative."""
        kind = "podAffinity" if weight > 0 else "podAntiAffinity"
        affinity = self.body["spec"].setdefault("affinity", {}).setdefault(kind, {})
        term = {"topologyKey": topology_key, "labelSelector": {"matchLabels": dict(labels)}}
        affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(
            {"weight": abs(weight), "podAffinityTerm": term}
        )
        return self

    def spread(
        self,
        topology_key: str,
        labels: Mapping[str, str],
        *,
        max_skew: int = 1,
        when_unsatisfiable: str = "DoNotSchedule",
    ) -> Self:
        self.body["spec"].setdefault("topologySpreadConstraints", []).append(
            {
                "maxSkew": max_skew,
                "topologyKey": topology_key,
                "whenUnsatisfiable": when_unsatisfiable,
                "labelSelector": {"matchLabels": dict(labels)},
            }
        )
        return self

    def claims(self, *claims: str) -> Self:
        """Volumes from PersistentVolumeClaims."""
        self.body["spec"].setdefault("volumes", []).extend(
            {"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims
        )
        return self

    def _pod_term(self, kind: str, topology_key: str, labels: Mapping[str, str]) -> Self:
        affinity = self.body["spec"].setdefault("affinity", {}).setdefault(kind, {})
        affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", []).append(
            {"topologyKey": topology_key, "labelSelector": {"matchLabels": dict(labels)}}
        )
        return self

    def _node_affinity(self) -> dict[str, Any]:
        affinity: dict[str, Any] = self.body["spec"].setdefault("affinity", {})
        node_affinity: dict[str, Any] = affinity.setdefault("nodeAffinity", {})
        return node_affinity


class NodeBuilder(Builder):
    """A node for 110 pods, by default with 4 CPUs and 32 GiB."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.capacity(cpu="4", memory="32Gi", pods=110)

    def obj(self) -> Node:
        return decode_as(Node, copy.deepcopy(self.body))

    def capacity(self, listed: Mapping[str, str | int] | None = None, **named: str | int) -> Self:
        """Set allocatable amounts; other resources do not change."""
        allocatable = self.body["status"].setdefault("allocatable", {})
        allocatable |= {**(listed or {}), **resources(named)}
        return self

    def zone(self, zone: str, region: str = "") -> Self:
        if region:
            self.label("topology.kubernetes.io/region", region)
        return self.label("topology.kubernetes.io/zone", zone)

    def hostname(self) -> Self:
        return self.label("kubernetes.io/hostname", self.body["metadata"]["name"])

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> Self:
        entry = {"key": key, "value": value, "effect": effect}
        self.body["spec"].setdefault("taints", []).append(entry)
        return self

    def unschedulable(self) -> Self:
        self.body["spec"]["unschedulable"] = True
        return self

    def image(self, size: int, *names: str) -> Self:
        entry: dict[str, Any] = {"names": list(names), "sizeBytes": size}
        images: Sequence[Any] = self.body["status"].setdefault("images", [])
        self.body["status"]["images"] = [*images, entry]
        return self
