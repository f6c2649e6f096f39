"""Random clusters and pods, with the defaults of the API filled in where the scheduler needs them.

A feature is a word in a shape; `shapes.py` says which words are known, `wishes.py` has those that
concern a node or a pod alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tools.truth import storage
from tools.truth.wishes import HOSTNAME, NAMESPACES, ZONE, NodeWishes, PodWishes

Body = dict[str, Any]

OS = "kubernetes.io/os"
DRIVER, EBS, GPU = "csi.example.com", "ebs.csi.aws.com", "gpu.example.com"
ATTACHED, FAILED = "example.com/attached", "example.com/failed"
STARTED = "2026-01-{:02}T00:00:00Z"
_APPS = ("web", "db", "batch")
_CPUS = ("100m", "250m", "500m", "1", "2")
_MEMORIES = ("64Mi", "200Mi", "1Gi", "1500M", "3Gi")


class Cluster:
    """The objects of a case; pods to schedule are made one by one."""

    def __init__(self, features: frozenset[str], size: int, seed: int) -> None:
        self.dice = random.Random(seed)
        self.features = features
        self.objects: list[Body] = []
        self.nodes = [f"n{number:03}" for number in range(size)]
        self._number = 0
        #: pods that wait for their devices
        self._waiting: list[Body] = []
        self._node_wishes = NodeWishes(self.dice, features)
        self._pod_wishes = PodWishes(self.dice, features)
        for name in self.nodes:
            self._add_node(name)
        if "namespaces" in features:
            for name, labels in NAMESPACES.items():
                self.add("Namespace", name, metadata={"labels": labels})
        for kind in ("volumes", "devices"):
            if kind in features:
                getattr(self, f"_add_{kind}")()
        if "local" in features:
            storage.add_classes(self)
        #: claims that one pod may use, and those of them that no running pod uses
        self._exclusive = storage.add_exclusive(self) if "exclusive" in features else []
        self._unused = [*self._exclusive]
        if "services" in features:
            self.add("Service", "web", spec={"selector": {"app": "web"}})
        if "budgets" in features:
            for app in _APPS:
                self.add(
                    "PodDisruptionBudget",
                    app,
                    spec={"selector": {"matchLabels": {"app": app}}},
                    status={"disruptionsAllowed": self.dice.randint(0, 1)},
                )
        for name in self.nodes:
            if "full" in features:
                self._fill(name)
            else:
                for _ in range(self.dice.randint(0, 4)):
                    self._add_running(name)
        if "nominated" in features:
            for name in self.dice.sample(self.nodes, 6):
                waiting = self.make_pod()
                waiting["status"] = {"nominatedNodeName": name}
                self.objects.append(waiting)

    def odds(self, share: float) -> bool:
        return self.dice.random() < share

    def add(self, kind: str, name: str, namespace: str = "default", **fields: Any) -> Body:
        place = {"namespace": namespace} if kind in _NAMESPACED else {}
        uid = f"{namespace}/{name}" if place else name
        metadata = {"name": name, "uid": uid, **place, **fields.pop("metadata", {})}
        version = _VERSIONS.get(kind, "v1")
        body = {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}
        self.objects.append(body)
        return body

    def _name(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}{self._number:04}"

    # -- nodes ---------------------------------------------------------------------------------

    def _add_node(self, name: str) -> None:
        dice, features = self.dice, self.features
        labels = {HOSTNAME: name, OS: "linux", "rack": f"r{dice.randint(0, 5)}"}
        if self.odds(0.95):
            labels[ZONE] = f"z{dice.randint(0, 3)}"
        if "windows" in features and self.odds(0.4):
            labels[OS] = "windows"
        spec: Body = {}
        if "taints" in features and self.odds(0.4):
            effect = dice.choice(("NoSchedule", "PreferNoSchedule", "NoExecute"))
            spec["taints"] = [{"key": "team", "value": str(dice.randint(0, 6)), "effect": effect}]
        if self.odds(0.03):
            spec["unschedulable"] = True
        allocatable = {
            "cpu": dice.choice(("1900m", "4", "8")),
            "memory": dice.choice(("8Gi", "16Gi", "31Gi")),
            "ephemeral-storage": "47093746742",
            "pods": dice.choice(("7", "20", "110")),
        }
        if "extended" in features and self.odds(0.3):
            allocatable["example.com/gpu"] = "2"
        status: Body = {"allocatable": allocatable}
        if "images" in features:
            status["images"] = [
                {"names": [f"reg.io/app{n}:v1"], "sizeBytes": 40_000_000 * (n + 3)}
                for n in range(8)
                if self.odds(0.4)
            ]
        node = self.add("Node", name, metadata={"labels": labels}, spec=spec, status=status)
        self._node_wishes.apply(node)
        if "volumes" in features and self.odds(0.9):
            drivers = [
                {
                    "name": driver,
                    "nodeID": name,
                    "topologyKeys": [ZONE],
                    "allocatable": {"count": dice.randint(1, 3)},
                }
                for driver in (DRIVER, EBS)
            ]
            self.add("CSINode", name, spec={"drivers": drivers})

    # -- volumes -------------------------------------------------------------------------------

    def _add_volumes(self) -> None:
        for name, mode in (("now", "Immediate"), ("later", "WaitForFirstConsumer")):
            self.add("StorageClass", name, provisioner=DRIVER, volumeBindingMode=mode)
        self.add("CSIDriver", DRIVER, spec={"storageCapacity": self.odds(0.5)})
        for zone in range(4):
            topology = {"matchLabels": {ZONE: f"z{zone}"}}
            self.add(
                "CSIStorageCapacity",
                f"cap{zone}",
                nodeTopology=topology,
                storageClassName="later",
                capacity=f"{self.dice.randint(1, 6)}Gi",
            )
        for number in range(12):
            bound = self._add_volume(f"pv{number}")
            if self._has("attachments") and self.odds(0.7):
                self._attach(bound)

    def _attach(self, volume: str) -> None:
        source = {"persistentVolumeName": volume}
        spec = {"attacher": DRIVER, "nodeName": self.dice.choice(self.nodes), "source": source}
        self.add("VolumeAttachment", self._name("va"), spec=spec)

    def _add_volume(self, name: str) -> str:
        spec: Body = {
            "capacity": {"storage": f"{self.dice.randint(1, 6)}Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "now",
            "volumeMode": "Filesystem",
            "csi": {"driver": DRIVER, "volumeHandle": f"h-{name}"},
        }
        if self.odds(0.5):
            zone = {"key": ZONE, "operator": "In", "values": [f"z{self.dice.randint(0, 3)}"]}
            terms = [{"matchExpressions": [zone]}]
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        self.add("PersistentVolume", name, spec=spec, status={"phase": "Bound"})
        return name

    def _claim(self, owner: str = "", *, bound: bool) -> str:
        name = f"{owner}-e" if owner else self._name("c")
        spec: Body = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{self.dice.randint(1, 5)}Gi"}},
            "volumeMode": "Filesystem",
            "storageClassName": "later",
        }
        meta: Body = {}
        if owner:
            reference = {"apiVersion": "v1", "kind": "Pod", "name": owner, "controller": True}
            meta["ownerReferences"] = [{**reference, "uid": f"default/{owner}"}]
        if bound:
            spec |= {"storageClassName": "now", "volumeName": self._add_volume(self._name("pv"))}
            meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        phase = "Bound" if bound else "Pending"
        self.add("PersistentVolumeClaim", name, metadata=meta, spec=spec, status={"phase": phase})
        if bound:
            reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name}
            for body in self.objects:
                if (
                    body["kind"] == "PersistentVolume"
                    and body["metadata"]["name"] == (spec["volumeName"])
                ):
                    body["spec"]["claimRef"] = {**reference, "uid": f"default/{name}"}
        return name

    def _volume_sources(self, pod: str, *, running: bool) -> list[Body]:
        choice = self.dice.random()
        if choice < 0.3:
            return [{"awsElasticBlockStore": {"volumeID": f"vol-{self.dice.randint(0, 30)}"}}]
        if choice < 0.5 and "ephemeral" in self.features:
            self._claim(pod, bound=running or self.odds(0.5))
            return [{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
        if choice < 0.9:
            bound = running or self.odds(0.5)
            return [{"persistentVolumeClaim": {"claimName": self._claim(bound=bound)}}]
        return []

    # -- devices -------------------------------------------------------------------------------

    def _add_devices(self) -> None:
        extended = {"extendedResourceName": "example.com/gpu"} if self._has("extended") else {}
        self.add("DeviceClass", "gpu", spec=extended)
        for name in self.nodes:
            if self.odds(0.8):
                self._add_slices(name)

    def _has(self, feature: str) -> bool:
        return feature in self.features

    def _add_slices(self, node: str) -> None:
        parts = self._has("partitions")
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1 + parts}
        shared: Body = {"driver": GPU, "nodeName": node, "pool": pool}
        if parts:
            counters = {"memory": {"value": "80Gi"}}
            sets = [{"name": "c", "counters": counters}]
            self.add("ResourceSlice", f"{node}-c", spec={**shared, "sharedCounters": sets})
        devices = [self._device(number) for number in range(self.dice.randint(1, 4))]
        self.add("ResourceSlice", f"{node}-d", spec={**shared, "devices": devices})

    def _device(self, number: int) -> Body:
        dice = self.dice
        size = dice.choice((10, 20, 40))
        device: Body = {
            "name": f"d{number}",
            "attributes": {"model": {"string": dice.choice(("a", "b"))}},
            "capacity": {"memory": {"value": f"{size}Gi"}},
        }
        if self._has("partitions"):
            used = {"memory": {"value": f"{2 * size}Gi"}}
            device["consumesCounters"] = [{"counterSet": "c", "counters": used}]
        if self._has("consumable"):
            device["allowMultipleAllocations"] = True
            if self.odds(0.5):
                policy = {"default": "5Gi", "validValues": ["5Gi", "10Gi"]}
                device["capacity"]["memory"]["requestPolicy"] = policy
        if self._has("noderesources") and self.odds(0.7):
            taken = {"cpu": {"allocationMultiplier": dice.choice(_CPUS)}}
            if self._has("consumable") and self.odds(0.5):
                taken["memory"] = {"capacityKey": "memory"}
                if self.odds(0.5):
                    taken["memory"]["allocationMultiplier"] = "2"
            device["nodeAllocatableResourceMappings"] = taken
        if self._has("conditions") and self.odds(0.5):
            device["bindingConditions"] = [ATTACHED]
            device["bindingFailureConditions"] = [FAILED]
        if self._has("devicetaints") and self.odds(0.4):
            device["taints"] = [
                {"key": "k", "effect": "NoSchedule", "timeAdded": STARTED.format(1)}
            ]
        return device

    def _device_request(self, name: str) -> Body:
        exactly: Body = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
        if self.odds(0.3):
            exactly["count"] = 2
        if self.odds(0.3):
            model = self.dice.choice(("a", "b"))
            expression = f'device.attributes["{GPU}"].model == "{model}"'
            exactly["selectors"] = [{"cel": {"expression": expression}}]
        if self._has("consumable") and self.odds(0.7):
            exactly["capacity"] = {"requests": {"memory": self.dice.choice(("3Gi", "8Gi"))}}
        if self._has("devicetaints") and self.odds(0.4):
            exactly["tolerations"] = [{"key": "k", "operator": "Exists"}]
        if self._has("alternatives") and self.odds(0.6):
            return {
                "name": name,
                "firstAvailable": [
                    {**exactly, "name": "two", "count": 2},
                    {**exactly, "name": "o"},
                ],
            }
        if self._has("admin") and self.odds(0.4):
            exactly["adminAccess"] = True
        if self.odds(0.1):
            exactly["allocationMode"] = "All"
            del exactly["count"]
        return {"name": name, "exactly": exactly}

    def _device_claim(self) -> str:
        name = self._name("rc")
        requests = [self._device_request(f"r{n}") for n in range(self.dice.randint(1, 2))]
        self.add("ResourceClaim", name, spec={"devices": {"requests": requests}})
        return name

    # -- pods ----------------------------------------------------------------------------------

    def _fill(self, node: str) -> None:
        """Pods with all of the node's CPU but less than 1000m."""
        (info,) = (
            each
            for each in self.objects
            if each["metadata"]["uid"] == node and (each["kind"] == "Node")
        )
        text = info["status"]["allocatable"]["cpu"]
        free = int(text[:-1]) if text.endswith("m") else 1000 * int(text)
        while free >= 1000:
            cpu = self.dice.choice((500, 1000, 1500))
            self._add_running(node, f"{min(cpu, free)}m")
            free -= min(cpu, free)

    def _add_running(self, node: str, cpu: str = "") -> None:
        pod = self.make_pod(node)
        if cpu:
            pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
        pod["spec"]["nodeName"] = node
        if not self._has("startless") or self.odds(0.5):
            started = {"startTime": STARTED.format(self.dice.randint(1, 28))}
            pod["status"] = {**pod.get("status", {}), **started}
        self.objects.append(pod)

    def make_pod(self, node: str = "") -> Body:
        """A pod to schedule, or one that runs on ``node``."""
        if self._waiting and not node and self.odds(0.5):
            return self._waiting.pop()
        dice, name = self.dice, self._name("p")
        app = dice.choice(_APPS)
        requests: Body = {"cpu": dice.choice(_CPUS)} if self.odds(0.8) else {}
        if self.odds(0.6):
            requests["memory"] = dice.choice(_MEMORIES)
        limits: Body = {}
        if self._has("full") and not node:
            requests["cpu"] = dice.choice(("1", "1500m", "2"))
        if self._has("extended") and not node and self.odds(0.5):
            requests["example.com/gpu"] = limits["example.com/gpu"] = "1"
        container = {
            "name": "c",
            "image": f"reg.io/app{dice.randint(0, 7)}:v1",
            "resources": {"requests": requests, "limits": limits},
        }
        priority = dice.choice((0, 0, 10, 100)) if self._has("priorities") else 0
        if self._has("priorities") and not node:
            priority = dice.choice((50, 1000))
        spec: Body = {"priority": priority, "containers": [container]}
        self._add_constraints(spec, app)
        if not node and self._has("profiles") and self.odds(0.5):
            spec["schedulerName"] = "second"
        if self._has("windows"):
            wanted = dice.choice(("windows", "linux"))
            spec |= {"os": {"name": wanted}, "nodeSelector": {OS: wanted}}
        if self._has("ports") and self.odds(0.4):
            port = 8000 + dice.randint(0, 3)
            container["ports"] = [{"containerPort": port, "hostPort": port, "protocol": "TCP"}]
        if self._has("sidecars") and self.odds(0.5):
            sidecar = {**container, "name": "s", "restartPolicy": dice.choice(("Always", None))}
            spec["initContainers"] = [{k: v for k, v in sidecar.items() if v is not None}]
            spec["initContainers"][0].pop("ports", None)
        if self._has("podlevel") and self.odds(0.5):
            spec["resources"] = {"requests": {"cpu": "3", "memory": "4Gi"}}
        if self._has("volumes") and self.odds(0.6):
            sources = self._volume_sources(name, running=bool(node))
            spec["volumes"] = [{"name": f"v{n}", **each} for n, each in enumerate(sources)]
        if self._exclusive and self.odds(0.5) and (self._unused or not node):
            claim = self._unused.pop() if node else dice.choice(self._exclusive)
            volume = {"name": "x", "persistentVolumeClaim": {"claimName": claim}}
            spec["volumes"] = [*spec.get("volumes", ()), volume]
        if self._has("local") and not node and self.odds(0.7):
            spec["volumes"] = [{"name": "l", **storage.claim_of_local(self, f"{name}-l")}]
        if self._has("devices") and not node and self.odds(0.7):
            claims = [self._device_claim() for _ in range(dice.randint(1, 2))]
            spec["resourceClaims"] = [{"name": c, "resourceClaimName": c} for c in claims]
        metadata = {"name": name, "namespace": "default", "uid": f"default/{name}"}
        metadata["labels"] = {"app": app}  # type: ignore[assignment]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        self._pod_wishes.apply(pod, running=bool(node))
        return pod

    def _add_constraints(self, spec: Body, app: str) -> None:
        dice = self.dice
        selector = {"matchLabels": {"app": app}}
        if self._has("spread") and self.odds(0.6):
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": dice.randint(1, 2),
                    "topologyKey": key,
                    "whenUnsatisfiable": dice.choice(("DoNotSchedule", "ScheduleAnyway")),
                    "labelSelector": selector,
                }
                for key in (ZONE, HOSTNAME)
                if self.odds(0.7)
            ]
        affinity: Body = {}
        if self._has("affinity"):
            for kind in ("podAffinity", "podAntiAffinity"):
                if self.odds(0.4):
                    affinity[kind] = self._pod_terms(app)
        if self._has("nodeaffinity") and self.odds(0.6):
            rack = {"key": "rack", "operator": "In", "values": [f"r{dice.randint(0, 5)}"]}
            term = {"matchExpressions": [rack]}
            affinity["nodeAffinity"] = (
                {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
                if self.odds(0.3)
                else {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": dice.randint(1, 100), "preference": term}
                    ]
                }
            )
        if affinity:
            spec["affinity"] = affinity
        if self._has("taints") and self.odds(0.6):
            spec["tolerations"] = [
                dice.choice(
                    (
                        {"operator": "Exists"},
                        {"key": "team", "operator": "Equal", "value": str(dice.randint(0, 6))},
                        {"key": "team", "operator": dice.choice(("Gt", "Lt")), "value": "3"}
                        if self._has("comparisons")
                        else {"key": "team", "operator": "Exists"},
                    )
                )
            ]

    def _pod_terms(self, app: str) -> Body:
        term = {
            "topologyKey": self.dice.choice((ZONE, HOSTNAME)),
            "labelSelector": {"matchLabels": {"app": self.dice.choice((app, *_APPS))}},
        }
        if self.odds(0.4):
            return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        weighted = {"weight": self.dice.randint(1, 100), "podAffinityTerm": term}
        return {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}

    # -- churn ---------------------------------------------------------------------------------

    def follow(self, pods: Sequence[Body], results: Sequence[Body]) -> None:
        """What happens after decisions: bindings, evictions, pods and attachments that end.

        Pods whose volumes or devices were chosen are not bound: answers do not hold the choice.
        """
        evicted = {key for each in results for key in each.get("postFilter", {}).get("victims", ())}
        # Pods that end would leave room for those that are to preempt.
        ending = ("VolumeAttachment",) if self._has("full") else ("Pod", "VolumeAttachment")
        self.objects = [
            each
            for each in self.objects
            if each["metadata"]["uid"] not in evicted
            and not (each["kind"] in ending and self.odds(0.1))
        ]
        for pod, result in zip(pods, results, strict=True):
            if result.get("node") and not {"volumes", "resourceClaims"} & pod["spec"].keys():
                pod["spec"]["nodeName"] = result["node"]
                pod["status"] = {"startTime": STARTED.format(28)}
                self.objects.append(pod)
            # Shares of devices are not in answers.
            elif result.get("claims") and self._has("conditions") and not self._has("consumable"):
                self._allocate(result["claims"])
                self._waiting.append(pod)
        if self._has("attachments"):
            for _ in range(3):
                self._attach(self._add_volume(self._name("pv")))
        for each in self.objects:
            if each["kind"] == "Node" and self.odds(0.05):
                each["spec"]["unschedulable"] = not each["spec"].get("unschedulable", False)
        if self._has("mutating"):
            self._mutate()

    def _mutate(self) -> None:
        """Nodes leave, come and change, and so do labels of pods."""
        for name in self.dice.sample(self.nodes, 2):
            self.nodes.remove(name)
            self.objects = [
                each
                for each in self.objects
                if each["metadata"]["uid"] != name and each.get("spec", {}).get("nodeName") != name
            ]
        for _ in range(2):
            self.nodes.append(self._name("n"))
            self._add_node(self.nodes[-1])
        for each in self.objects:
            if each["kind"] == "Pod" and self.odds(0.1):
                each["metadata"]["labels"]["app"] = self.dice.choice(_APPS)
            if each["kind"] != "Node" or not self.odds(0.2):
                continue
            labels = each["metadata"]["labels"]
            labels["rack"] = f"r{self.dice.randint(0, 5)}"
            labels[ZONE] = f"z{self.dice.randint(0, 3)}"
            effect = self.dice.choice(("NoSchedule", "PreferNoSchedule"))
            taint = {"key": "team", "value": str(self.dice.randint(0, 6)), "effect": effect}
            each["spec"]["taints"] = [taint] if self.odds(0.5) else []
            each["status"]["allocatable"]["cpu"] = self.dice.choice(("1", "6", "12"))

    def _allocate(self, answers: Sequence[Body]) -> None:
        """Write allocations: of some claims the conditions came true, others fail or are late.

        Each claim has another user, too: `decide` does not say which claims it deallocates.
        """
        user = {"resource": "pods", "name": "user", "uid": "user"}
        claims = {c["metadata"]["uid"]: c for c in self.objects if c["kind"] == "ResourceClaim"}
        for answer in answers:
            since = self.dice.choice((STARTED.format(1), "2099-01-01T00:00:00Z"))
            allocation = {**answer["allocation"], "allocationTimestamp": since}
            conditions = [
                {
                    "type": kind,
                    "status": self.dice.choice(("True", "False")),
                    "reason": "Said",
                    "message": "",
                    "lastTransitionTime": STARTED.format(2),
                }
                for kind in (ATTACHED, FAILED)
                if self.odds(0.6)
            ]
            devices = [
                {key: each[key] for key in ("driver", "pool", "device")}
                | {"conditions": conditions}
                for each in answer["allocation"]["devices"]["results"]
            ]
            claims[answer["claim"]]["status"] = {
                "allocation": allocation,
                "devices": devices,
                "reservedFor": [user],
            }


_NAMESPACED = frozenset(
    {
        "CSIStorageCapacity",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "ResourceClaim",
        "Service",
    }
)
_STORAGE, _DEVICES = "storage.k8s.io/v1", "resource.k8s.io/v1"
_VERSIONS = {
    "CSIDriver": _STORAGE,
    "CSINode": _STORAGE,
    "CSIStorageCapacity": _STORAGE,
    "StorageClass": _STORAGE,
    "VolumeAttachment": _STORAGE,
    "DeviceClass": _DEVICES,
    "ResourceClaim": _DEVICES,
    "ResourceSlice": _DEVICES,
    "PodDisruptionBudget": "policy/v1",
}
