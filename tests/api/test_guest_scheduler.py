"""An unmodified kube-scheduler as a guest: the requests that release 1.36 sends, in its order."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.administration.clusters.settings import change_settings
from apps.api.kubernetes import resources
from apps.cluster.models import Change, Cluster, Event, Pod
from apps.engine import opinions
from apps.engine.loop.engines import Engines
from apps.engine.metrics import site
from apps.engine.models import SchedulingDecision, SecondOpinion
from apps.engine.profiles.revisions import add_revision
from tests.api.asgi import request_stream
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, node, pod

pytestmark = pytest.mark.django_db(transaction=True)

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
USER_AGENT = "kube-scheduler/v0.0.0 (linux/amd64) kubernetes/$Format/scheduler"
#: What its informers watch.
WATCHED = (
    "/api/v1/namespaces",
    "/api/v1/nodes",
    "/api/v1/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
    "/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed",
    "/api/v1/replicationcontrollers",
    "/api/v1/services",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/statefulsets",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/resource.k8s.io/v1/deviceclasses",
    "/apis/resource.k8s.io/v1/resourceclaims",
    "/apis/resource.k8s.io/v1/resourceslices",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csistoragecapacities",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/volumeattachments",
)
WATCH_LIST = (
    "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"
    "&timeout=1s&timeoutSeconds=1&watch=true"
)
SERVES_DEVICES = resources.find("resource.k8s.io", "v1", "resourceclaims") is not None


class Guest(Kube):
    """The client of a kube-scheduler whose `contentType` is JSON."""

    def __init__(self, key: str, cluster: str) -> None:
        super().__init__(key, cluster)
        self.headers |= {"user-agent": USER_AGENT, "accept": "application/json"}

    def start_informers(self) -> dict[str, list[Any]]:
        """The events of all initial watches, by path."""

        async def watch(path: str) -> tuple[str, list[Any]]:
            address = f"{self.root}{path}{'&' if '?' in path else '?'}{WATCH_LIST}"
            status, _, body = await request_stream(address, self.headers)
            assert status == 200, (path, body)
            return path, [json.loads(line) for line in body.splitlines()]

        async def watch_all() -> list[tuple[str, list[Any]]]:
            return await asyncio.gather(
                *(watch(path) for path in WATCHED if SERVES_DEVICES or "resource.k8s" not in path)
            )

        return dict(asyncio.run(watch_all()))

    def bind(self, name: str, node_name: str) -> Any:
        uid = self.get(f"{PODS}/{name}").json()["metadata"]["uid"]
        metadata = {"name": name, "namespace": "default", "uid": uid}
        target = {"kind": "Node", "name": node_name}
        body = {"kind": "Binding", "apiVersion": "v1", "metadata": metadata, "target": target}
        return self.post(f"{PODS}/{name}/binding", body)

    def patch_status(self, name: str, status: dict[str, Any]) -> Any:
        return self.patch(f"{PODS}/{name}/status", {"status": status}, "strategic-merge-patch")

    def record_event(self, name: str, reason: str, action: str, note: str) -> Any:
        event = {
            "kind": "Event",
            "apiVersion": "events.k8s.io/v1",
            "metadata": {"name": f"{name}.{reason.lower()}", "namespace": "default"},
            "eventTime": "2026-11-21T06:07:39.839210Z",
            "reportingController": "default-scheduler",
            "reportingInstance": "default-scheduler-vm",
            "action": action,
            "reason": reason,
            "regarding": {"kind": "Pod", "namespace": "default", "name": name, "apiVersion": "v1"},
            "note": note,
            "type": "Normal",
            "deprecatedSource": {},
            "deprecatedFirstTimestamp": None,
            "deprecatedLastTimestamp": None,
        }
        return self.post(EVENTS, event)

    def lead(self) -> None:
        """Acquire the lease, and renew it."""
        name = "kube-scheduler"
        assert self.get(f"{LEASES}/{name}").status_code == 404
        spec = {
            "holderIdentity": "vm_1",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-11-21T06:07:38.000000Z",
            "renewTime": "2026-11-21T06:07:38.000000Z",
            "leaseTransitions": 0,
        }
        meta = {"name": name, "namespace": "kube-system"}
        created = self.post(LEASES, {"metadata": meta, "spec": spec})
        assert created.status_code == 201
        lease = created.json()
        lease["spec"]["renewTime"] = "2026-11-21T06:07:40.000000Z"
        assert self.put(f"{LEASES}/{name}", lease).status_code == 200
        assert self.put(f"{LEASES}/{name}", lease).status_code == 409


def condition(message: str) -> dict[str, Any]:
    return {
        "lastProbeTime": None,
        "lastTransitionTime": "2026-11-21T06:07:40Z",
        "message": message,
        "observedGeneration": 1,
        "reason": "Unschedulable",
        "status": "False",
        "type": "PodScheduled",
    }


def requesting(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    body = pod(name, **spec)
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return body


def test_a_guest_schedules_preempts_and_reports(key: str, cluster: Cluster) -> None:
    change_settings(cluster, {"scheduling": "external"})
    guest, engines = Guest(key, cluster.name), Engines()
    guest.post(NODES, node("n1"))
    guest.post(
        "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 1000}
    )
    guest.post(PODS, requesting("fits", "3"))
    guest.post(PODS, requesting("toobig", "64"))
    engines.run(cluster.pk)
    # our scheduler stands aside
    assert not Pod.objects.filter(cluster=cluster).exclude(node_name="").exists()
    assert not SchedulingDecision.objects.exists()

    assert guest.get("/apis/events.k8s.io/v1").status_code == 200
    found = guest.start_informers()
    for path, events in found.items():
        annotations = events[-1]["object"]["metadata"]["annotations"]
        assert annotations["k8s.io/initial-events-end"] == "true", path
    pods = next(events for path, events in found.items() if path.startswith("/api/v1/pods"))
    assert [event["object"]["metadata"]["name"] for event in pods[:-1]] == ["fits", "toobig"]
    guest.lead()

    assert guest.bind("fits", "n1").status_code == 201
    note = "Successfully assigned default/fits to n1"
    assert guest.record_event("fits", "Scheduled", "Binding", note).status_code == 201
    refused = condition("0/1 nodes are available: 1 Insufficient cpu.")
    assert guest.patch_status("toobig", {"conditions": [refused]}).status_code == 200
    engines.run(cluster.pk)
    # the kubelet goes on
    assert Pod.objects.get(name="fits").body["status"]["phase"] == "Running"

    guest.post(PODS, requesting("preemptor", "3", priorityClassName="high"))
    status = {"conditions": [refused], "nominatedNodeName": "n1"}
    assert guest.patch_status("preemptor", status).status_code == 200
    disrupted = {
        **condition("default-scheduler: preempting to accommodate a higher priority pod"),
        "reason": "PreemptionByScheduler",
        "status": "True",
        "type": "DisruptionTarget",
    }
    order = [{"type": "PodScheduled"}, {"type": "DisruptionTarget"}]
    victim = {"$setElementOrder/conditions": order, "conditions": [disrupted]}
    assert guest.patch_status("fits", victim).status_code == 200
    options = {"kind": "DeleteOptions", "apiVersion": "v1"}
    assert guest.delete(f"{PODS}/fits", options).status_code == 200
    assert guest.record_event("fits", "Preempted", "Preempting", "Preempted").status_code == 201
    assert guest.bind("preemptor", "n1").status_code == 201
    assert Event.objects.filter(cluster=cluster, body__reason="Preempted").exists()

    # our scheduler takes over where the guest stops
    change_settings(cluster, {"scheduling": "built-in"})
    engines.run(cluster.pk)
    assert {row.name for row in SchedulingDecision.objects.all()} == {"toobig"}


def test_a_guest_that_samples_need_not_have_seen_the_node_with_more_points(
    key: str, cluster: Cluster
) -> None:
    guest, engines = Guest(key, cluster.name), Engines()
    for number in range(104):
        guest.post(NODES, node(f"n{number}"))
    change_settings(cluster, {"scheduling": "external"})
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 1,
    }
    add_revision(cluster, json.dumps(configuration), user="alice")
    for name in ("a", "b"):
        guest.post(PODS, requesting(name, "1"))
        guest.bind(name, "n0")
        engines.run(cluster.pk)
    engines.close()
    (opinion,) = SecondOpinion.objects.filter(name="b")
    assert opinion.verdict == "not-sampled"
    assert "has more points than n0, but the client need not have sampled it" in opinion.message


def test_each_binding_of_a_guest_gets_a_second_opinion(
    key: str, cluster: Cluster, client: Client, user: User, caplog: Any
) -> None:
    guest, engines = Guest(key, cluster.name), Engines()
    for name in ("n1", "n2"):
        guest.post(NODES, node(name))
    change_settings(cluster, {"scheduling": "external"})
    guest.post(PODS, requesting("a", "2"))
    engines.run(cluster.pk)
    # both nodes are empty: a draw among ties is an agreement
    guest.bind("a", "n2")
    engines.run(cluster.pk)
    # n1 has more room: the guest should have taken it
    guest.post(PODS, requesting("b", "1"))
    guest.bind("b", "n2")
    # n2 has room for one more CPU, but not for two
    guest.post(PODS, requesting("c", "2"))
    guest.bind("c", "n2")
    # no node has so much
    guest.post(PODS, requesting("d", "64"))
    guest.bind("d", "n1")
    # another scheduler's pods are none of our business
    guest.post(PODS, requesting("e", "1", schedulerName="other"))
    guest.bind("e", "n1")
    before = Cluster.objects.get(pk=cluster.pk).resource_version
    cold = Engines()
    with caplog.at_level("WARNING"):
        cold.run(cluster.pk)
    assert "alice bound pod default/b to n2, a second opinion disagrees: n1 has" in caplog.text
    assert caplog.text.count("a second opinion") == 1
    engines.close()
    assert not SchedulingDecision.objects.exists()
    writers = Change.objects.filter(cluster=cluster, version__gt=before).values_list("user")
    assert not {user for (user,) in writers} & {"kube-scheduler"}

    found = {row.name: row for row in SecondOpinion.objects.all()}
    assert {name: row.verdict for name, row in found.items()} == {
        "a": found["a"].verdict,
        "b": "other-node",
        "c": "node-rejected",
        "d": "unschedulable",
    }
    assert found["a"].verdict in ("same-node", "tie")
    assert (found["b"].node, found["b"].guest_node, found["b"].user) == ("n1", "n2", "alice")
    assert found["b"].message.startswith("n1 has ")
    assert found["c"].message == "n2 is rejected by NodeResourcesFit: Insufficient cpu."
    assert found["d"].message == "0/2 nodes are available: 2 Insufficient cpu."

    control = client.get("/api/v1/clusters/c1/opinions/agreement", headers=guest.headers).json()
    assert (control["percent"], control["agreed"], control["disagreed"]) == (25.0, 1, 3)
    listed = client.get("/api/v1/clusters/c1/opinions?verdict=other-node", headers=guest.headers)
    assert [each["name"] for each in listed.json()["results"]] == ["b"]
    assert listed.json()["results"][0]["comparison"]["node"] == "n1"
    wrong = client.get("/api/v1/clusters/c1/opinions?verdict=odd", headers=guest.headers)
    assert wrong.status_code == 400
    client.force_login(user)
    page = client.get("/clusters/c1/opinions").content.decode()
    assert "25.0 %" in page
    assert "n2 is rejected by NodeResourcesFit" in page and "Points by plugin" in page
    overview = " ".join(client.get("/clusters/c1").content.decode().split())
    assert "disagrees with this site" in overview and "3 of 4 compared" in overview
    exposed = "\n".join(str(each) for each in site.families([cluster_now(cluster)], None))
    assert "'verdict': 'other-node'}, value=1" in exposed
    opinions.trim(cluster, None, 2)
    assert {row.name for row in SecondOpinion.objects.all()} == {"c", "d"}


def review(cluster: Cluster) -> dict[str, SecondOpinion]:
    engines = Engines()
    engines.run(cluster.pk)
    engines.close()
    return {row.name: row for row in SecondOpinion.objects.all()}


def test_the_order_of_decisions_explains_bindings(key: str, cluster: Cluster) -> None:
    guest = Guest(key, cluster.name)
    for name in ("n1", "n2"):
        guest.post(NODES, node(name))
    change_settings(cluster, {"scheduling": "external"})
    # 2 CPUs remain on n1, 4 on n2
    guest.post(PODS, requesting("first", "2"))
    guest.bind("first", "n1")
    for name, cpu in (("a", "3"), ("b", "1"), ("c", "1")):
        guest.post(PODS, requesting(name, cpu))
    # the guest decided a, b, c, and bound c, b, a: b counts a on n2, which is not bound yet
    guest.bind("c", "n2")
    guest.bind("b", "n1")
    guest.bind("a", "n2")
    found = review(cluster)
    assert found["b"].verdict == "order"
    assert found["b"].message == (
        "Decided before default/c on n2, bound earlier and after default/a on n2, bound later."
    )
    assert "other-node" not in {row.verdict for row in found.values()}
    assert opinions.read_agreement(cluster).percent == 100


def test_an_earlier_state_explains_a_binding(key: str, cluster: Cluster) -> None:
    guest = Guest(key, cluster.name)
    for name in ("n1", "n2"):
        guest.post(NODES, node(name))
    change_settings(cluster, {"scheduling": "external"})
    guest.post(PODS, requesting("first", "2"))
    guest.bind("first", "n1")
    guest.post(PODS, requesting("late", "1"))
    # n2 was the better node until it was cordoned, which the guest had not read
    cordoned = {"spec": {"unschedulable": True}}
    assert guest.patch(f"{NODES}/n2", cordoned, "merge-patch").status_code == 200
    guest.bind("late", "n2")
    # what was bound before the pod existed is known to who has read the pod
    guest.post(PODS, requesting("wrong", "1"))
    guest.bind("wrong", "n2")
    found = review(cluster)
    assert found["late"].verdict == "moved-on"
    assert "before other changes" in found["late"].message
    assert found["wrong"].verdict == "node-rejected"


def test_a_pod_is_reviewed_before_its_volume_was_chosen(key: str, cluster: Cluster) -> None:
    guest = Guest(key, cluster.name)
    for name in ("n1", "n2"):
        guest.post(NODES, node(name))
    change_settings(cluster, {"scheduling": "external"})
    waits = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": "csi.example"}
    guest.post("/apis/storage.k8s.io/v1/storageclasses", {"metadata": {"name": "waits"}, **waits})
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    for name in ("good", "bad"):
        storage = {"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "waits"}
        spec = {"accessModes": ["ReadWriteOnce"], **storage}
        assert guest.post(claims, {"metadata": {"name": name}, "spec": spec}).status_code == 201
    guest.post(PODS, requesting("first", "2"))
    guest.bind("first", "n1")
    engines = Engines()
    for name, chosen in (("good", "n2"), ("bad", "n1")):
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
        guest.post(PODS, requesting(name, "1", volumes=[volume]))
        selected = {"annotations": {"volume.kubernetes.io/selected-node": chosen}}
        patched = guest.patch(f"{claims}/{name}", {"metadata": selected}, "merge-patch")
        assert patched.status_code == 200
        # the volume is provisioned there: afterwards, no other node fits
        engines.run(cluster.pk)
        assert guest.get(f"{claims}/{name}").json()["spec"]["volumeName"]
        guest.bind(name, chosen)
        engines.run(cluster.pk)
    engines.close()
    found = {row.name: row for row in SecondOpinion.objects.all()}
    assert found["good"].verdict == "same-node"
    assert (found["bad"].verdict, found["bad"].node) == ("other-node", "n2")


def cluster_now(cluster: Cluster) -> Cluster:
    return Cluster.objects.get(pk=cluster.pk)
