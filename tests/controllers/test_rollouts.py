"""Rollouts and retries over time: minReadySeconds, deadlines, revisions, backoff, surges."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.conftest import Body, Lab
from tests.controllers.test_workloads import images, living, set_image, workload

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def nodes(lab: Lab) -> Lab:
    for number in range(3):
        lab.node(f"n{number}")
    return lab


def status(lab: Lab, kind: str) -> Body:
    found: Body = lab.get(kind, "web")["status"]
    return found


def revision(lab: Lab, kind: str, name: str) -> str:
    annotations: Body = lab.get(kind, name)["metadata"]["annotations"]
    return str(annotations["deployment.kubernetes.io/revision"])


@pytest.mark.parametrize("kind", ["ReplicaSet", "Deployment"])
def test_a_pod_is_available_when_it_has_been_ready_for_long_enough(nodes: Lab, kind: str) -> None:
    nodes.create(kind, workload("web", replicas=2, minReadySeconds=30))
    nodes.settle()
    assert status(nodes, kind)["readyReplicas"] == 2
    nodes.advance(29)
    assert "availableReplicas" not in status(nodes, kind)
    nodes.advance(1)
    assert status(nodes, kind)["availableReplicas"] == 2


def test_a_stateful_set_creates_the_next_pod_when_the_previous_is_available(nodes: Lab) -> None:
    nodes.create("StatefulSet", workload("web", replicas=2, serviceName="w", minReadySeconds=10))
    nodes.settle()
    assert len(living(nodes)) == 1
    nodes.advance(10)
    assert len(living(nodes)) == 2


def test_a_rollout_waits_until_new_pods_are_available(nodes: Lab) -> None:
    one_by_one = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    nodes.create("Deployment", workload("web", replicas=2, minReadySeconds=20, strategy=one_by_one))
    nodes.settle()
    nodes.advance(20)
    set_image(nodes, "Deployment", "i:2")
    assert images(nodes) == ["i:1", "i:1", "i:2"]
    nodes.advance(20)
    assert images(nodes) == ["i:1", "i:2", "i:2"]
    nodes.advance(20)
    assert images(nodes) == ["i:2", "i:2"]
    nodes.advance(20)
    progressing = nodes.condition("Deployment", "web", "Progressing")
    assert progressing["reason"] == "NewReplicaSetAvailable"


def test_a_rollout_without_progress_fails_after_its_deadline(nodes: Lab) -> None:
    too_big: Body = {"resources": {"requests": {"cpu": "100"}}}
    body = workload("web", replicas=1, progressDeadlineSeconds=60)
    body["spec"]["template"]["spec"]["containers"][0] |= too_big
    nodes.create("Deployment", body)
    nodes.settle()
    nodes.advance(59)
    before = nodes.condition("Deployment", "web", "Progressing")
    assert (before["status"], before["reason"]) == ("True", "ReplicaSetUpdated")
    nodes.advance(1)
    after = nodes.condition("Deployment", "web", "Progressing")
    assert (after["status"], after["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert after["lastTransitionTime"] == nodes.at(60)
    assert after["message"].endswith("has timed out progressing.")
    nodes.node("large", cpu="200")
    nodes.settle()
    healed = nodes.condition("Deployment", "web", "Progressing")
    assert (healed["status"], healed["reason"]) == ("True", "NewReplicaSetAvailable")


def test_a_complete_rollout_has_no_deadline(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=3, progressDeadlineSeconds=60))
    nodes.settle()
    for number in range(3):
        nodes.change("Node", f"n{number}", lambda b: {**b, "spec": {"unschedulable": True}})
    nodes.delete("Pod", living(nodes)[0]["metadata"]["name"], gracePeriodSeconds=0)
    nodes.settle()
    nodes.advance(600)
    progressing = nodes.condition("Deployment", "web", "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("True", "NewReplicaSetAvailable")
    # independent of the current availability
    assert nodes.condition("Deployment", "web", "Available")["status"] == "False"


def test_a_rollback_is_a_new_revision_of_the_old_set(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=1))
    nodes.settle()
    (first,) = (each["metadata"]["name"] for each in nodes.all("ReplicaSet"))
    assert revision(nodes, "Deployment", "web") == revision(nodes, "ReplicaSet", first) == "1"
    set_image(nodes, "Deployment", "i:2")
    assert revision(nodes, "Deployment", "web") == "2"
    set_image(nodes, "Deployment", "i:1")
    assert revision(nodes, "Deployment", "web") == revision(nodes, "ReplicaSet", first) == "3"
    annotations = nodes.get("ReplicaSet", first)["metadata"]["annotations"]
    assert annotations["deployment.kubernetes.io/revision-history"] == "1"
    assert images(nodes) == ["i:1"] and len(nodes.all("ReplicaSet")) == 2


def test_a_job_pauses_ten_seconds_after_a_failure_and_twice_as_long_each_time(lab: Lab) -> None:
    lab.node("n1")
    fails = {"kubelet.schedweb.dev/fails-after": "1s"}
    container = {"name": "c", "image": "i"}
    template: dict[str, Any] = {
        "metadata": {"annotations": fails},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    lab.create("Job", {"metadata": {"name": "web"}, "spec": {"template": template}})
    lab.settle()
    for tries, pause in enumerate((10, 20, 40), start=1):
        lab.advance(1)
        assert lab.get("Job", "web")["status"]["failed"] == tries
        lab.advance(pause - 1)
        assert len(lab.all("Pod")) == tries
        lab.advance(1)
        assert len(lab.all("Pod")) == tries + 1


def test_a_daemon_set_that_surges_has_two_pods_on_a_node_but_never_none(nodes: Lab) -> None:
    surge = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    nodes.create("DaemonSet", workload("web", minReadySeconds=10, updateStrategy=surge))
    nodes.settle()
    nodes.advance(10)
    set_image(nodes, "DaemonSet", "i:2")
    # one node at a time
    assert images(nodes) == ["i:1", "i:1", "i:1", "i:2"]
    for _ in range(3):
        assert status(nodes, "DaemonSet")["numberAvailable"] == 3
        nodes.advance(10)
    assert images(nodes) == ["i:2", "i:2", "i:2"]
    assert status(nodes, "DaemonSet")["updatedNumberScheduled"] == 3
