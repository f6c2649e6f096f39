"""What pods request, as kube-scheduler's /metrics/resources says, and their overhead."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.pods.footprint import pod_limits
from apps.cluster.writing import store
from apps.engine.metrics import exposition
from tests.engine.driving import ACTOR, create_pods

Body = dict[str, Any]


def container(name: str, requests: Body, limits: Body, **more: Any) -> Body:
    return {
        "name": name,
        "image": "i",
        "resources": {"requests": requests, "limits": limits},
        **more,
    }


@pytest.fixture
def cluster(db: None) -> Cluster:
    cluster = create_cluster("lab", user="tests", paused=True)
    overhead = {"podFixed": {"cpu": "250m", "memory": "64Mi"}}
    runtime = {"metadata": {"name": "heavy"}, "handler": "heavy", "overhead": overhead}
    store.create(cluster, kinds.by_name("RuntimeClass"), runtime, actor=ACTOR)
    containers = [container("c", {"cpu": "1500m", "memory": "1Gi"}, {"memory": "2Gi"})]
    create_pods(
        cluster,
        {"metadata": {"name": "plain"}, "spec": {"containers": containers}},
        {
            "metadata": {"name": "heavy"},
            "spec": {"containers": containers, "runtimeClassName": "heavy"},
        },
    )
    return cluster


def samples(text: bytes) -> list[tuple[str, dict[str, str], float]]:
    return [
        (sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    ]


def test_requests_and_limits_count_overhead_as_the_scheduler_does(cluster: Cluster) -> None:
    found = {
        (name, labels["pod"], labels["resource"], labels["unit"]): value
        for name, labels, value in samples(exposition.expose_pods(cluster).text)
    }
    mebi = 2**20
    assert found == {
        ("kube_pod_resource_request", "plain", "cpu", "cores"): 1.5,
        ("kube_pod_resource_request", "plain", "memory", "bytes"): 1024 * mebi,
        ("kube_pod_resource_request", "heavy", "cpu", "cores"): 1.75,
        ("kube_pod_resource_request", "heavy", "memory", "bytes"): 1088 * mebi,
        ("kube_pod_resource_limit", "plain", "memory", "bytes"): 2048 * mebi,
        ("kube_pod_resource_limit", "heavy", "memory", "bytes"): 2112 * mebi,
    }


def test_a_series_names_pod_node_scheduler_and_priority(cluster: Cluster) -> None:
    _, labels, _ = samples(exposition.expose_pods(cluster).text)[0]
    assert labels == {
        "namespace": "default",
        "pod": "plain",
        "node": "",
        "scheduler": "default-scheduler",
        "priority": "0",
        "resource": "cpu",
        "unit": "cores",
    }


def test_overhead_has_series_only_for_pods_with_overhead(cluster: Cluster) -> None:
    found = {
        name: (labels["namespace"], labels["pod"], value)
        for name, labels, value in samples(exposition.expose_cluster(cluster).text)
        if name.startswith("kube_pod_overhead")
    }
    assert found == {
        "kube_pod_overhead_cpu_cores": ("default", "heavy", 0.25),
        "kube_pod_overhead_memory_bytes": ("default", "heavy", 64 * 2**20),
    }


def test_a_limit_covers_sidecars_and_the_largest_init_step() -> None:
    sidecar = container("s", {}, {"cpu": "1"}, restartPolicy="Always")
    step = container("i", {}, {"cpu": "4"})
    main = container("c", {}, {"cpu": "2", "memory": "1Ki"})
    overhead = {"cpu": "1", "example.com/none": "1"}
    spec = {"containers": [main], "initContainers": [sidecar, step], "overhead": overhead}
    assert pod_limits({"spec": spec}) == {"cpu": 6000, "memory": 1024}
