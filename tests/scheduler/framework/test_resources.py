"""How much a pod takes, container by container."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.framework import resources
from apps.scheduler.testing.builders import PodBuilder, make_pod

MIB = 1024 * 1024


def resized(
    *, spec: str, allocated: str, in_force: str | None, infeasible: bool = False
) -> PodBuilder:
    pod = make_pod().req(cpu=spec).on("n")
    status: dict[str, Any] = {"name": "c", "allocatedResources": {"cpu": allocated}}
    if in_force is not None:
        status["resources"] = {"requests": {"cpu": in_force}}
    pod.body["status"]["containerStatuses"] = [status]
    if infeasible:
        condition = {"type": "PodResizePending", "reason": "Infeasible"}
        pod.body["status"]["conditions"] = [condition]
    return pod


@pytest.mark.parametrize(
    ("name", "pod", "milli_cpu"),
    [
        ("one container", make_pod().req(cpu="500m"), 500),
        ("the greediest init step counts", make_pod().req(cpu="500m").init_req(cpu="2"), 2000),
        (
            "a sidecar runs beside the containers",
            make_pod().req(cpu="500m").init_req(sidecar=True, cpu="1"),
            1500,
        ),
        (
            "an init step runs beside the sidecars started before it",
            make_pod().req(cpu="500m").init_req(sidecar=True, cpu="1").init_req(cpu="3"),
            4000,
        ),
        (
            "a sidecar started later does not run beside an earlier step",
            make_pod().req(cpu="500m").init_req(cpu="3").init_req(sidecar=True, cpu="1"),
            3000,
        ),
        ("overhead is added", make_pod().req(cpu="500m").overhead(cpu="250m"), 750),
        ("the pod level replaces containers", make_pod().req(cpu="5").pod_level(cpu="2"), 2000),
        ("fractions are summed, then rounded", make_pod().req(cpu="100u").overhead(cpu="1"), 1001),
        ("a resize upwards counts", resized(spec="2", allocated="1", in_force="1"), 2000),
        ("a resize downwards not yet", resized(spec="1", allocated="1", in_force="3"), 3000),
        (
            "an infeasible resize does not count",
            resized(spec="9", allocated="1", in_force="2", infeasible=True),
            2000,
        ),
        ("set aside without a report", resized(spec="1", allocated="5", in_force=None), 1000),
    ],
)
def test_cpu_of_a_pod(name: str, pod: PodBuilder, milli_cpu: int) -> None:
    assert pod.info().requests["cpu"] == milli_cpu, name


_MUCH = {"name": "c", "resources": {"requests": {"memory": "9Gi"}}}


@pytest.mark.parametrize(
    ("name", "limits", "status", "milli_cpu", "mib"),
    [
        ("more is in force", {}, {"resources": {"requests": {"cpu": "4"}}}, 4500, 300),
        (
            "or set aside",
            {},
            {"resources": {}, "allocatedResources": {"cpu": "5"}},
            5500,
            300,
        ),
        ("but not without a report", {}, {"allocatedResources": {"cpu": "5"}}, 3500, 300),
        (
            "of what it does not ask for",
            {},
            {"resources": {"requests": {"memory": "1Gi"}}},
            3500,
            300,
        ),
        (
            "with limits it counts",
            {"cpu": "9"},
            {"resources": {"requests": {"memory": "1Gi"}}},
            3500,
            1024,
        ),
        (
            "and its containers do not",
            {"cpu": "9"},
            {"resources": {}, "containerStatuses": [_MUCH]},
            3500,
            300,
        ),
        (
            "an infeasible resize does not count",
            {},
            {
                "resources": {"requests": {"cpu": "1"}},
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
            },
            1500,
            300,
        ),
        (
            "and leaves nothing of what is not reported",
            {},
            {
                "resources": {},
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
            },
            500,
            300,
        ),
    ],
)
def test_resize_of_pod_level_resources(
    name: str, limits: dict[str, str], status: dict[str, Any], milli_cpu: int, mib: int
) -> None:
    """The overhead is in none of the figures of the status."""
    pod = make_pod().req(cpu="1", memory="300Mi").overhead(cpu="500m").on("n")
    pod.spec(resources={"requests": {"cpu": "3"}, "limits": limits})
    pod.body["status"].update(status)
    requests = pod.info().requests
    assert (requests["cpu"], requests["memory"] // MIB) == (milli_cpu, mib), name


def test_incoming_pod_is_judged_by_its_spec() -> None:
    pod = resized(spec="1", allocated="1", in_force="3").info()
    assert (pod.requests["cpu"], pod.spec_requests["cpu"]) == (3000, 1000)


def test_containers_without_a_request_count_with_a_default() -> None:
    assert make_pod().info().nonzero_requests == (100, 200 * MIB)
    assert make_pod().req(cpu="0").info().nonzero_requests == (0, 200 * MIB)
    assert make_pod().pod_level(cpu="1").info().nonzero_requests == (1000, 200 * MIB)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("example.com/gpu", True),
        ("hugepages-2Mi", True),
        ("attachable-volumes-aws-ebs", True),
        ("kubernetes.io/batch", True),
        ("cpus", False),
        ("requests.cpu", False),
    ],
)
def test_which_resources_are_counted(name: str, counts: bool) -> None:
    assert resources.is_scalar(name) is counts
