"""The workloads of `workloads.yaml` as nodes and pods of the core."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from apps.scheduler import objects
from apps.scheduler.objects import KubeObject, Pod
from bench import devices, volumes

FILE = Path(__file__).with_name("workloads.yaml")
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class BenchmarkWorkload:
    """One entry of the file."""

    name: str
    spec: Mapping[str, Any]
    templates: Mapping[str, Any]

    def scaled(self, nodes: int) -> BenchmarkWorkload:
        """The workload with this many nodes, and as many pods per node as before.

        A workload of one node keeps it: all its pods are bound there.
        """
        if self.spec["nodes"] == 1:
            return self
        share = nodes / self.spec["nodes"]
        init, timed = (
            [[max(1, round(count * share)), *rest] for count, *rest in groups]
            for groups in (self.spec["init"], [self.spec["timed"]])
        )
        return replace(self, spec={**self.spec, "nodes": nodes, "init": init, "timed": timed[0]})

    def cluster(self) -> Iterator[tuple[str, KubeObject]]:
        """Namespaces, nodes, the limits of their volumes, and their devices."""
        wanted = self.spec.get("namespaces")
        for number in range(wanted["count"] if wanted else 2):
            metadata = {"name": f"sched-{number}", "labels": (wanted or {}).get("labels", {})}
            yield "Namespace", objects.decode("Namespace", {"metadata": metadata})
        zones = itertools.cycle(self.spec.get("zones", [None]))
        for number in range(self.spec["nodes"]):
            yield "Node", self._node(f"node-{number:05}", next(zones), self.spec.get("node", {}))
        for extra in self.spec.get("extraNodes", []):
            yield "Node", self._node(extra["name"], None, extra)
        if driver := self._volume_driver():
            for number in range(self.spec["nodes"]):
                yield "CSINode", volumes.csi_node(f"node-{number:05}", driver)
        if offered := self.spec.get("devices"):
            yield "DeviceClass", devices.device_class(offered["driver"])
            for number in range(self.spec["nodes"]):
                item = devices.resource_slice(
                    f"node-{number:05}", offered["driver"], offered["per_node"]
                )
                yield "ResourceSlice", item

    def initial_pods(self) -> Iterator[KubeObject]:
        """Pods that are placed before the measurement."""
        for place, (count, template, *where) in enumerate(self.spec["init"]):
            for number in range(count):
                namespace = self._namespace(where, number)
                yield self.pod(template, f"init-{place}-{number}", namespace)

    def timed_pods(self, most: int) -> Iterator[KubeObject]:
        """Pods that are timed, at most `most`."""
        count, template, *where = self.spec["timed"]
        for number in range(min(count, most)):
            yield self.pod(template, f"timed-{number}", self._namespace(where, number))

    @property
    def churn_interval(self) -> int:
        """Timed pods for each pod that is created while the clock runs; 0 without such pods.

        A fixed number, so that a faster scheduler does the same work: upstream creates these pods
        at fixed intervals, and this is what its slowest permitted scheduler binds in one.
        """
        churn = self.spec.get("churn")
        return round(self.spec["threshold"] * churn["every_ms"] / 1000) if churn else 0

    def churn_pods(self) -> Iterator[KubeObject]:
        """Pods that are created while the clock runs, as many as are taken."""
        for number in itertools.count() if "churn" in self.spec else ():
            yield self.pod(self.spec["churn"]["template"], f"churn-{number}", "sched-0")

    def storage(self, pod: Pod) -> Iterator[tuple[str, KubeObject]]:
        """The volume and the claim of each volume of the pod, bound to each other."""
        for volume in pod.spec.volumes:
            if claim := volume.persistent_volume_claim:
                driver = self._volume_driver()
                yield from volumes.bound_claim(claim.claim_name, pod.metadata.namespace, driver)

    def pod(self, template: str, name: str, namespace: str) -> KubeObject:
        """One pod of a template."""
        kind = self.templates[template]
        spec: dict[str, Any] = {
            "priority": kind.get("priority", 0),
            "containers": [
                {
                    "name": "pause",
                    "image": "registry.k8s.io/pause:3.10",
                    "resources": {"requests": kind["requests"]},
                }
            ],
            "affinity": _affinity(kind),
            "schedulingGates": [{"name": gate} for gate in kind.get("schedulingGates", [])],
            "topologySpreadConstraints": _spread(kind),
        }
        status: dict[str, Any] = {}
        if "volume" in kind:
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        if "claim_template" in kind:
            template_name = kind["claim_template"]
            spec["resourceClaims"] = [{"name": "r", "resourceClaimTemplateName": template_name}]
            status["resourceClaimStatuses"] = [{"name": "r", "resourceClaimName": name}]
        metadata = {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}/{name}",
            "labels": kind.get("labels", {}),
        }
        return objects.decode("Pod", {"metadata": metadata, "spec": spec, "status": status})

    def _volume_driver(self) -> str:
        """The CSI driver of the timed pods' volumes; "" without volumes."""
        volume = self.templates[self.spec["timed"][1]].get("volume")
        return volume["driver"] if volume else ""

    def _namespace(self, where: list[str], number: int) -> str:
        if not where:
            return "sched-0"
        if where[0] == "the 101st":
            return "sched-100"
        return f"sched-{number % 100}" if where[0].startswith("spread over") else where[0]

    def _node(self, name: str, zone: str | None, kind: Mapping[str, Any]) -> KubeObject:
        labels = {ZONE: zone} if zone else {}
        if self.spec.get("hostname"):
            labels[HOSTNAME] = name
        allocatable = {"cpu": "4", "memory": "32Gi", "pods": str(kind.get("pods", 110))}
        return objects.decode(
            "Node",
            {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}},
        )


