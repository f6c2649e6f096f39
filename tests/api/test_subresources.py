"""Subresources that change a part of an object, and autoscaling/v1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from tests.api.conftest import Kube

EXAMPLES = Path(__file__).parents[2] / "apps/dashboard/forms/examples/data.yaml"
PODS = "/api/v1/namespaces/default/pods"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
V1, V2 = (
    f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers"
    for version in ("v1", "v2")
)


def post(kube: Kube, path: str, name: str, **fields: Any) -> dict[str, Any]:
    response = kube.post(path, {"metadata": {"name": name}, **fields})
    assert response.status_code == 201, response.content
    body: dict[str, Any] = response.json()
    return body


def causes(response: Any) -> dict[str, str]:
    assert response.status_code == 422, response.content
    return {each["field"]: each["message"] for each in response.json()["details"]["causes"]}


def test_ephemeral_containers_are_only_added(kube: Kube) -> None:
    post(kube, PODS, "p", spec={"containers": [{"name": "c", "image": "i"}]})
    path = f"{PODS}/p/ephemeralcontainers"
    debugger = {"name": "debugger", "image": "busybox", "targetContainerName": "c"}
    change = {"metadata": {"labels": {"a": "b"}}, "spec": {"ephemeralContainers": [debugger]}}
    added = kube.patch(path, change, "strategic-merge-patch").json()
    (stored,) = added["spec"]["ephemeralContainers"]
    assert (stored["name"], stored["imagePullPolicy"]) == ("debugger", "Always")
    assert "labels" not in added["metadata"]
    assert added["metadata"]["generation"] == 2
    assert kube.get(path).json() == added

    stored["image"] = "alpine"
    assert causes(kube.put(path, added)) == {
        "spec.ephemeralContainers[0]": "Forbidden: existing ephemeral containers may not be changed"
    }
    added["spec"]["ephemeralContainers"] = [
        {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "targetContainerName": "x"}
    ]
    assert causes(kube.put(path, added)) == {
        "spec.ephemeralContainers": "Forbidden: existing ephemeral containers may not be removed",
        "spec.ephemeralContainers[0].name": 'Duplicate value: "c"',
        "spec.ephemeralContainers[0].ports": "Forbidden: cannot be set for an Ephemeral Container",
        "spec.ephemeralContainers[0].targetContainerName": 'Not found: "x"',
    }
    assert kube.patch(f"{PODS}/none/ephemeralcontainers", change).status_code == 404


def test_resize_changes_resources_only(kube: Kube) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pod = post(kube, PODS, "p", spec={"containers": [container]})
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    pod["status"] = {"phase": "Failed"}
    resized = kube.put(f"{PODS}/p/resize", pod).json()
    assert resized["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert (resized["status"]["phase"], resized["metadata"]["generation"]) == ("Pending", 2)

    resized["spec"]["containers"][0]["image"] = "j"
    why = "Forbidden: only cpu and memory resources are mutable"
    assert causes(kube.put(f"{PODS}/p/resize", resized)) == {"spec": why}


def test_only_approval_approves_a_signing_request(kube: Kube) -> None:
    example = next(
        each
        for each in yaml.safe_load_all(EXAMPLES.read_text())
        if each["kind"] == "CertificateSigningRequest"
    )
    created = post(kube, REQUESTS, "r", spec=example["spec"])
    condition = {"type": "Approved", "status": "True", "reason": "Tested", "message": "m"}
    created["status"] = {"conditions": [condition]}
    assert kube.put(f"{REQUESTS}/r/status", created).json()["status"] == {}
    created["metadata"].pop("resourceVersion")
    created["status"]["certificate"] = "eA=="
    approved = kube.put(f"{REQUESTS}/r/approval", created).json()
    (stamped,) = approved["status"]["conditions"]
    assert stamped["type"] == "Approved"
    assert stamped["lastUpdateTime"] == stamped["lastTransitionTime"]
    assert "certificate" not in approved["status"]
    approved["status"] = {"certificate": "eA=="}
    issued = kube.put(f"{REQUESTS}/r/status", approved).json()
    assert issued["status"]["certificate"] == "eA=="
    assert [each["type"] for each in issued["status"]["conditions"]] == ["Approved"]


def test_the_server_says_who_requests_a_certificate(kube: Kube) -> None:
    example = next(
        each
        for each in yaml.safe_load_all(EXAMPLES.read_text())
        if each["kind"] == "CertificateSigningRequest"
    )
    created = post(kube, REQUESTS, "r", spec={**example["spec"], "username": "bob"})
    assert created["spec"]["username"] == "alice"
    assert created["spec"]["groups"] == ["system:masters", "system:authenticated"]
    changed = {**created, "spec": {**example["spec"], "username": "bob"}}
    assert kube.put(f"{REQUESTS}/r", changed).json()["spec"] == created["spec"]
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = kube.get(f"{REQUESTS}/r", headers={"accept": accept}).json()
    assert "alice" in table["rows"][0]["cells"]


def test_autoscalers_of_the_older_version(kube: Kube) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "maxReplicas": 5, "targetCPUUtilizationPercentage": 60}
    created = post(kube, V1, "h", spec=spec)
    assert created["spec"] == {**spec, "minReplicas": 1}
    assert created["apiVersion"] == "autoscaling/v1"
    newer = kube.get(f"{V2}/h").json()
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}
    assert newer["spec"]["metrics"] == [{"type": "Resource", "resource": cpu}]

    memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}
    newer["spec"]["metrics"].append({"type": "Resource", "resource": memory})
    newer["spec"]["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    stored = kube.put(f"{V2}/h", newer).json()
    older = kube.get(f"{V1}/h").json()
    annotation = older["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"]
    assert json.loads(annotation) == [
        {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}}
    ]
    # a client of the older version loses nothing
    older["spec"]["maxReplicas"] = 6
    assert kube.put(f"{V1}/h", older).status_code == 200
    spec = kube.get(f"{V2}/h").json()["spec"]
    assert spec == {**stored["spec"], "maxReplicas": 6}
    assert kube.get(V1).json()["items"][0]["spec"]["targetCPUUtilizationPercentage"] == 60
    groups = kube.get("/apis").json()["groups"]
    versions = next(each for each in groups if each["name"] == "autoscaling")
    assert versions["preferredVersion"]["version"] == "v2"
