"""The changes after which the moves of waiting pods are compared (`tools.truth.queue`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """A request: of an object, or of a part of it."""

    method: str
    kind: str
    name: str = ""
    body: Body = field(default_factory=dict)
    part: str = ""


@dataclass(frozen=True)
class Step:
    """Changes, after which the moves are compared."""

    name: str
    changes: tuple[Change, ...]


def _create(kind: str, name: str, *, labels: Body | None = None, **fields: Any) -> Change:
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return Change("POST", kind, body={"metadata": metadata, **fields})


def _patch(kind: str, name: str, part: str = "", **fields: Any) -> Change:
    return Change("PATCH", kind, name, fields, part)


def _delete(kind: str, name: str) -> Change:
    return Change("DELETE", kind, name, {"gracePeriodSeconds": 0} if kind == "Pod" else {})


def _node(name: str, cpu: str = "2", **labels: str) -> tuple[Change, ...]:
    """A node without the taint of one that is not ready."""
    resources = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status = {"capacity": resources, "allocatable": resources, "conditions": [ready]}
    named = {"kubernetes.io/hostname": name, **labels}
    return _create("Node", name, labels=named, status=status), _taint(name)


def _taint(name: str, *keys: str) -> Change:
    taints = [{"key": key, "effect": "NoSchedule"} for key in keys]
    return _patch("Node", name, spec={"taints": taints or None})


def _pod(name: str, cpu: str = "100m", labels: Body | None = None, **spec: Any) -> Change:
    container: Body = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    container |= spec.pop("container", {})
    return _create("Pod", name, labels=labels, spec={"containers": [container], **spec})


def _on(node: str) -> Body:
    return {"nodeSelector": {"kubernetes.io/hostname": node}}


def _near(kind: str, app: str) -> Body:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": app}},
        "namespaceSelector": {},
    }
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _mounts(claim: str) -> Body:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}


def _claim(name: str, storage_class: str, mode: str = "ReadWriteOnce") -> Change:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": [mode], "resources": resources, "storageClassName": storage_class}
    return _create("PersistentVolumeClaim", name, spec=spec)


def _volume(name: str, storage_class: str, **spec: Any) -> Change:
    own = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "2Gi"},
        "storageClassName": storage_class,
        "csi": {"driver": "csi.example.com", "volumeHandle": name},
    }
    return _create("PersistentVolume", name, spec={**own, **spec})


def _class(name: str, mode: str) -> Change:
    provisioner = "kubernetes.io/no-provisioner"
    return _create("StorageClass", name, provisioner=provisioner, volumeBindingMode=mode)


def _spread(app: str) -> Body:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"topologySpreadConstraints": [constraint]}


def _device_claim(name: str) -> Change:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    return _create("ResourceClaim", name, spec={"devices": {"requests": [request]}})


def _uses(claim: str) -> Body:
    return {"resourceClaims": [{"name": "d", "resourceClaimName": claim}]}


def _slice(name: str, node: str, *devices: str) -> Change:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": device} for device in devices]
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": listed}
    return _create("ResourceSlice", name, spec=spec)


_PORT = {"container": {"ports": [{"containerPort": 80, "hostPort": 80}]}}
_WAITING = (
    _pod("waits-cpu", "8"),
    _pod("waits-more-cpu", "30"),
    _pod("waits-label", nodeSelector={"disk": "ssd"}),
    _pod("waits-taint", **_on("tainted")),
    _pod("waits-cordon", **_on("cordoned")),
    _pod("waits-name", **_on("absent")),
    _pod("waits-port", **_on("plain"), **_PORT),
    _pod("waits-near", **_near("podAffinity", "wanted")),
    _pod("waits-away", **_on("plain"), **_near("podAntiAffinity", "busy")),
    _pod("waits-away-from-it", labels={"app": "alone"}, **_on("plain")),
    _pod("waits-spread", labels={"app": "spread"}, **_on("plain"), **_spread("spread")),
    _pod("waits-claim", **_mounts("absent")),
    _pod("waits-bound", **_mounts("early")),
    _pod("waits-volume", **_mounts("late")),
    _pod("waits-device", **_uses("gpu")),
    _pod("waits-device-claim", **_uses("absent")),
    _pod("waits-gate", schedulingGates=[{"name": "example.com/gate"}]),
    _pod("waits-two-gates", schedulingGates=[{"name": "a.io/a"}, {"name": "a.io/b"}]),
)
_READY = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]


def _steps(*named: tuple[str, tuple[Change, ...] | Change]) -> tuple[Step, ...]:
    return tuple(
        Step(name, changes if isinstance(changes, tuple) else (changes,)) for name, changes in named
    )


def _allocatable(name: str, **resources: str) -> Change:
    allocatable = {"cpu": "2", "memory": "8Gi", "pods": "20", **resources}
    return _patch("Node", name, "status", status={"allocatable": allocatable})


def _pod_status(name: str, **status: Any) -> Change:
    return _patch("Pod", name, "status", status=status)


STEPS = _steps(
    ("a namespace", _create("ServiceAccount", "default")),
    ("nodes", (*_node("plain", zone="a"), *_node("tainted", zone="b"), *_node("cordoned"))),
    (
        "what they lack",
        (
            _taint("tainted", "special"),
            _patch("Node", "cordoned", spec={"unschedulable": True}),
            _class("early", "Immediate"),
            _class("late", "WaitForFirstConsumer"),
            _claim("early", "early"),
            _claim("late", "late"),
            _create("DeviceClass", "gpu", spec={}),
            _device_claim("gpu"),
        ),
    ),
    (
        "pods that run",
        (
            _pod("runs-port", **_on("plain"), **_PORT),
            _pod("runs-busy", labels={"app": "busy"}, **_on("plain")),
            _pod("runs-alone", **_on("plain"), **_near("podAntiAffinity", "alone")),
            _pod("runs-spread", labels={"app": "spread"}, **_on("plain")),
            _pod("runs-large", "1", **_on("plain")),
        ),
    ),
    *((each.body["metadata"]["name"], each) for each in _WAITING),
    # nodes
    ("a node that helps nobody", _node("small", "100m")[0]),
    ("it is ready", _taint("small")),
    ("a label", _patch("Node", "small", metadata={"labels": {"a": "b"}})),
    ("an annotation", _patch("Node", "small", metadata={"annotations": {"a": "b"}})),
    ("a heartbeat", _patch("Node", "small", "status", status={"conditions": _READY})),
    ("a little more cpu", _allocatable("small", cpu="200m")),
    ("less cpu", _allocatable("small", cpu="150m")),
    ("more pods", _allocatable("small", pods="50")),
    ("another taint", _taint("small", "other")),
    ("no taint again", _taint("small")),
    ("images", _patch("Node", "small", "status", status={"images": [{"names": ["i:1"]}]})),
    ("a cordoned node is free", _patch("Node", "cordoned", spec={"unschedulable": None})),
    ("a taint is removed", _taint("tainted")),
    ("a label that is wanted", _patch("Node", "small", metadata={"labels": {"disk": "ssd"}})),
    ("enough cpu", _allocatable("tainted", cpu="10")),
    ("a node with the name", _node("absent")[0]),
    ("it is ready, too", _taint("absent")),
    # pods that run
    ("a pod that does not matter", _pod("other", labels={"app": "other"}, **_on("plain"))),
    ("a pod that is wanted", _pod("wanted", labels={"app": "wanted"}, **_on("plain"))),
    ("a label of a pod", _patch("Pod", "other", metadata={"labels": {"app": "another"}})),
    ("an annotation of a pod", _patch("Pod", "other", metadata={"annotations": {"a": "b"}})),
    ("a pod is ready", _pod_status("other", phase="Running", conditions=_READY)),
    ("a pod ends", _pod_status("other", phase="Succeeded")),
    ("a pod that ended is deleted", _delete("Pod", "other")),
    ("a port is free", _delete("Pod", "runs-port")),
    ("an app has another name", _patch("Pod", "runs-busy", metadata={"labels": {"app": "x"}})),
    ("a pod that keeps others away goes", _delete("Pod", "runs-alone")),
    ("skew is less", _delete("Pod", "runs-spread")),
    ("a large pod goes", _delete("Pod", "runs-large")),
    # pods that wait
    ("a waiting pod has a label", _patch("Pod", "waits-more-cpu", metadata={"labels": {"a": "b"}})),
    (
        "a waiting pod has an annotation",
        _patch("Pod", "waits-more-cpu", metadata={"annotations": {"a": "b"}}),
    ),
    (
        "a waiting pod tolerates something",
        _patch(
            "Pod",
            "waits-more-cpu",
            spec={"tolerations": [{"key": "x", "operator": "Exists", "effect": "NoSchedule"}]},
        ),
    ),
    (
        "one of two gates",
        _patch("Pod", "waits-two-gates", spec={"schedulingGates": [{"name": "a.io/b"}]}),
    ),
    ("the last gate", _patch("Pod", "waits-two-gates", spec={"schedulingGates": None})),
    ("the only gate", _patch("Pod", "waits-gate", spec={"schedulingGates": None})),
    ("a waiting pod is deleted", _delete("Pod", "waits-more-cpu")),
    # volumes
    ("another claim", _claim("other", "early")),
    ("a class", _class("other", "Immediate")),
    ("a class has a label", _patch("StorageClass", "other", metadata={"labels": {"a": "b"}})),
    ("a volume of another class", _volume("other", "other")),
    ("the claim", _claim("absent", "late")),
    ("a volume", _volume("late-1", "late")),
    ("a volume has a label", _patch("PersistentVolume", "late-1", metadata={"labels": {"a": "b"}})),
    ("another volume", _volume("late-2", "late")),
    (
        "a node of a driver",
        _create(
            "CSINode",
            "plain",
            spec={
                "drivers": [{"name": "csi.example.com", "nodeID": "p", "allocatable": {"count": 1}}]
            },
        ),
    ),
    ("a driver", _create("CSIDriver", "csi.example.com", spec={"storageCapacity": True})),
    (
        "a capacity",
        _create(
            "CSIStorageCapacity", "c", storageClassName="early", capacity="100Gi", nodeTopology={}
        ),
    ),
    ("a claim that is deleted", _delete("PersistentVolumeClaim", "other")),
    # devices
    ("another class of devices", _create("DeviceClass", "other", spec={})),
    ("another claim of devices", _device_claim("other")),
    ("a slice without devices", _slice("empty", "small")),
    ("the claim of devices", _device_claim("absent")),
    ("a slice with a device", _slice("one", "plain", "d0")),
    ("a slice with two", _slice("two", "tainted", "d0", "d1")),
    # others
    ("a namespace has a label", _patch("Namespace", "default", metadata={"labels": {"a": "b"}})),
    (
        "a service",
        _create("Service", "s", spec={"selector": {"app": "x"}, "ports": [{"port": 80}]}),
    ),
    ("a node is deleted", _delete("Node", "absent")),
)
