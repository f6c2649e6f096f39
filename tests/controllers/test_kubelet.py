"""The mock kubelet: nodes register, pods run, end, stop and are rejected."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from apps.administration.clusters import lifecycle
from apps.cluster.models import Cluster
from tests.controllers.conftest import Lab

pytestmark = pytest.mark.django_db(transaction=True)
CAPACITY = {"cpu": "4", "memory": "8Gi", "pods": "10"}


def bare_node(name: str, **annotations: str) -> dict[str, Any]:
    metadata = {"name": name, "annotations": annotations}
    return {"metadata": metadata, "status": {"capacity": CAPACITY, "allocatable": CAPACITY}}


def test_a_new_node_is_labelled_and_ready_at_once(lab: Lab) -> None:
    lab.create("Node", bare_node("n1"))
    assert lab.taints("n1") == {"node.kubernetes.io/not-ready:NoSchedule"}
    lab.settle()
    labels = lab.get("Node", "n1")["metadata"]["labels"]
    assert labels["kubernetes.io/hostname"] == "n1"
    assert labels["kubernetes.io/os"] == "linux" and labels["kubernetes.io/arch"] == "amd64"
    assert lab.condition("Node", "n1", "Ready")["status"] == "True"
    assert lab.taints("n1") == set()


def test_a_pod_that_waits_for_a_node_gets_the_new_one(lab: Lab) -> None:
    lab.node("small", cpu="1")
    lab.pod("p", cpu="2")
    lab.settle()
    lab.create("Node", bare_node("n1"))
    lab.settle()
    assert lab.get("Pod", "p")["spec"]["nodeName"] == "n1"


def test_a_node_annotated_not_to_be_ready_stays_tainted(lab: Lab) -> None:
    lab.create("Node", bare_node("n1", **{"kubelet.schedweb.dev/ready": "false"}))
    lab.settle()
    assert lab.condition("Node", "n1", "Ready") == {}
    assert lab.taints("n1") == {"node.kubernetes.io/not-ready:NoSchedule"}


def test_a_node_created_with_a_ready_condition_is_not_changed(lab: Lab) -> None:
    body = bare_node("n1")
    body["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "Broken"}]
    lab.create("Node", body)
    lab.settle()
    assert lab.condition("Node", "n1", "Ready")["status"] == "False"
    assert "kubernetes.io/hostname" not in lab.get("Node", "n1")["metadata"].get("labels", {})


def test_a_node_of_a_cloud_waits_for_its_provider(lab: Lab) -> None:
    lab.create("Node", bare_node("n1", **{"kubelet.schedweb.dev/cloud-provider": "external"}))
    lab.settle()
    assert lab.taints("n1") == {"node.cloudprovider.kubernetes.io/uninitialized:NoSchedule"}
    lab.change("Node", "n1", lambda n: {**n, "spec": {**n["spec"], "providerID": "mock://n1"}})
    lab.settle()
    assert lab.taints("n1") == set()


def test_a_bound_pod_runs_and_is_ready(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    status = lab.get("Pod", "p")["status"]
    assert status["phase"] == "Running" and status["startTime"] == lab.at(0)
    assert status["podIP"].startswith("10.") and status["hostIP"]
    assert lab.condition("Pod", "p", "Ready")["status"] == "True"
    container = status["containerStatuses"][0]
    assert (container["name"], container["ready"]) == ("c", True)
    assert "running" in container["state"]


@pytest.mark.parametrize(("kind", "phase"), [("succeeds", "Succeeded"), ("fails", "Failed")])
def test_a_pod_ends_after_the_annotated_time(lab: Lab, kind: str, phase: str) -> None:
    lab.node("n1")
    lab.pod("p", annotations={f"kubelet.schedweb.dev/{kind}-after": "90s"})
    lab.settle()
    lab.advance(89)
    assert lab.get("Pod", "p")["status"]["phase"] == "Running"
    lab.advance(1)
    status = lab.get("Pod", "p")["status"]
    assert status["phase"] == phase
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == (kind == "fails")
    assert lab.condition("Pod", "p", "Ready")["status"] == "False"


def test_the_capacity_of_a_finished_pod_is_free_again(lab: Lab) -> None:
    lab.node("n1", cpu="1")
    lab.pod("first", cpu="1", annotations={"kubelet.schedweb.dev/succeeds-after": "60"})
    lab.settle()
    lab.pod("second", cpu="1")
    lab.settle()
    assert "nodeName" not in lab.get("Pod", "second")["spec"]
    lab.advance(60)
    assert lab.get("Pod", "second")["spec"]["nodeName"] == "n1"


def test_a_deleted_pod_is_removed_after_its_grace_period(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    lab.delete("Pod", "p")
    lab.settle()
    metadata = lab.get("Pod", "p")["metadata"]
    assert metadata["deletionTimestamp"] == lab.at(30)
    assert metadata["deletionGracePeriodSeconds"] == 30
    lab.advance(29)
    assert lab.exists("Pod", "p")
    lab.advance(1)
    assert not lab.exists("Pod", "p")


def test_a_second_deletion_may_shorten_the_grace_period(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p", terminationGracePeriodSeconds=600)
    lab.settle()
    lab.delete("Pod", "p")
    lab.delete("Pod", "p", gracePeriodSeconds=700)
    lab.delete("Pod", "p", gracePeriodSeconds=5)
    assert lab.get("Pod", "p")["metadata"]["deletionTimestamp"] == lab.at(5)
    lab.advance(5)
    assert not lab.exists("Pod", "p")


def test_without_grace_period_or_node_a_pod_is_removed_at_once(lab: Lab) -> None:
    lab.pod("pending")
    lab.delete("Pod", "pending")
    assert not lab.exists("Pod", "pending")
    lab.node("n1")
    lab.pod("bound")
    lab.settle()
    lab.delete("Pod", "bound", gracePeriodSeconds=0)
    assert not lab.exists("Pod", "bound")


def test_a_deletion_survives_the_process_that_saw_it(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    lab.delete("Pod", "p")
    lab.settle()
    lab.restart()
    lab.advance(30)
    assert not lab.exists("Pod", "p")


def test_beat_knows_when_the_grace_period_ends(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    lab.delete("Pod", "p")
    lab.settle()
    timer = Cluster.objects.get(pk=lab.cluster.pk).timer_at
    assert timer is not None and timer.strftime("%H:%M:%S") == "00:00:30"


def test_in_a_paused_cluster_a_pod_stays_terminating(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    lifecycle.pause(lab.cluster)
    lab.delete("Pod", "p")
    lab.advance(3600)
    assert lab.get("Pod", "p")["metadata"]["deletionTimestamp"]
    lifecycle.resume(lab.cluster)
    lab.settle()
    assert not lab.exists("Pod", "p")


def test_a_pod_put_on_a_full_node_by_name_is_out_of_cpu(lab: Lab) -> None:
    lab.node("n1", cpu="1")
    lab.pod("there", cpu="600m", nodeName="n1")
    lab.settle()
    lab.pod("too-much", cpu="500m", nodeName="n1")
    lab.settle()
    assert lab.get("Pod", "there")["status"]["phase"] == "Running"
    status = lab.get("Pod", "too-much")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 600, "
        "capacity: 1000"
    )


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "NodeAffinity"),
        ({"cpu": "9"}, "OutOfcpu"),
    ],
)
def test_kubelet_checks_every_bound_pod(lab: Lab, spec: dict[str, Any], reason: str) -> None:
    lab.node("n1")
    lab.pod("p", nodeName="n1", **spec)
    lab.settle()
    assert lab.get("Pod", "p")["status"]["reason"] == reason


def test_two_pods_bound_together_share_the_free_capacity(lab: Lab) -> None:
    lab.node("n1", cpu="1")
    for name in ("a", "b"):
        lab.pod(name, cpu="600m", nodeName="n1")
    lab.settle()
    phases = [lab.get("Pod", name)["status"]["phase"] for name in ("a", "b")]
    assert phases == ["Running", "Failed"]


def test_without_kubelets_a_bound_pod_stays_pending_until_they_are_back(lab: Lab) -> None:
    call_command("controllers", "lab", "--kubelet", "off", stdout=StringIO())
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    pod = lab.get("Pod", "p")
    assert pod["spec"]["nodeName"] == "n1" and pod["status"]["phase"] == "Pending"
    call_command("controllers", "lab", "--kubelet", "on", stdout=StringIO())
    lab.settle()
    assert lab.get("Pod", "p")["status"]["phase"] == "Running"


def test_an_unreachable_node_neither_starts_nor_stops_pods(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    lab.set_condition("n1", "Ready", "Unknown")
    lab.delete("Pod", "p")
    lab.pod("late", nodeName="n1")
    lab.advance(60)
    assert lab.exists("Pod", "p") and lab.get("Pod", "late")["status"]["phase"] == "Pending"
    lab.set_condition("n1", "Ready", "True")
    lab.settle()
    assert not lab.exists("Pod", "p") and lab.get("Pod", "late")["status"]["phase"] == "Running"
