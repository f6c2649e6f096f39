"""The syntax of usage annotations, and the samples that follow from them."""

from __future__ import annotations

from typing import Any

import pytest

from apps.controllers.usage.curves import CPU, MEMORY, parse_curve
from apps.controllers.usage.sampling import WINDOW_SECONDS, Usage, Window, node_usage, pod_usage

MEBI = 2**20


@pytest.mark.parametrize(
    ("text", "seconds", "draw", "cores"),
    [
        ("60%", 0, 0.3, 1.2),
        ("200m", 0, 0.3, 0.2),
        ("50%..150%", 0, 0.0, 1.0),
        ("50%..150%", 0, 0.75, 2.5),
        # up in the first half of the period and down in the second
        ("50%..150%/10m", 0, 0.9, 1.0),
        ("50%..150%/10m", 150, 0.9, 2.0),
        ("50%..150%/10m", 300, 0.9, 3.0),
        ("50%..150%/10m", 450, 0.9, 2.0),
        ("50%..150%/10m", 600, 0.9, 1.0),
        ("100m..2/1h", 1800, 0.9, 2.0),
        (" 10% .. 20% / 1m ", 30, 0.9, 0.4),
    ],
)
def test_a_curve_has_the_described_usage(
    text: str, seconds: float, draw: float, cores: float
) -> None:
    curve = parse_curve(text)
    assert curve is not None
    assert curve.amount(2.0, seconds, draw) == pytest.approx(cores)


@pytest.mark.parametrize(
    "text", [None, "", "much", "50%..", "..50%", "-1", "50%/0s", "50%/x", "50%..x/1m", "-5%"]
)
def test_an_invalid_annotation_is_no_curve(text: str | None) -> None:
    assert parse_curve(text) is None


def pod(name: str = "p", **annotations: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": "1", "memory": "100Mi"}, "limits": {"cpu": "1500m"}}
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {
            "containers": [{"name": "main", "resources": resources}, {"name": "idle"}],
            "initContainers": [{"name": "init"}, {"name": "side", "restartPolicy": "Always"}],
        },
        "status": {"phase": "Running"},
    }


def test_a_sample_depends_on_pod_and_window_alone() -> None:
    first, second = Window(7, 100), Window(7, 101)
    assert pod_usage(pod(), first) == pod_usage(pod(), Window(7, 100))
    samples = [
        pod_usage(pod(), first)["main"],
        pod_usage(pod(), second)["main"],
        pod_usage(pod("q"), first)["main"],
        pod_usage(pod(), Window(8, 100))["main"],
    ]
    assert len(set(samples)) == 4
    for usage in samples:
        assert 0.5e9 <= usage.cpu <= 0.8e9
        assert 75 * MEBI <= usage.memory <= 85 * MEBI
    assert set(pod_usage(pod(), first)) == {"main", "idle", "side"}


def test_usage_follows_the_annotation_up_to_the_limit() -> None:
    rising = pod(**{CPU: "0%..200%/1h", MEMORY: "64Mi"})
    top = Window(1, 1800 // WINDOW_SECONDS)
    assert pod_usage(rising, top)["main"].cpu == 1.5e9
    assert pod_usage(rising, Window(1, 0))["main"].cpu == 0
    memory = pod_usage(rising, top)["main"].memory
    assert memory == pytest.approx(64 * MEBI, rel=0.011)


def test_only_running_pods_and_ready_nodes_have_usage() -> None:
    window = Window(1, 1)
    ended = {**pod(), "status": {"phase": "Succeeded"}}
    assert pod_usage(ended, window) == {}
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "capacity": {"cpu": "10"}}
    node = {"metadata": {"name": "n"}, "status": ready}
    system, busy = node_usage(node, [ended], window), node_usage(node, [pod()], window)
    assert system is not None and busy is not None
    assert 0 < system.cpu < 0.2e9
    total = Usage(0, 0)
    for usage in pod_usage(pod(), window).values():
        total += usage
    assert busy == system + total
    assert node_usage({**node, "status": {}}, [pod()], window) is None