def load() -> list[BenchmarkWorkload]:
    """All workloads of the file."""
    content = yaml.safe_load(FILE.read_text())
    return [
        BenchmarkWorkload(each["name"], each, content["templates"]) for each in content["workloads"]
    ]


def _affinity(kind: Mapping[str, Any]) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    if fields := kind.get("nodeAffinityMatchFields"):
        term = {"matchFields": _expressions({k: {"In": v} for k, v in fields.items()})}
        affinity["nodeAffinity"] = _required_nodes(term)
    if labels := kind.get("requiredNodeAffinity"):
        affinity["nodeAffinity"] = _required_nodes({"matchExpressions": _expressions(labels)})
    for name, field in (("PodAffinity", "podAffinity"), ("PodAntiAffinity", "podAntiAffinity")):
        if required := kind.get(f"required{name}"):
            terms = [_term(required)]
            affinity[field] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        if preferred := kind.get(f"preferred{name}"):
            weighted = {"weight": preferred["weight"], "podAffinityTerm": _term(preferred)}
            affinity[field] = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    return affinity


def _required_nodes(term: Mapping[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def _expressions(wanted: Mapping[str, Mapping[str, list[str]]]) -> list[dict[str, Any]]:
    return [
        {"key": key, "operator": operator, "values": values}
        for key, conditions in wanted.items()
        for operator, values in conditions.items()
    ]


def _term(term: Mapping[str, Any]) -> dict[str, Any]:
    selector = {"matchLabels": term["matchLabels"]}
    built = {"topologyKey": term["topologyKey"], "labelSelector": selector}
    if "namespaces" in term:
        built["namespaces"] = term["namespaces"]
    if "namespaceSelector" in term:
        built["namespaceSelector"] = {"matchLabels": term["namespaceSelector"]}
    return built


def _spread(kind: Mapping[str, Any]) -> list[dict[str, Any]]:
    spread = kind.get("topologySpread")
    if spread is None:
        return []
    kept = ("maxSkew", "topologyKey", "whenUnsatisfiable")
    selector = {"matchLabels": spread["matchLabels"]}
    return [{**{name: spread[name] for name in kept}, "labelSelector": selector}]
