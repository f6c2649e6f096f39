"""metrics.k8s.io: what kubectl top, k9s and autoscalers read."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from apps.cluster.models import Cluster
from tests.api.conftest import Kube

METRICS = "/apis/metrics.k8s.io/v1beta1"
AGGREGATED = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
TABLE = {"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}


def container(name: str) -> dict[str, Any]:
    return {"name": name, "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}


@pytest.fixture
def running(kube: Kube) -> Kube:
    """Two ready nodes; pods a and b run on the first, c waits."""
    for number in (1, 2):
        node = {
            "metadata": {"name": f"n{number}", "labels": {"zone": str(number)}},
            "status": {
                "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        assert kube.post("/api/v1/nodes", node).status_code == 201
    for name in "abc":
        pod: dict[str, Any] = {
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [container("main"), container("side")]},
        }
        if name != "c":
            pod["spec"]["nodeName"] = "n1"
        pods = "/api/v1/namespaces/default/pods"
        assert kube.post(pods, pod).status_code == 201
        if name != "c":
            status = {"status": {"phase": "Running"}}
            assert kube.patch(f"{pods}/{name}/status", status).status_code == 200
    return kube


def names(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [item["metadata"]["name"] for item in response.json()["items"]]


def test_usage_of_pods(running: Kube) -> None:
    listed = running.get(f"{METRICS}/pods").json()
    assert (listed["kind"], listed["apiVersion"]) == ("PodMetricsList", "metrics.k8s.io/v1beta1")
    first, second = listed["items"]
    assert first["metadata"]["labels"] == {"app": "a"}
    assert [each["name"] for each in first["containers"]] == ["main", "side"]
    assert first["containers"] != second["containers"]
    assert first["window"] == "15s"
    cpu = int(first["containers"][0]["usage"]["cpu"].removesuffix("n"))
    assert 500_000_000 <= cpu <= 800_000_000
    in_namespace = f"{METRICS}/namespaces/default/pods"
    assert names(running.get(in_namespace)) == ["a", "b"]
    assert names(running.get(f"{in_namespace}?labelSelector=app%3Db")) == ["b"]
    assert names(running.get(f"{in_namespace}?fieldSelector=metadata.name%3Da")) == ["a"]
    assert names(running.get(f"{METRICS}/namespaces/other/pods")) == []
    assert running.get(f"{in_namespace}/b").json()["kind"] == "PodMetrics"


def test_usage_of_nodes(running: Kube) -> None:
    busy, idle = running.get(f"{METRICS}/nodes").json()["items"]
    assert int(busy["usage"]["cpu"][:-1]) > 2_000_000_000 > int(idle["usage"]["cpu"][:-1])
    alone = running.get(f"{METRICS}/nodes/n1").json()
    assert (alone["kind"], alone["metadata"]["name"]) == ("NodeMetrics", "n1")
    assert names(running.get(f"{METRICS}/nodes?labelSelector=zone%3D2")) == ["n2"]


def test_the_group_is_described(running: Kube, cluster: Cluster) -> None:
    """As kubectl explain asks for it."""
    index = json.loads(running.get("/openapi/v3").content)["paths"]
    place = index["apis/metrics.k8s.io/v1beta1"]["serverRelativeURL"].removeprefix(running.root)
    document = running.get(place).json()
    assert f"{METRICS}/nodes" in document["paths"]
    assert f"{METRICS}/namespaces/{{namespace}}/pods/{{name}}" in document["paths"]
    schemas = document["components"]["schemas"]
    described = {gvk["kind"]: schema for schema in schemas.values() for gvk in kinds_of(schema)}
    given = running.get(f"{METRICS}/nodes/n1").json()
    assert set(given) == set(described["NodeMetrics"]["properties"])
    assert "containers" in described["PodMetrics"]["required"]
    assert described["PodMetricsList"]["properties"]["items"]
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert references <= set(schemas)
    assert METRICS in running.get("/").json()["paths"]
    assert f"{METRICS}/nodes" in running.get("/openapi/v2").json()["paths"]
    Cluster.objects.filter(pk=cluster.pk).update(kubelet=False)
    assert "apis/metrics.k8s.io/v1beta1" not in running.get("/openapi/v3").content.decode()


def kinds_of(schema: dict[str, Any]) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = schema.get("x-kubernetes-group-version-kind", [])
    return [each for each in listed if each["group"] == "metrics.k8s.io"]


def test_tables(running: Kube) -> None:
    table = running.get(f"{METRICS}/pods", headers=TABLE).json()
    assert [column["name"] for column in table["columnDefinitions"]] == [
        "Name",
        "cpu",
        "memory",
        "Window",
    ]
    assert [row["cells"][0] for row in table["rows"]] == ["a", "b"]
    assert running.get(f"{METRICS}/nodes/n1", headers=TABLE).json()["rows"][0]["cells"][3] == "15s"


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("/namespaces/default/pods/c", 404, 'pods.metrics.k8s.io "c" not found'),
        ("/namespaces/default/pods/none", 404, 'pods "none" not found'),
        ("/namespaces/default/nodes", 404, "could not find the requested resource"),
        ("/pods?watch=1", 405, "does not allow this method"),
        ("/pods?labelSelector=a%3D%3D%3Db", 400, "="),
    ],
)
def test_refusals(running: Kube, path: str, code: int, message: str) -> None:
    response = running.get(METRICS + path)
    assert response.status_code == code
    assert message in response.json()["message"]


def test_metrics_have_no_protobuf_but_their_metadata_has_forms(running: Kube) -> None:
    protobuf = "application/vnd.kubernetes.protobuf"
    assert running.get(f"{METRICS}/pods", headers={"accept": protobuf}).status_code == 406
    both = {"accept": f"{protobuf},application/json"}
    assert names(running.get(f"{METRICS}/pods", headers=both)) == ["a", "b"]
    form = {"accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    partial = running.get(f"{METRICS}/pods", headers=form).json()
    assert partial["kind"] == "PartialObjectMetadataList"
    assert [item["kind"] for item in partial["items"]] == ["PartialObjectMetadata"] * 2
    assert running.get(METRICS, headers={"accept": protobuf}).status_code == 200


def test_the_group_is_served_while_the_mock_kubelets_run(kube: Kube) -> None:
    def groups() -> tuple[bool, bool]:
        plain = kube.get("/apis").json()["groups"]
        aggregated = kube.get("/apis", headers=AGGREGATED).json()["items"]
        return (
            "metrics.k8s.io" in {group["name"] for group in plain},
            "metrics.k8s.io" in {group["metadata"]["name"] for group in aggregated},
        )

    assert groups() == (True, True)
    rows = kube.get(METRICS).json()["resources"]
    assert {row["name"]: row["verbs"] for row in rows} == {
        "nodes": ["get", "list"],
        "pods": ["get", "list"],
    }
    assert kube.get("/apis/metrics.k8s.io").json()["preferredVersion"]["version"] == "v1beta1"
    Cluster.objects.update(paused=True)
    assert groups() == (False, False)
    assert kube.get(METRICS).status_code == kube.get(f"{METRICS}/nodes").status_code == 404
