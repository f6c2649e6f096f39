"""The columns that pages sum equal the scheduler's values."""

from __future__ import annotations

import random
from typing import Any

import pytest

from apps.cluster.pods.footprint import node_allocatable, node_ready, pod_requests
from apps.scheduler import objects
from apps.scheduler.framework import resources


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "default", "uid": "1"}, "spec": spec}


def container(restart_policy: str = "", **requests: str) -> dict[str, Any]:
    listed = {name.replace("_", "-"): amount for name, amount in requests.items()}
    body: dict[str, Any] = {"name": "c", "image": "i", "resources": {"requests": listed}}
    return body | ({"restartPolicy": restart_policy} if restart_policy else {})


@pytest.mark.parametrize(
    ("name", "body", "want"),
    [
        ("nothing asked", pod(containers=[{"name": "c"}]), {}),
        (
            "containers add up",
            pod(containers=[container(cpu="500m", memory="1Gi"), container(cpu="1")]),
            {"cpu": 1500, "memory": 2**30},
        ),
        (
            "the greediest init step counts",
            pod(containers=[container(cpu="1")], initContainers=[container(cpu="3")]),
            {"cpu": 3000},
        ),
        (
            "a sidecar stays beside the containers and the later steps",
            pod(
                containers=[container(cpu="1")],
                initContainers=[container("Always", cpu="1"), container(cpu="3")],
            ),
            {"cpu": 4000},
        ),
        (
            "overhead comes on top of the pod's own level",
            pod(
                containers=[container(cpu="1")],
                resources={"requests": {"cpu": "2"}},
                overhead={"cpu": "250m"},
            ),
            {"cpu": 2250},
        ),
    ],
)
def test_a_pods_requests(name: str, body: dict[str, Any], want: dict[str, int]) -> None:
    assert pod_requests(body) == want, name


def test_requests_of_random_pods_equal_the_schedulers() -> None:
    draw = random.Random(7)

    def amounts() -> dict[str, Any]:
        return {
            "requests": {
                "cpu": draw.choice(["1", "250m", "0.0001", "1500u"]),
                "memory": draw.choice(["1Gi", "100M", "1.5Ki", "123"]),
            }
        }

    def containers(most: int) -> list[dict[str, Any]]:
        return [
            {"name": f"c{index}", "image": "i", "resources": amounts()}
            | ({"restartPolicy": "Always"} if most == 3 and draw.random() < 0.5 else {})
            for index in range(draw.randint(0 if most == 3 else 1, most))
        ]

    for _ in range(300):
        body = pod(containers=containers(2), initContainers=containers(3))
        if draw.random() < 0.3:
            body["spec"] |= {"resources": amounts(), "overhead": {"cpu": "10m"}}
        counted = resources.pod_requests(objects.decode("Pod", body), use_status=True)
        assert pod_requests(body) == counted


def test_a_node_has_its_allocatable_resources_and_its_ready_condition() -> None:
    node = {
        "status": {
            "allocatable": {"cpu": "7800m", "memory": "31Gi", "pods": "110", "example.com/gpu": 4},
            "conditions": [{"type": "Ready", "status": "True"}],
        }
    }
    want = {"cpu": 7800, "memory": 31 * 2**30, "pods": 110, "example.com/gpu": 4}
    assert node_allocatable(node) == want
    assert node_ready(node)
    assert not node_ready({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})
    assert node_allocatable({}) == {}


def test_a_stored_object_with_invalid_amounts_has_columns() -> None:
    assert pod_requests(pod(containers=[container(cpu="lots")])) == {}
    assert pod_requests(pod(containers=[container(memory="8000E")])) == {"memory": 2**63 - 1}
