"""Logs of the mock kubelet, and what is refused because no process runs."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.models import Cluster
from tests.api.conftest import Kube

PODS = "/api/v1/namespaces/default/pods"
STARTED = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
ENDED = {
    "terminated": {
        "startedAt": "2026-01-01T00:00:00Z",
        "finishedAt": "2026-01-01T00:01:00Z",
        "exitCode": 3,
        "reason": "Error",
    }
}


@pytest.fixture
def pods(kube: Kube) -> Kube:
    """`waits` has no node, `starts` one; in `runs` one container runs and one has ended."""
    addresses = [{"type": "InternalIP", "address": "192.0.2.7"}]
    node = {"metadata": {"name": "n1"}, "status": {"addresses": addresses}}
    assert kube.post("/api/v1/nodes", node).status_code == 201
    for name, names in (("waits", ["main"]), ("starts", ["main"]), ("runs", ["main", "job"])):
        containers = [{"name": each, "image": "i"} for each in names]
        spec: dict[str, Any] = {"containers": containers, "initContainers": []}
        if name != "waits":
            spec["nodeName"] = "n1"
        if name == "runs":
            spec["initContainers"] = [{"name": "init", "image": "i"}]
        pod = {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec}
        assert kube.post(PODS, pod).status_code == 201
    statuses = [
        {"name": name, "state": state, "image": "i", "imageID": "", "ready": True}
        | {"restartCount": 0}
        for name, state in (("main", STARTED), ("job", ENDED))
    ]
    status = {"phase": "Running", "podIP": "10.0.0.9", "containerStatuses": statuses}
    assert kube.patch(f"{PODS}/runs/status", {"status": status}).status_code == 200
    return kube


def message(response: Any) -> tuple[int, str]:
    body = response.json()
    assert body["kind"] == "Status"
    return response.status_code, body["message"]


def test_logs_are_the_lines_of_the_mock_kubelet(pods: Kube) -> None:
    log = f"{PODS}/runs/log?container="
    response = pods.get(f"{log}job")
    assert (response.status_code, response.headers["Content-Type"]) == (200, "text/plain")
    lines = response.content.decode().splitlines()
    assert "started container job with image i" in lines[0]
    assert lines[-1] == "mock kubelet: container job ended with code 3 (Error)"
    assert len(pods.get(f"{log}main").content.decode().splitlines()) == len(lines) - 1
    tail = pods.get(f"{log}job&tailLines=1&timestamps=true").content.decode()
    assert tail == f"2026-01-01T00:01:00Z {lines[-1]}\n"
    assert pods.get(f"{log}job&limitBytes=4").content == b"mock"
    assert pods.get(f"{log}job&sinceTime=2026-01-01T00:00:30Z").content.decode().count("\n") == 1
    assert pods.get(f"{log}job&sinceSeconds=5").content == b""
    assert pods.get(f"{log}job&tailLines=0").content == b""


def test_logs_that_do_not_exist(pods: Kube) -> None:
    assert pods.get(f"{PODS}/waits/log").status_code == 204
    assert message(pods.get(f"{PODS}/starts/log")) == (
        400,
        'container "main" in pod "starts" is waiting to start: ContainerCreating',
    )
    assert message(pods.get(f"{PODS}/runs/log")) == (
        400,
        "a container name must be specified for pod runs, choose one of: [main job] "
        "or one of the init containers: [init]",
    )
    assert message(pods.get(f"{PODS}/starts/log?container=x")) == (
        400,
        "container x is not valid for pod starts",
    )
    code, text = message(pods.get(f"{PODS}/runs/log?container=main&tailLines=-1&limitBytes=0"))
    assert code == 422
    assert "tailLines: Invalid value: -1: must be greater than or equal to 0" in text
    assert "limitBytes: Invalid value: 0: must be greater than 0" in text
    assert message(pods.get(f"{PODS}/runs/log?container=main&sinceTime=x"))[0] == 400
    assert message(pods.get(f"{PODS}/runs/log?container=main&previous=true"))[0] == 400
    # without mock kubelets, nothing answers for the node
    Cluster.objects.update(paused=True)
    code, text = message(pods.get(f"{PODS}/starts/log"))
    assert code == 500
    assert "https://192.0.2.7:10250/containerLogs/default/starts/main" in text


@pytest.mark.parametrize("way", ["exec", "attach", "portforward"])
def test_nothing_connects_to_a_container(pods: Kube, way: str) -> None:
    refused = (500, "error dialing backend: dial tcp 192.0.2.7:10250: connect: connection refused")
    for response in (pods.get(f"{PODS}/starts/{way}"), pods.post(f"{PODS}/starts/{way}", None)):
        assert message(response) == refused
        assert "reason" not in response.json()
    assert message(pods.post(f"{PODS}/waits/{way}", None)) == (
        400,
        "pod waits does not have a host assigned",
    )
    assert message(pods.get(f"{PODS}/none/{way}"))[0] == 404


def test_proxies_are_refused(pods: Kube) -> None:
    for name, selector in (("empty", {"app": "none"}), ("web", {"app": "runs"})):
        service = {
            "metadata": {"name": name},
            "spec": {"selector": selector, "ports": [{"port": 80}]},
        }
        assert pods.post("/api/v1/namespaces/default/services", service).status_code == 201
    services = "/api/v1/namespaces/default/services"
    for path, text in (
        (f"{services}/empty/proxy/", 'no endpoints available for service "empty"'),
        (f"{services}/http:web:8080/proxy/a/b", "dial tcp 10.0.0.9:8080"),
        (f"{services}/web/proxy", "dial tcp 10.0.0.9:80"),
        (f"{PODS}/runs/proxy/metrics", "dial tcp 10.0.0.9:80"),
        ("/api/v1/nodes/n1/proxy/stats/summary", "dial tcp 192.0.2.7:10250"),
    ):
        code, told = message(pods.get(path))
        assert (code, text in told) == (503, True), told
    assert message(pods.get(f"{PODS}/waits/proxy/")) == (400, "address not allowed")
