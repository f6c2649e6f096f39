"""Extreme but valid objects: each is stored or refused, and none stops its cluster."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.models import Cluster, Pod
from apps.engine.loop.engines import Engines
from apps.engine.workers import readiness
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS

pytestmark = pytest.mark.django_db(transaction=True)

GREATEST = "9223372036854775807"
LONG = "x" * 63
READY = [{"type": "Ready", "status": "True"}]


def node(name: str, *, spec: dict[str, Any] | None = None, **status: Any) -> tuple[str, Any]:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110", **status.pop("allocatable", {})}
    full = {"allocatable": allocatable, "capacity": allocatable, "conditions": READY, **status}
    return NODES, {"metadata": {"name": name}, "spec": spec or {}, "status": full}


def pod(name: str, requests: dict[str, str] | None = None, **spec: Any) -> tuple[str, Any]:
    resources = {"requests": requests or {}, "limits": requests or {}}
    container = {"name": "c", "image": "i", "resources": resources}
    return PODS, {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def core(plural: str, body: dict[str, Any]) -> tuple[str, Any]:
    return f"/api/v1/{plural}", body


CORPUS = [
    node("cpu", allocatable={"cpu": GREATEST}),
    node("cpu-round", allocatable={"cpu": "9300T"}),
    node("cpu-binary", allocatable={"cpu": "7Ei"}),
    node("memory", allocatable={"memory": GREATEST, "ephemeral-storage": "8Ei"}),
    node("more-than-64-bits", allocatable={"cpu": "1e30", "memory": "1e30", "pods": "1e30"}),
    node("pods", allocatable={"pods": GREATEST}),
    node("devices", allocatable={"example.com/gpu": GREATEST, "hugepages-2Mi": "7Ei"}),
    node("nano", allocatable={"cpu": "1n", "memory": "1n"}),
    node("images", images=[{"names": ["i:latest"], "sizeBytes": int(GREATEST)}] * 2),
    node("images-negative", images=[{"names": ["i:latest"], "sizeBytes": -1}]),
    node(
        "taints",
        spec={
            "taints": [{"key": f"t{n}", "value": LONG, "effect": "NoSchedule"} for n in range(99)]
        },
    ),
    node(
        "times",
        spec={"taints": [{"key": "k", "effect": "NoExecute", "timeAdded": "9999-12-31T23:59:59Z"}]},
        conditions=[{**READY[0], "lastTransitionTime": "0001-01-01T00:00:00Z"}],
    ),
    (NODES, {"metadata": {"name": "empty"}}),
    pod("cpu", {"cpu": GREATEST}),
    pod("cpu-and-memory", {"cpu": "7Ei", "memory": GREATEST}),
    pod("on-memory", {"memory": GREATEST}, nodeName="memory"),
    pod("on-memory-too", {"memory": GREATEST, "cpu": GREATEST}, nodeName="memory"),
    pod("nano", {"cpu": "1n", "memory": "1"}),
    pod("device", {"example.com/gpu": GREATEST}),
    pod("grace", terminationGracePeriodSeconds=int(GREATEST)),
    pod("deadline", activeDeadlineSeconds=2147483647),
    pod(
        "tolerant",
        tolerations=[
            {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int(GREATEST)},
            {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -int(GREATEST)},
        ],
    ),
    pod(
        "spread",
        topologySpreadConstraints=[
            {
                "maxSkew": 2147483647,
                "minDomains": 2147483647,
                "topologyKey": f"{LONG}.example.com/{LONG}",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {},
            }
        ],
    ),
    pod(
        "numbers",
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": [GREATEST]}]}
                    ]
                }
            }
        },
    ),
    core(
        "persistentvolumes",
        {
            "metadata": {"name": "pv"},
            "spec": {
                "capacity": {"storage": "8Ei"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/x"},
            },
        },
    ),
    core(
        "namespaces/default/persistentvolumeclaims",
        {
            "metadata": {"name": "claim"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": GREATEST}},
            },
        },
    ),
    pod("claims", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "claim"}}]),
    (
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        {
            "metadata": {"name": "pdb"},
            "spec": {"minAvailable": 2147483647, "selector": {}},
        },
    ),
    (
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {
            "metadata": {"name": "least"},
            "value": -2147483648,
        },
    ),
    pod("least", priorityClassName="least"),
]


def test_no_extreme_object_stops_its_cluster(kube: Kube, cluster: Cluster) -> None:
    warm = Engines()
    for number, (path, body) in enumerate(CORPUS):
        answer = kube.post(path, body)
        assert answer.status_code in (201, 422), (body, answer.content)
        if number % 6 == 0:
            warm.run(cluster.pk)
    for path, body in (
        node("plain", allocatable={"example.com/plain": "1"}),
        pod("plain", {"example.com/plain": "1", "cpu": "1"}),
    ):
        assert kube.post(path, body).status_code == 201
    warm.run(cluster.pk)
    assert Pod.objects.get(cluster=cluster, name="plain").node_name == "plain"
    warm.close()
    cold = Engines()
    cold.run(cluster.pk)
    assert kube.delete(f"{PODS}/plain").status_code == 200
    cold.run(cluster.pk)
    cold.close()
    assert readiness.describe_failures(cluster.pk) == ""
