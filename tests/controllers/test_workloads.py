"""Workloads maintain their pods."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from apps.cluster import kinds
from apps.cluster.models import Change
from apps.cluster.quota import room
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop import engines
from tests.controllers.conftest import ACTOR, Body, Lab

pytestmark = pytest.mark.django_db(transaction=True)
LABELS = {"app": "web"}


def workload(name: str, *, image: str = "i:1", pod: Body | None = None, **spec: Any) -> Body:
    template = {
        "metadata": {"labels": LABELS, "annotations": (pod or {}).pop("annotations", {})},
        "spec": {"containers": [{"name": "c", "image": image}], **(pod or {})},
    }
    selector = {"selector": {"matchLabels": LABELS}}
    return {"metadata": {"name": name}, "spec": {**selector, "template": template, **spec}}


def living(lab: Lab) -> list[Body]:
    return [pod for pod in lab.all("Pod") if "deletionTimestamp" not in pod["metadata"]]


def images(lab: Lab) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in living(lab))


def set_image(lab: Lab, kind: str, image: str) -> None:
    def change(stored: Body) -> Body:
        body = copy.deepcopy(stored)
        body["spec"]["template"]["spec"]["containers"][0]["image"] = image
        return body

    lab.change(kind, "web", change)
    lab.settle()


@pytest.fixture
def nodes(lab: Lab) -> Lab:
    for number in range(3):
        lab.node(f"n{number}")
    return lab


@pytest.mark.parametrize("kind", ["ReplicaSet", "Deployment", "StatefulSet"])
def test_a_workload_of_3_keeps_3_pods(nodes: Lab, kind: str) -> None:
    nodes.create(kind, workload("web", replicas=3))
    nodes.settle()
    assert len(living(nodes)) == 3
    assert nodes.get(kind, "web")["status"]["readyReplicas"] == 3
    lost = living(nodes)[1]["metadata"]["name"]
    nodes.delete("Pod", lost, gracePeriodSeconds=0)
    nodes.settle()
    assert len(living(nodes)) == 3
    assert nodes.get(kind, "web")["status"]["readyReplicas"] == 3


@pytest.mark.parametrize("kind", ["ReplicaSet", "Deployment", "StatefulSet"])
def test_a_workload_follows_its_replicas(nodes: Lab, kind: str) -> None:
    nodes.create(kind, workload("web", replicas=4))
    nodes.settle()
    nodes.change(kind, "web", lambda body: {**body, "spec": {**body["spec"], "replicas": 1}})
    for _ in range(4):
        nodes.advance(30)
    assert len(nodes.all("Pod")) == 1
    assert nodes.get(kind, "web")["status"]["replicas"] == 1


@pytest.mark.parametrize("kind", ["ReplicaSet", "Deployment", "StatefulSet", "DaemonSet"])
def test_the_pods_of_a_deleted_workload_are_deleted(nodes: Lab, kind: str) -> None:
    nodes.create(kind, workload("web"))
    nodes.settle()
    assert living(nodes)
    nodes.delete(kind, "web")
    nodes.settle()
    nodes.advance(30)
    assert nodes.all("Pod") == [] and nodes.all("ReplicaSet") == []


def test_a_lost_node_costs_a_deployment_no_pod(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=3))
    nodes.settle()
    nodes.set_condition("n0", "Ready", "Unknown")
    nodes.settle()
    nodes.advance(300)
    assert len(living(nodes)) == 3
    assert "n0" not in {pod["spec"]["nodeName"] for pod in living(nodes)}


def test_a_replica_set_adopts_what_it_selects(nodes: Lab) -> None:
    nodes.pod("loner", labels=LABELS)
    nodes.create("ReplicaSet", workload("web", replicas=2))
    nodes.settle()
    owner = nodes.get("Pod", "loner")["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("ReplicaSet", "web", True)
    assert len(living(nodes)) == 2


def test_a_replication_controller_keeps_its_pods(nodes: Lab) -> None:
    body = workload("web", replicas=2)
    body["spec"]["selector"] = LABELS
    nodes.create("ReplicationController", body)
    nodes.settle()
    assert nodes.get("ReplicationController", "web")["status"]["readyReplicas"] == 2


def test_a_rollout_replaces_every_pod_within_its_limits(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=4))
    nodes.settle()
    set_image(nodes, "Deployment", "i:2")
    for _ in range(10):
        assert nodes.get("Deployment", "web")["status"]["availableReplicas"] >= 3
        assert len(living(nodes)) <= 5
        nodes.advance(30)
    assert images(nodes) == ["i:2"] * 4
    status = nodes.get("Deployment", "web")["status"]
    assert (status["updatedReplicas"], status["availableReplicas"]) == (4, 4)
    assert nodes.condition("Deployment", "web", "Available")["status"] == "True"
    sizes = sorted(each["spec"]["replicas"] for each in nodes.all("ReplicaSet"))
    assert sizes == [0, 4]


def test_recreate_has_no_pod_of_both_templates_at_once(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=2, strategy={"type": "Recreate"}))
    nodes.settle()
    set_image(nodes, "Deployment", "i:2")
    assert len(set(images(nodes))) <= 1
    nodes.advance(30)
    assert images(nodes) == ["i:2"] * 2


def test_stateful_pods_are_created_in_order_with_their_own_claims(nodes: Lab) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"metadata": {"name": "data"}, "spec": spec}]
    stateful = workload("web", replicas=2, volumeClaimTemplates=claims)
    container = stateful["spec"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    nodes.create("StatefulSet", stateful)
    nodes.settle()
    # the first waits for its volume, and the second for the first
    assert [pod["metadata"]["name"] for pod in nodes.all("Pod")] == ["web-0"]
    assert [each["metadata"]["name"] for each in nodes.all("PersistentVolumeClaim")] == [
        "data-web-0"
    ]
    assert [each["message"] for each in nodes.events("SuccessfulCreate")] == [
        "Create Claim data-web-0 Pod web-0 in StatefulSet web success",
        "Create Pod web-0 in StatefulSet web successful",
    ]


def test_stateful_pods_keep_their_names_through_an_update(nodes: Lab) -> None:
    nodes.create("StatefulSet", workload("web", replicas=3))
    nodes.settle()
    set_image(nodes, "StatefulSet", "i:2")
    for _ in range(3):
        nodes.advance(30)
    assert images(nodes) == ["i:2"] * 3
    names = sorted(pod["metadata"]["name"] for pod in living(nodes))
    assert names == ["web-0", "web-1", "web-2"]


def test_a_daemon_runs_on_every_node_also_a_cordoned_or_new_one(nodes: Lab) -> None:
    nodes.change("Node", "n0", lambda n: {**n, "spec": {**n["spec"], "unschedulable": True}})
    nodes.settle()
    nodes.create("DaemonSet", workload("web"))
    nodes.settle()
    assert {pod["spec"]["nodeName"] for pod in living(nodes)} == {"n0", "n1", "n2"}
    nodes.node("n3")
    nodes.settle()
    status = nodes.get("DaemonSet", "web")["status"]
    assert (status["desiredNumberScheduled"], status["numberReady"]) == (4, 4)


def test_daemons_avoid_tainted_nodes_and_stay_on_nodes_that_are_not_ready(
    nodes: Lab,
) -> None:
    own = [{"key": "example.com/own", "effect": "NoSchedule"}]
    nodes.change("Node", "n0", lambda n: {**n, "spec": {**n["spec"], "taints": own}})
    nodes.create("DaemonSet", workload("web"))
    nodes.settle()
    assert {pod["spec"]["nodeName"] for pod in living(nodes)} == {"n1", "n2"}
    nodes.set_condition("n1", "Ready", "False")
    nodes.settle()
    nodes.advance(3600)
    assert {pod["spec"]["nodeName"] for pod in living(nodes)} == {"n1", "n2"}


def test_a_pod_below_the_partition_keeps_its_template(nodes: Lab) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    nodes.create("StatefulSet", workload("web", replicas=2, updateStrategy=strategy))
    nodes.settle()
    set_image(nodes, "StatefulSet", "i:2")
    nodes.advance(30)
    assert images(nodes) == ["i:1", "i:2"]
    nodes.delete("Pod", "web-0", gracePeriodSeconds=0)
    nodes.settle()
    assert nodes.get("Pod", "web-0")["spec"]["containers"][0]["image"] == "i:1"


def test_a_broken_pod_of_a_parallel_stateful_set_is_replaced(nodes: Lab) -> None:
    spec = {"podManagementPolicy": "Parallel", "replicas": 2}
    nodes.create("StatefulSet", workload("web", pod={"nodeSelector": {"no": "node"}}, **spec))
    nodes.settle()
    nodes.change(
        "StatefulSet",
        "web",
        lambda body: {**body, "spec": {**body["spec"], **workload("web")["spec"]}},
    )
    for _ in range(2):
        nodes.advance(30)
    assert nodes.get("StatefulSet", "web")["status"]["readyReplicas"] == 2


def test_a_pod_that_is_being_deleted_is_still_ready(nodes: Lab) -> None:
    nodes.create("StatefulSet", workload("web", replicas=1))
    nodes.create("DaemonSet", workload("daemons"))
    nodes.settle()
    for each in nodes.all("Pod"):
        nodes.delete("Pod", each["metadata"]["name"], gracePeriodSeconds=3600)
    nodes.settle()
    assert nodes.get("StatefulSet", "web")["status"]["readyReplicas"] == 1
    assert nodes.get("DaemonSet", "daemons")["status"]["numberReady"] == 3


def test_a_surge_leaves_a_node_that_daemons_must_avoid(nodes: Lab) -> None:
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    nodes.create("DaemonSet", workload("web", updateStrategy=strategy))
    nodes.settle()
    own = [{"key": "example.com/own", "effect": "NoSchedule"}]
    nodes.change("Node", "n0", lambda n: {**n, "spec": {**n["spec"], "taints": own}})
    set_image(nodes, "DaemonSet", "i:2")
    for _ in range(3):
        nodes.advance(30)
    assert {pod["spec"]["nodeName"] for pod in living(nodes)} == {"n1", "n2"}
    assert images(nodes) == ["i:2"] * 2


def job(**spec: Any) -> Body:
    annotations = {"kubelet.schedweb.dev/succeeds-after": "60s"}
    body = workload("web", pod={"restartPolicy": "Never", "annotations": annotations}, **spec)
    del body["spec"]["selector"]
    return body


def test_a_job_runs_pods_in_parallel_until_enough_have_succeeded(nodes: Lab) -> None:
    nodes.create("Job", job(completions=3, parallelism=2))
    nodes.settle()
    assert nodes.get("Job", "web")["status"]["active"] == 2
    nodes.advance(60)
    assert nodes.get("Job", "web")["status"]["succeeded"] == 2
    nodes.advance(60)
    status = nodes.get("Job", "web")["status"]
    assert status["succeeded"] == 3 and "active" not in status
    assert nodes.condition("Job", "web", "Complete")["status"] == "True"
    assert status["completionTime"] == nodes.at(120)


def test_a_job_gives_up_when_too_many_pods_have_failed(nodes: Lab) -> None:
    body = job(backoffLimit=1)
    annotations = body["spec"]["template"]["metadata"]["annotations"]
    annotations["kubelet.schedweb.dev/fails-after"] = "10s"
    nodes.create("Job", body)
    nodes.settle()
    nodes.advance(10)
    nodes.advance(10)
    nodes.advance(10)
    assert nodes.condition("Job", "web", "Failed")["reason"] == "BackoffLimitExceeded"


def test_a_pod_of_a_job_that_is_deleted_counts_as_failed_and_is_replaced_later(nodes: Lab) -> None:
    nodes.create("Job", job(backoffLimit=1))
    nodes.settle()
    for failed in (1, 2):
        (pod,) = nodes.all("Pod")
        assert pod["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
        nodes.delete("Pod", pod["metadata"]["name"], gracePeriodSeconds=0)
        nodes.settle()
        assert nodes.get("Job", "web")["status"]["failed"] == failed
        assert nodes.all("Pod") == []
        nodes.advance(9)
        assert nodes.all("Pod") == []
        nodes.advance(1)
    assert nodes.condition("Job", "web", "Failed")["reason"] == "BackoffLimitExceeded"


def test_what_a_job_has_counted_stays_counted_without_its_pods(nodes: Lab) -> None:
    nodes.create("Job", job(completions=3, parallelism=1))
    nodes.settle()
    nodes.advance(60)
    (ended,) = [pod for pod in nodes.all("Pod") if pod["status"]["phase"] == "Succeeded"]
    nodes.delete("Pod", ended["metadata"]["name"])
    nodes.restart()
    nodes.advance(60)
    assert nodes.get("Job", "web")["status"]["succeeded"] == 2
    nodes.advance(60)
    assert nodes.condition("Job", "web", "Complete")["status"] == "True"


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_pods_do_not_wait_for_a_job_that_is_deleted(nodes: Lab, policy: str) -> None:
    nodes.create("Job", job(parallelism=2, completions=2))
    nodes.settle()
    nodes.delete("Job", "web", propagationPolicy=policy)
    nodes.settle()
    held = [name for pod in nodes.all("Pod") for name in pod["metadata"].get("finalizers", ())]
    assert "batch.kubernetes.io/job-tracking" not in held
    nodes.advance(30)
    assert not nodes.exists("Job", "web")
    assert len(nodes.all("Pod")) == (2 if policy == "Orphan" else 0)


def test_running_pods_of_an_earlier_release_are_counted(nodes: Lab) -> None:
    nodes.create("Job", job())
    nodes.settle()
    (pod,) = nodes.all("Pod")

    def of_an_earlier_release(body: Body) -> Body:
        return {**body, "metadata": {**body["metadata"], "finalizers": []}}

    nodes.change("Pod", pod["metadata"]["name"], of_an_earlier_release)
    nodes.settle()
    nodes.advance(60)
    assert nodes.get("Job", "web")["status"]["succeeded"] == 1
    assert [each["metadata"]["uid"] for each in nodes.all("Pod")] == [pod["metadata"]["uid"]]


def test_a_finished_job_is_deleted_after_its_time_to_live(nodes: Lab) -> None:
    nodes.create("Job", job(ttlSecondsAfterFinished=100))
    nodes.settle()
    nodes.advance(60)
    assert nodes.exists("Job", "web")
    nodes.advance(100)
    assert not nodes.exists("Job", "web") and nodes.all("Pod") == []


def test_a_percentage_budget_counts_the_replicas_of_the_workload(nodes: Lab) -> None:
    nodes.create("Deployment", workload("web", replicas=4))
    selector = {"selector": {"matchLabels": LABELS}}
    body = {"metadata": {"name": "b"}, "spec": {**selector, "maxUnavailable": "50%"}}
    nodes.create("PodDisruptionBudget", body)
    nodes.settle()
    status = nodes.get("PodDisruptionBudget", "b")["status"]
    assert (status["expectedPods"], status["desiredHealthy"]) == (4, 2)
    assert status["disruptionsAllowed"] == 2


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Deployment", {"replicas": 2**31 - 1}),
        ("StatefulSet", {"replicas": 2**31 - 1, "podManagementPolicy": "Parallel"}),
        ("Job", {"parallelism": 2**31 - 1, "completions": 2**31 - 1}),
    ],
)
def test_endless_workload_leaves_the_loop_to_others(
    nodes: Lab, kind: str, spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "SLICE_SECONDS", 1.0)
    body = workload("web", **spec) if kind != "Job" else job(**spec)
    nodes.create(kind, body)
    nodes.run_slice()
    # a node that the endless pods cannot fill, however far the first slice came
    nodes.node("kept")
    kept = {"key": "kept", "effect": "NoSchedule"}
    nodes.change("Node", "kept", lambda node: {**node, "spec": {**node["spec"], "taints": [kept]}})
    nodes.pod("other", tolerations=[{"key": "kept", "operator": "Exists"}])
    nodes.run_slice()
    assert nodes.get("Pod", "other")["spec"].get("nodeName")
    # two slices, however fast the machine is
    assert 500 <= len(living(nodes)) <= 20_000


def test_full_cluster_gets_no_more_objects_of_controllers(
    nodes: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes.settle()

    def limit(objects: int) -> None:
        monkeypatch.setattr(settings, "CONFIG", replace(settings.CONFIG, cluster_objects=objects))
        room._counted.clear()

    most = room._count(nodes.cluster.pk) + 8
    limit(most)
    nodes.create("Deployment", workload("web", replicas=50))
    nodes.settle()
    # the Deployment, its ReplicaSet and an event about them take three of the eight
    assert len(living(nodes)) == 5
    (event,) = nodes.events("FailedCreate")
    assert f"a cluster of this site has at most {most:,}" in event["message"]
    assert event["involvedObject"]["kind"] == "ReplicaSet" and event["type"] == "Warning"
    nodes.pod("other")
    nodes.settle()
    assert nodes.get("Pod", "other")["spec"].get("nodeName")
    limit(10_000)
    nodes.advance(10)
    assert len(living(nodes)) == 51


def test_daemon_set_creates_a_part_of_its_pods_at_a_time(lab: Lab) -> None:
    store.write(
        lab.cluster,
        [Create(kinds.NODE, generate_node(f"n{n}", "zone-1", cpu="8")) for n in range(520)],
        actor=ACTOR,
    )
    lab.create("DaemonSet", workload("agent"))
    lab.settle()
    assert len(living(lab)) == 520
    written = Change.objects.filter(cluster=lab.cluster, kind__in=("DaemonSet", "Pod"))
    kinds_written = list(written.order_by("version").values_list("kind", flat=True))
    # the DaemonSet is created, then its first pods; its status ends the pass
    assert kinds_written.index("DaemonSet", 1) == 501


@pytest.mark.parametrize("kind", ["ReplicaSet", "DaemonSet", "StatefulSet"])
def test_a_pod_that_no_longer_matches_is_released(nodes: Lab, kind: str) -> None:
    given = {} if kind == "DaemonSet" else {"replicas": 1}
    nodes.create(kind, workload("web", **given))
    nodes.settle()
    name = living(nodes)[0]["metadata"]["name"]

    def relabel(body: Body) -> Body:
        return {**body, "metadata": {**body["metadata"], "labels": {"app": "other"}}}

    nodes.change("Pod", name, relabel)
    nodes.settle()
    assert "ownerReferences" not in nodes.get("Pod", name)["metadata"]


def test_a_stateful_set_adopts_its_orphans(nodes: Lab) -> None:
    nodes.create("StatefulSet", workload("web", replicas=2))
    nodes.settle()
    nodes.delete("StatefulSet", "web", propagationPolicy="Orphan")
    nodes.settle()
    before = {pod["metadata"]["uid"] for pod in living(nodes)}
    nodes.create("StatefulSet", workload("web", replicas=2))
    nodes.settle()
    assert {pod["metadata"]["uid"] for pod in living(nodes)} == before
    assert nodes.get("StatefulSet", "web")["status"]["readyReplicas"] == 2


def test_pods_of_a_stateful_set_name_their_revision(nodes: Lab) -> None:
    claim = {
        "metadata": {"name": "data", "annotations": {"a": "b"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    nodes.create("StatefulSet", workload("web", replicas=1, volumeClaimTemplates=[claim]))
    nodes.settle()
    metadata = nodes.get("Pod", "web-0")["metadata"]
    (revision,) = nodes.all("ControllerRevision")
    assert metadata["labels"]["controller-revision-hash"] == revision["metadata"]["name"]
    assert metadata["generateName"] == "web-"
    digest = revision["metadata"]["labels"]["controller.kubernetes.io/hash"]
    assert revision["metadata"]["name"] == f"web-{digest}"
    created = nodes.get("PersistentVolumeClaim", "data-web-0")
    assert created["metadata"]["annotations"]["a"] == "b"


def test_deleting_the_pods_by_hand_leaves_the_current_revision(nodes: Lab) -> None:
    nodes.create("StatefulSet", workload("web", replicas=1, updateStrategy={"type": "OnDelete"}))
    nodes.settle()
    before = nodes.get("StatefulSet", "web")["status"]["currentRevision"]
    set_image(nodes, "StatefulSet", "i:2")
    nodes.delete("Pod", "web-0", gracePeriodSeconds=0)
    nodes.settle()
    assert images(nodes) == ["i:2"]
    assert nodes.get("StatefulSet", "web")["status"]["currentRevision"] == before


def test_pods_of_a_daemon_set_have_the_generation_of_their_template(nodes: Lab) -> None:
    nodes.create("DaemonSet", workload("web"))
    nodes.settle()
    labels = living(nodes)[0]["metadata"]["labels"]
    assert labels["pod-template-generation"] == "1"


def test_a_job_without_labels_has_those_of_its_pods(nodes: Lab) -> None:
    body = workload("web", pod={"restartPolicy": "Never"})
    del body["spec"]["selector"]
    labels = nodes.create("Job", body)["metadata"]["labels"]
    assert labels["job-name"] == labels["batch.kubernetes.io/job-name"] == "web"
    assert labels["app"] == "web"


@pytest.mark.parametrize(
    ("when_deleted", "when_scaled", "after_scaling", "after_deletion"),
    [
        ("Retain", "Retain", 2, 2),
        ("Delete", "Retain", 2, 0),
        ("Retain", "Delete", 1, 1),
        ("Delete", "Delete", 1, 0),
    ],
)
def test_claims_are_kept_as_their_stateful_set_says(
    nodes: Lab, when_deleted: str, when_scaled: str, after_scaling: int, after_deletion: int
) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/x"},
    }
    for name in ("one", "two"):
        nodes.create("PersistentVolume", {"metadata": {"name": name}, "spec": volume})
    policy = {"whenDeleted": when_deleted, "whenScaled": when_scaled}
    spec = {"volumeClaimTemplates": [claim], "persistentVolumeClaimRetentionPolicy": policy}
    nodes.create("StatefulSet", workload("web", replicas=2, **spec))
    nodes.settle()
    assert len(nodes.all("PersistentVolumeClaim")) == 2
    nodes.change(
        "StatefulSet", "web", lambda body: {**body, "spec": {**body["spec"], "replicas": 1}}
    )
    for _ in range(3):
        nodes.advance(30)
    assert len(nodes.all("PersistentVolumeClaim")) == after_scaling
    nodes.delete("StatefulSet", "web", propagationPolicy="Background")
    for _ in range(3):
        nodes.advance(30)
    assert len(nodes.all("PersistentVolumeClaim")) == after_deletion


def test_refused_pods_are_a_condition_of_their_workload(lab: Lab) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    lab.create("ResourceQuota", quota)
    lab.create("Deployment", workload("web", replicas=2))
    lab.settle()
    (replica_set,) = lab.all("ReplicaSet")
    (condition,) = replica_set["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert "exceeded quota: q, requested: pods=1, used: pods=1" in condition["message"]
    copied = lab.condition("Deployment", "web", "ReplicaFailure")
    assert copied["message"] == condition["message"]
    lab.change("ResourceQuota", "q", lambda body: {**body, "spec": {"hard": {"pods": "5"}}})
    lab.advance(10)
    (replica_set,) = lab.all("ReplicaSet")
    assert replica_set["status"]["replicas"] == 2
    assert "conditions" not in replica_set["status"]
    types = [each["type"] for each in lab.get("Deployment", "web")["status"]["conditions"]]
    assert "ReplicaFailure" not in types


def test_a_daemon_on_a_deleted_node_is_garbage_and_not_deleted_by_its_daemon_set(lab: Lab) -> None:
    lab.node("n1")
    lab.node("n2")
    lab.create("DaemonSet", workload("web"))
    lab.settle()
    lab.delete("Node", "n1")
    lab.settle()
    assert len(living(lab)) == 2 and not lab.events("SuccessfulDelete")
    lab.advance(60)
    assert [pod["spec"]["nodeName"] for pod in living(lab)] == ["n2"]


def test_a_deployment_says_which_replica_set_it_has_created(lab: Lab) -> None:
    lab.create("Deployment", workload("web", replicas=1, pod={"priorityClassName": "none"}))
    lab.settle()
    (replica_set,) = lab.all("ReplicaSet")
    progressing = lab.condition("Deployment", "web", "Progressing")
    assert progressing["reason"] == "NewReplicaSetCreated"
    name = replica_set["metadata"]["name"]
    assert progressing["message"] == f'Created new replica set "{name}"'


def test_a_failed_daemon_is_named_before_it_is_replaced(lab: Lab) -> None:
    lab.node("n1")
    lab.create("DaemonSet", workload("web"))
    lab.settle()
    (failed,) = lab.all("Pod")
    name = failed["metadata"]["name"]

    def end(body: Body) -> Body:
        return {**body, "status": {**body["status"], "phase": "Failed"}}

    lab.change("Pod", name, end, part="status")
    lab.settle()
    (event,) = lab.events("FailedDaemonPod")
    assert event["message"] == (
        f"Found failed daemon pod default/{name} on node n1, will try to kill it"
    )
    assert [pod["metadata"]["name"] for pod in living(lab)] != [name]


def test_a_class_that_does_not_exist_is_refused_before_the_pod_has_a_name(lab: Lab) -> None:
    lab.create("ReplicaSet", workload("web", replicas=1, pod={"priorityClassName": "none"}))
    lab.settle()
    (event,) = lab.events("FailedCreate")
    assert event["message"] == (
        'Error creating: pods "web-" is forbidden: no PriorityClass with name none was found'
    )


def test_a_workload_of_a_namespace_that_ends_reports_no_refusals(lab: Lab) -> None:
    lab.node("n1")
    lab.create("Namespace", {"metadata": {"name": "old"}})
    lab.create("ReplicaSet", workload("web", replicas=1), "old")
    lab.settle()
    lab.delete("Namespace", "old")
    lab.settle()
    assert "conditions" not in lab.get("ReplicaSet", "web", "old")["status"]
    lab.advance(30)
    assert not lab.exists("Namespace", "old")
