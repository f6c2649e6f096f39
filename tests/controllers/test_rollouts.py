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


def test_the_condition_that_changed_last_is_the_last(nodes: Lab) -> None:
    def types() -> list[str]:
        return [each["type"] for each in status(nodes, "Deployment")["conditions"]]

    nodes.create("Deployment", workload("web", replicas=1))
    nodes.settle()
    assert types() == ["Available", "Progressing"]
    nodes.change(
        "Deployment", "web", lambda body: {**body, "spec": {**body["spec"], "replicas": 4}}
    )
    nodes.settle()
    assert status(nodes, "Deployment")["availableReplicas"] == 4
    assert types() == ["Progressing", "Available"]


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
    # the oldest pod of a node counts until it has ended
    nodes.advance(30)
    assert status(nodes, "DaemonSet")["updatedNumberScheduled"] == 3


def replica_sets(lab: Lab) -> dict[str, int]:
    """Image -> replicas."""
    return {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: each["spec"]["replicas"]
        for each in lab.all("ReplicaSet")
    }


def scale(lab: Lab, replicas: int) -> None:
    def change(body: Body) -> Body:
        return {**body, "spec": {**body["spec"], "replicas": replicas}}

    lab.change("Deployment", "web", change)
    lab.settle()


def test_a_deployment_adopts_a_set_with_its_template(nodes: Lab) -> None:
    kept = workload("old", replicas=2)
    kept["metadata"]["labels"] = {"app": "web"}
    nodes.create("ReplicaSet", kept)
    nodes.create("Deployment", workload("web", replicas=3))
    nodes.settle()
    (adopted,) = nodes.all("ReplicaSet")
    assert adopted["metadata"]["name"] == "old"
    assert adopted["metadata"]["ownerReferences"][0]["name"] == "web"
    assert adopted["spec"]["replicas"] == 3
    assert status(nodes, "Deployment")["readyReplicas"] == 3


def test_a_deployment_that_is_created_again_keeps_the_pods_that_were_orphaned(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=2))
    nodes.settle()
    before = {pod["metadata"]["uid"] for pod in living(nodes)}
    nodes.delete("Deployment", "web", propagationPolicy="Orphan")
    nodes.settle()
    nodes.create("Deployment", workload("web", replicas=2))
    nodes.settle()
    assert {pod["metadata"]["uid"] for pod in living(nodes)} == before
    assert status(nodes, "Deployment")["availableReplicas"] == 2


def test_a_paused_deployment_is_scaled(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=2))
    nodes.settle()
    nodes.change(
        "Deployment", "web", lambda body: {**body, "spec": {**body["spec"], "paused": True}}
    )
    scale(nodes, 3)
    assert replica_sets(nodes) == {"i:1": 3}


def test_during_a_rollout_all_sets_are_scaled_in_proportion(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=6))
    nodes.settle()
    waiting = {"schedulerName": "nobody"}

    def stall(body: Body) -> Body:
        template = body["spec"]["template"]
        containers = [{**template["spec"]["containers"][0], "image": "i:2"}]
        spec = {**template["spec"], **waiting, "containers": containers}
        return {**body, "spec": {**body["spec"], "template": {**template, "spec": spec}}}

    nodes.change("Deployment", "web", stall)
    nodes.settle()
    nodes.advance(60)
    assert replica_sets(nodes) == {"i:1": 5, "i:2": 3}
    scale(nodes, 10)
    assert replica_sets(nodes) == {"i:1": 8, "i:2": 5}
    (current,) = (each for each in nodes.all("ReplicaSet") if each["spec"]["replicas"] == 5)
    annotations = current["metadata"]["annotations"]
    assert annotations["deployment.kubernetes.io/desired-replicas"] == "10"
    assert annotations["deployment.kubernetes.io/max-replicas"] == "13"


def test_recreate_waits_until_the_old_pods_have_ended(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=2, strategy={"type": "Recreate"}))
    nodes.settle()
    set_image(nodes, "Deployment", "i:2")
    assert replica_sets(nodes) == {"i:1": 0}
    assert status(nodes, "Deployment")["terminatingReplicas"] == 2
    nodes.advance(30)
    assert replica_sets(nodes) == {"i:1": 0, "i:2": 2}
    assert images(nodes) == ["i:2", "i:2"]


def test_generations_count_changes_of_the_spec_alone(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=1))
    nodes.settle()
    assert nodes.get("Deployment", "web")["metadata"]["generation"] == 1
    scale(nodes, 2)
    (created,) = nodes.all("ReplicaSet")
    assert created["metadata"]["generation"] == 2
    assert nodes.get("Deployment", "web")["metadata"]["generation"] == 2


def test_a_set_gets_the_annotations_of_its_deployment(nodes: Lab) -> None:
    body = workload("web", replicas=1)
    body["metadata"]["annotations"] = {"kubernetes.io/change-cause": "first"}
    nodes.create("Deployment", body)
    nodes.settle()
    (created,) = nodes.all("ReplicaSet")
    assert created["metadata"]["annotations"]["kubernetes.io/change-cause"] == "first"


def test_a_rollout_that_has_timed_out_is_not_called_paused(nodes: Lab) -> None:
    pod = {"nodeSelector": {"no": "node"}}
    nodes.create("Deployment", workload("web", replicas=1, progressDeadlineSeconds=10, pod=pod))
    nodes.settle()
    nodes.advance(10)
    assert nodes.condition("Deployment", "web", "Progressing")["status"] == "False"
    nodes.change(
        "Deployment", "web", lambda body: {**body, "spec": {**body["spec"], "paused": True}}
    )
    nodes.settle()
    condition = nodes.condition("Deployment", "web", "Progressing")
    assert condition["reason"] == "ProgressDeadlineExceeded"
