"""Events: reporters, objects, repetitions and retention."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.administration.clusters.settings import change_settings
from apps.cluster.models import Change
from tests.controllers.conftest import START, Lab, pod

pytestmark = pytest.mark.django_db(transaction=True)

Body = dict[str, Any]


def messages(lab: Lab, reason: str) -> list[str]:
    return [event["message"] for event in lab.events(reason)]


def workload(kind: str, name: str = "web", **spec: Any) -> Body:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}
    selector = {"selector": {"matchLabels": labels}} if kind != "Job" else {}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    return {"metadata": {"name": name}, "spec": {**selector, "template": template, **spec}}


def test_a_repeated_failure_becomes_a_series(lab: Lab) -> None:
    lab.node("n1", cpu="1")
    lab.pod("big", cpu="4")
    lab.settle()
    (event,) = lab.events("FailedScheduling")
    assert "series" not in event and event["eventTime"] == "2030-01-01T00:00:00.000000Z"
    for _ in range(2):
        lab.advance(300)
        lab.advance(30)
    (event,) = lab.events("FailedScheduling")
    assert event["series"]["count"] == 3
    # the time of the repetition
    assert event["series"]["lastObservedTime"].startswith("2030-01-01T00:1")


def test_another_reason_or_a_long_pause_starts_another_event(lab: Lab) -> None:
    lab.node("n1", cpu="1")
    lab.pod("big", cpu="4")
    lab.settle()
    lab.node("n2", cpu="1")
    lab.advance(400)
    told = messages(lab, "FailedScheduling")
    assert [text.split(":")[0] for text in told] == [
        "0/1 nodes are available",
        "0/2 nodes are available",
    ]
    change_settings(lab.cluster, {"pod_max_in_unschedulable_pods_seconds": 1000})
    lab.advance(1100)
    lab.advance(30)
    # the series of the first attempts had ended
    assert len(lab.events("FailedScheduling")) == 3


def test_an_event_is_deleted_an_hour_after_its_last_update(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    assert messages(lab, "Scheduled") == ["Successfully assigned default/p to n1"]
    lab.advance(3599)
    assert lab.events("Scheduled")
    lab.cluster.refresh_from_db()
    # no change is needed
    assert lab.cluster.timer_at is not None
    assert lab.cluster.timer_at <= START + timedelta(seconds=3661)
    lab.advance(61)
    assert lab.events("Scheduled") == []
    # watches receive the deletion
    assert Change.objects.filter(cluster=lab.cluster, kind="Event", type="DELETED").exists()


def test_the_event_ttl_is_a_setting_of_the_cluster(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    change_settings(lab.cluster, {"event_ttl_seconds": 0})
    lab.advance(100_000)
    assert lab.events("Scheduled")
    change_settings(lab.cluster, {"event_ttl_seconds": 600})
    lab.settle()
    assert lab.events("Scheduled") == []


def test_a_gated_pod_has_an_event_from_the_start(lab: Lab) -> None:
    lab.pod("p", schedulingGates=[{"name": "example.com/wait"}])
    condition = lab.condition("Pod", "p", "PodScheduled")
    assert (condition["status"], condition["reason"]) == ("False", "SchedulingGated")


def test_a_preempted_pods_event_names_the_preemptor(lab: Lab) -> None:
    lab.node("n1", cpu="1")
    lab.create("PriorityClass", {"metadata": {"name": "high"}, "value": 1000})
    lab.pod("low", cpu="1")
    lab.settle()
    lab.pod("urgent", cpu="1", priorityClassName="high")
    lab.settle()
    (event,) = lab.events("Preempted")
    preemptor = lab.get("Pod", "urgent")
    assert "related" not in event
    assert event["message"] == f"Preempted by pod {preemptor['metadata']['uid']} on node n1"
    assert preemptor["status"]["nominatedNodeName"] == "n1"
    victim = lab.condition("Pod", "low", "DisruptionTarget")
    assert victim["reason"] == "PreemptionByScheduler"
    assert messages(lab, "Killing") == ["Stopping container c"]


def test_a_node_has_events_when_it_is_lost_and_ready_again(lab: Lab) -> None:
    lab.node("n1")
    lab.settle()
    lab.set_condition("n1", "Ready", "Unknown")
    lab.settle()
    assert messages(lab, "NodeNotReady") == ["Node n1 status is now: NodeNotReady"]
    lab.set_condition("n1", "Ready", "True")
    lab.settle()
    (event,) = lab.events("NodeReady")
    assert event["involvedObject"]["kind"] == "Node"
    assert event["metadata"]["namespace"] == "default"
    lab.change("Node", "n1", lambda body: {**body, "spec": {"unschedulable": True}})
    lab.settle()
    lab.change("Node", "n1", lambda body: {**body, "spec": {"taints": body["spec"]["taints"]}})
    lab.settle()
    assert messages(lab, "NodeNotSchedulable") and messages(lab, "NodeSchedulable")


def test_evictions_and_cancelled_evictions_have_events(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    lab.set_condition("n1", "Ready", "False")
    lab.settle()
    lab.advance(200)
    lab.set_condition("n1", "Ready", "True")
    lab.settle()
    assert messages(lab, "TaintManagerEviction") == ["Cancelling deletion of Pod default/p"]
    lab.set_condition("n1", "Ready", "False")
    lab.settle()
    lab.advance(300)
    assert messages(lab, "TaintManagerEviction")[1:] == ["Marking for deletion Pod default/p"]


def test_a_rejected_pod_has_an_event_with_the_reason(lab: Lab) -> None:
    lab.node("n1", cpu="1")
    lab.pod("p", cpu="2", nodeName="n1")
    lab.settle()
    (event,) = lab.events("OutOfcpu")
    assert (event["type"], event["source"]["component"]) == ("Warning", "kubelet")
    assert event["message"].startswith("Node didn't have enough resource: cpu, requested: 2000")


def test_deployments_and_replica_sets_record_events(lab: Lab) -> None:
    lab.node("n1")
    lab.create("Deployment", workload("Deployment", replicas=2))
    lab.settle()
    (replica_set,) = lab.all("ReplicaSet")
    name = replica_set["metadata"]["name"]
    assert messages(lab, "ScalingReplicaSet") == [f"Scaled up replica set {name} from 0 to 2"]
    pods = {each["metadata"]["name"] for each in lab.all("Pod")}
    assert set(messages(lab, "SuccessfulCreate")) == {f"Created pod: {each}" for each in pods}
    lab.change("Deployment", "web", lambda b: {**b, "spec": {**b["spec"], "replicas": 1}})
    lab.settle()
    (deleted,) = messages(lab, "SuccessfulDelete")
    assert deleted.removeprefix("Deleted pod: ") in pods


def test_pods_that_a_quota_refuses_are_counted_in_one_event(lab: Lab) -> None:
    quota = {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "1"}}}
    lab.create("ResourceQuota", quota)
    lab.node("n1")
    lab.create("ReplicaSet", workload("ReplicaSet", replicas=2))
    lab.settle()
    lab.advance(10)
    assert len(lab.all("Pod")) == 1
    told = lab.events("FailedCreate")
    assert all("exceeded quota: small, requested: pods=1" in each["message"] for each in told)
    lab.delete("ResourceQuota", "small")
    lab.settle()
    lab.advance(10)
    assert len(lab.all("Pod")) == 2


def test_stateful_sets_and_daemon_sets_record_events(lab: Lab) -> None:
    lab.node("n1")
    lab.create("StatefulSet", workload("StatefulSet", serviceName="web", replicas=1))
    lab.create("DaemonSet", workload("DaemonSet", "agent"))
    lab.settle()
    told = {each["source"]["component"]: each["message"] for each in lab.events("SuccessfulCreate")}
    assert told["statefulset-controller"] == "Create Pod web-0 in StatefulSet web successful"
    assert told["daemonset-controller"].startswith("Created pod: agent-")


def test_a_finished_job_has_an_event(lab: Lab) -> None:
    lab.node("n1")
    good = workload("Job", "good")
    annotations = {"kubelet.schedweb.dev/succeeds-after": "5s"}
    good["spec"]["template"]["metadata"]["annotations"] = annotations
    bad = workload("Job", "bad", backoffLimit=0)
    bad["spec"]["template"]["metadata"]["annotations"] = {"kubelet.schedweb.dev/fails-after": "5s"}
    lab.create("Job", good)
    lab.create("Job", bad)
    lab.settle()
    lab.advance(5)
    assert messages(lab, "Completed") == ["Job completed"]
    assert messages(lab, "BackoffLimitExceeded") == ["Job has reached the specified backoff limit"]


def test_a_claim_has_events_about_waiting_and_provisioning(lab: Lab) -> None:
    lab.node("n1")
    late = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": "x.io/csi"}
    lab.create("StorageClass", {"metadata": {"name": "late"}, **late})
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    for name, class_name in (("waits", "late"), ("none", ""), ("unknown", "nowhere")):
        spec = {**asked, "storageClassName": class_name}
        lab.create("PersistentVolumeClaim", {"metadata": {"name": name}, "spec": spec})
    lab.settle()
    assert messages(lab, "WaitForFirstConsumer") == [
        "waiting for first consumer to be created before binding"
    ]
    assert messages(lab, "FailedBinding") == [
        "no persistent volumes available for this claim and no storage class is set"
    ]
    assert messages(lab, "ProvisioningFailed") == [
        'storageclass.storage.k8s.io "nowhere" not found'
    ]
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "waits"}}
    lab.pod("p", volumes=[volume])
    lab.settle()
    (made,) = messages(lab, "ProvisioningSucceeded")
    assert made.startswith("Successfully provisioned volume pvc-")
    (created,) = lab.all("PersistentVolume")
    assert created["spec"]["hostPath"]["path"].endswith(created["metadata"]["name"])


def test_a_deleted_event_is_recorded_again(lab: Lab) -> None:
    lab.node("n1", cpu="1")
    lab.pod("big", cpu="4")
    lab.settle()
    (event,) = lab.events("FailedScheduling")
    lab.delete("Event", event["metadata"]["name"])
    for _ in range(3):
        lab.advance(330)
    assert lab.events("FailedScheduling")


def test_the_tenth_similar_event_and_those_after_it_are_combined(lab: Lab) -> None:
    lab.create("ReplicaSet", workload("ReplicaSet", replicas=12))
    lab.settle()
    created = lab.events("SuccessfulCreate")
    assert [each["count"] for each in created] == [*[1] * 9, 3]
    assert all(each["message"].startswith("Created pod: web-") for each in created[:-1])
    assert created[-1]["message"].startswith("(combined from similar events): Created pod: web-")


def test_of_many_events_about_an_object_one_is_recorded_every_five_minutes(lab: Lab) -> None:
    lab.create("ReplicaSet", workload("ReplicaSet", replicas=40))
    lab.settle()
    assert sum(each["count"] for each in lab.events("SuccessfulCreate")) == 25
    lab.advance(600)
    lab.change("ReplicaSet", "web", lambda body: {**body, "spec": {**body["spec"], "replicas": 50}})
    lab.settle()
    assert sum(each["count"] for each in lab.events("SuccessfulCreate")) == 27


def test_events_of_the_scheduler_name_the_version_of_the_pod_that_it_saw(lab: Lab) -> None:
    lab.node("n1")
    created = lab.pod("p")
    lab.settle()
    (event,) = lab.events("Scheduled")
    assert event["involvedObject"]["resourceVersion"] == created["metadata"]["resourceVersion"]
