"""Groups of pods through the API: they are served, and scheduled, behind their feature gates."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.cluster.models import Cluster, DataObject, Pod
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.engine.profiles import revisions
from apps.studies import rebuilding
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, node, pod

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = "/apis/scheduling.k8s.io/v1alpha2"
GROUPS = f"{ROOT}/namespaces/default/podgroups"
GATES = "\nfeatureGates: {GenericWorkload: true, GangScheduling: true}\n"
BOTH_GATES = GATES.replace(
    "}", ", TopologyAwareWorkloadScheduling: true, WorkloadAwarePreemption: true}"
)


@pytest.fixture
def gang_cluster(cluster: Cluster) -> Cluster:
    revisions.add_revision(cluster, revisions.BUILT_IN + GATES, user="alice")
    advance(cluster, 0)
    return cluster


def advance(cluster: Cluster, seconds: float) -> None:
    later = cluster.now() + timedelta(seconds=seconds)
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=later)
    cluster.refresh_from_db()


def group(name: str, **policy: Any) -> dict[str, Any]:
    spec = {"schedulingPolicy": policy}
    return {"metadata": {"name": name}, "spec": spec}


def member(name: str, of: str, cpu: str = "1") -> dict[str, Any]:
    body = pod(name, schedulingGroup={"podGroupName": of})
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return body


def test_without_the_gate_there_are_no_groups(key: str, cluster: Cluster) -> None:
    client, engines = Kube(key, cluster.name), Engines()
    assert client.get(GROUPS).status_code == 404
    versions = client.get("/apis/scheduling.k8s.io").json()["versions"]
    assert [each["version"] for each in versions] == ["v1"]
    client.post(NODES, node("n1"))
    client.post(PODS, member("alone", "nothing"))
    engines.run(cluster.pk)
    assert Pod.objects.get(name="alone").node_name == "n1"


def test_groups_are_served_and_checked(key: str, gang_cluster: Cluster) -> None:
    client = Kube(key, gang_cluster.name)
    versions = client.get("/apis/scheduling.k8s.io").json()["versions"]
    assert [each["version"] for each in versions] == ["v1", "v1alpha2"]
    names = [each["name"] for each in client.get(ROOT).json()["resources"]]
    assert names == ["podgroups", "podgroups/status", "workloads"]
    assert client.get(f"/openapi/v3/{ROOT.strip('/')}").status_code == 200

    refused = client.post(GROUPS, group("g", gang={"minCount": 0}))
    assert refused.status_code == 422
    assert refused.json()["details"]["causes"][0]["field"] == "spec.schedulingPolicy.gang.minCount"
    assert client.post(GROUPS, group("g")).status_code == 422
    assert client.post(GROUPS, group("g", basic={}, gang={"minCount": 1})).status_code == 422
    assert client.post(GROUPS, group("g", gang={"minCount": 2})).status_code == 201
    changed = group("g", gang={"minCount": 3})
    assert client.patch(f"{GROUPS}/g", changed, "merge-patch").status_code == 422

    template = {"name": "workers", "schedulingPolicy": {"basic": {}}}
    workload = {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": [template]}}
    workloads = f"{ROOT}/namespaces/default/workloads"
    assert client.post(workloads, workload).status_code == 201
    created = group("of-template", basic={})
    of = {"workloadName": "w", "podGroupTemplateName": "workers"}
    created["spec"]["podGroupTemplateRef"] = {"workload": of}
    assert client.post(GROUPS, created).status_code == 201
    of["podGroupTemplateName"] = "drivers"
    refused = client.post(GROUPS, created)
    assert refused.status_code == 403
    missing = 'PodGroup rejected: PodGroupTemplate "drivers" not found in Workload "w"'
    assert refused.json()["message"].endswith(missing)
    workload["spec"] = {"podGroupTemplates": [template, template]}
    assert client.post(workloads, workload).status_code == 422


def test_a_gang_is_bound_as_a_whole(
    key: str, gang_cluster: Cluster, client: Client, user: User
) -> None:
    kube, engines, page = Kube(key, gang_cluster.name), Engines(), client
    page.force_login(user)
    kube.post(NODES, node("n1"))
    kube.post(GROUPS, group("train", gang={"minCount": 3}))
    for name in ("m0", "m1"):
        kube.post(PODS, member(name, "train", "2"))
    engines.run(gang_cluster.pk)
    # two of three exist: none is tried
    control = Client(headers=kube.headers)
    explanation = f"/api/v1/clusters/{gang_cluster.name}/pod-groups/default/train/explanation"
    explained = control.get(explanation).json()
    assert explained["summary"] == "The gang needs 3 pods and has 2: none of them is tried yet."
    assert {each["standing"] for each in explained["members"]} == {"held"}
    assert control.get(explanation.replace("train", "none")).status_code == 404
    assert not SchedulingDecision.objects.exists()

    kube.post(PODS, member("m2", "train", "2"))
    engines.run(gang_cluster.pk)
    # n1 has room for two of them: none is bound
    assert not Pod.objects.exclude(node_name="").exists()
    decisions = list(SchedulingDecision.objects.order_by("sequence"))
    assert [(each.name, each.result, each.sequence) for each in decisions] == [
        ("m2", "unschedulable", 0),
        ("m0", "unschedulable", 1),
        ("m1", "unschedulable", 2),
    ]
    condition = Pod.objects.get(name="m2").body["status"]["conditions"][0]
    assert condition["message"].startswith("pod group is unschedulable, waiting for minCount pods")
    shown = kube.get(GROUPS, headers={"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"})
    assert shown.json()["rows"][0]["cells"][:4] == ["train", "Gang", "<none>", "Unschedulable"]
    (stored,) = kube.get(f"{GROUPS}/train").json()["status"]["conditions"]
    assert (stored["status"], stored["reason"]) == ("False", "Unschedulable")
    # groups have no generation
    assert "observedGeneration" not in stored

    explained = control.get(explanation).json()
    assert explained["summary"].startswith("2 of 3 pods have a node, and the gang needs 3. m1 fits")
    assert [(each["name"], each["standing"], each["node"]) for each in explained["members"]] == [
        ("m0", "fits", "n1"),
        ("m1", "fails", ""),
        ("m2", "fits", "n1"),
    ]
    where = "/clusters/c1/objects/podgroups.scheduling.k8s.io/default/train"
    shown = page.get(where).content.decode()
    assert "m1 fits nowhere: 0/1 nodes are available" in shown
    assert "2 of 3 members have a node" in shown and "Attempts with the group" in shown
    failing = explained["members"][1]
    assert [(each["plugin"], each["nodes"]) for each in failing["refusals"]] == [
        ("NodeResourcesFit", ["n1"])
    ]
    assert sorted(failing["after"]) == ["m0", "m2"]
    (first,) = explained["attempts"]
    assert (first["result"], first["placed"], first["tried"]) == ("unschedulable", 2, 3)

    # each member saw those before it on their nodes, and so does the rebuilt state
    for row in decisions:
        assert rebuilding.compare(read(row).decision, rebuilding.recompute(row)) == []

    # retried after its backoff, not without a pause as upstream
    engines.run(gang_cluster.pk)
    assert SchedulingDecision.objects.count() == 3
    kube.post(NODES, node("n2"))
    advance(gang_cluster, 10)
    engines.run(gang_cluster.pk)
    placed = dict(Pod.objects.values_list("name", "node_name"))
    assert sorted(placed.values()) == ["n1", "n1", "n2"] or sorted(placed.values()) == [
        "n1",
        "n2",
        "n2",
    ]
    for row in SchedulingDecision.objects.filter(result="scheduled"):
        assert rebuilding.compare(read(row).decision, rebuilding.recompute(row)) == []
    (stored,) = kube.get(f"{GROUPS}/train").json()["status"]["conditions"]
    assert (stored["status"], stored["reason"]) == ("True", "Scheduled")

    # the attempts are in the ledger: the first one is explained as it was
    last, again = control.get(explanation).json()["attempts"]
    assert again == first and (last["result"], last["placed"]) == ("scheduled", 3)
    past = control.get(explanation, {"group_attempt": first["id"]}).json()
    assert past["summary"].startswith("2 of 3 pods had a node, and the gang needs 3. m1 fitted")
    assert [(each["name"], each["standing"], each["node"]) for each in past["members"]] == [
        ("m2", "fits", "n1"),
        ("m0", "fits", "n1"),
        ("m1", "fails", ""),
    ]
    assert {each["decision"] for each in past["members"]} == {row.pk for row in decisions}
    shown = page.get(where, {"group_attempt": first["id"]}).content.decode()
    assert "m1 fitted nowhere" in shown and "Show the group as it is now" in shown
    assert control.get(explanation, {"group_attempt": last["id"] + 1}).status_code == 404
    assert control.get(explanation, {"group_attempt": "x"}).status_code == 400
    assert page.get(where, {"group_attempt": last["id"] + 1}).status_code == 404

    # a deleted group stays until its pods are gone
    kube.delete(f"{GROUPS}/train")
    engines.run(gang_cluster.pk)
    assert kube.get(f"{GROUPS}/train").json()["metadata"]["deletionTimestamp"]
    for name in placed:
        kube.delete(f"{PODS}/{name}", {"gracePeriodSeconds": 0})
    engines.run(gang_cluster.pk)
    assert kube.get(f"{GROUPS}/train").status_code == 404


def test_fields_of_groups_follow_their_gates(key: str, cluster: Cluster) -> None:
    client = Kube(key, cluster.name)
    revisions.add_revision(cluster, revisions.BUILT_IN + GATES, user="alice")
    fields = {
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "disruptionMode": "PodGroup",
        "priorityClassName": "high",
    }
    plain = group("plain", basic={})
    plain["spec"] |= fields
    stored = client.post(GROUPS, plain)
    assert stored.status_code == 201
    kept = {"disruptionMode": "Pod", "podGroupTemplateRef": None}
    assert stored.json()["spec"] == {"schedulingPolicy": {"basic": {}}, **kept}
    # who sent them owns them, as on the API server
    (entry,) = stored.json()["metadata"]["managedFields"]
    assert {"f:disruptionMode", "f:schedulingConstraints"} < entry["fieldsV1"]["f:spec"].keys()

    revisions.add_revision(cluster, revisions.BUILT_IN + BOTH_GATES, user="alice")
    # the stored group stays as it is
    assert client.patch(f"{GROUPS}/plain", {"spec": fields}, "merge-patch").status_code == 422
    full = group("full", gang={"minCount": 2})
    full["spec"] |= fields
    refused = client.post(GROUPS, full)
    assert refused.status_code == 403
    assert refused.json()["message"].endswith("no PriorityClass with name high was found")
    high = {"metadata": {"name": "high"}, "value": 1000}
    client.post("/apis/scheduling.k8s.io/v1/priorityclasses", high)
    stored = client.post(GROUPS, full)
    assert stored.json()["spec"] == {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        **fields,
        "podGroupTemplateRef": None,
        "priority": 1000,
    }
    for change, field in (
        ({"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}}, "Constraints"),
        ({"schedulingConstraints": {"topology": [{"key": "no label"}]}}, "topology[0].key"),
        ({"disruptionMode": "All"}, "spec.disruptionMode"),
    ):
        wrong = group("wrong", basic={})
        wrong["spec"] |= change
        refused = client.post(GROUPS, wrong)
        assert refused.status_code == 422, change
        assert field in refused.json()["details"]["causes"][0]["field"]


def test_a_changed_spec_is_refused_field_by_field(key: str, gang_cluster: Cluster) -> None:
    client = Kube(key, gang_cluster.name)
    workloads = f"{ROOT}/namespaces/default/workloads"
    template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}}
    workload = {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": [template]}}
    client.post(workloads, workload)
    client.post(GROUPS, group("g", gang={"minCount": 2}))
    fixed = "Invalid value: null: field is immutable"
    for path, change, causes in (
        (f"{workloads}/w", {"controllerRef": {"kind": "x", "name": "y"}}, [fixed]),
        (f"{workloads}/w", {"podGroupTemplates": []}, [fixed, "Required value"]),
        (f"{GROUPS}/g", {"schedulingPolicy": {"gang": {"minCount": -1}}}, [fixed]),
    ):
        refused = client.patch(path, {"spec": change}, "merge-patch").json()
        assert [each["message"] for each in refused["details"]["causes"]] == causes
        assert refused["details"]["causes"][0]["field"] == f"spec.{next(iter(change))}"


def test_the_disruption_mode_of_groups_and_templates_is_pod_by_default(
    key: str, cluster: Cluster
) -> None:
    client = Kube(key, cluster.name)
    workloads = f"{ROOT}/namespaces/default/workloads"
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    templates = [{"name": "a", **policy}, {"name": "b", **policy, "disruptionMode": "PodGroup"}]
    workload = {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": templates}}
    revisions.add_revision(cluster, revisions.BUILT_IN + GATES, user="alice")
    old = client.post(GROUPS, group("old", basic={})).json()
    assert old["spec"]["disruptionMode"] == "Pod"
    assert old["status"] == {}
    # as stored by earlier versions
    body = {**old, "spec": {"schedulingPolicy": {"basic": {}}}}
    DataObject.objects.filter(name="old").update(body=body)

    revisions.add_revision(cluster, revisions.BUILT_IN + BOTH_GATES, user="alice")
    for name, modes in (("g", {}), ("whole", {"disruptionMode": "PodGroup"})):
        manifest = group(name, basic={})
        manifest["spec"] |= modes
        stored = client.post(GROUPS, manifest).json()
        assert stored["spec"]["disruptionMode"] == modes.get("disruptionMode", "Pod")
    # a manifest without the mode can be put again, as kubectl replace does
    manifest = group("g", basic={})
    manifest["spec"]["priority"] = 0
    assert client.put(f"{GROUPS}/g", manifest).status_code == 200
    labels = {"metadata": {"labels": {"a": "b"}}}
    assert client.patch(f"{GROUPS}/old", labels, "merge-patch").status_code == 200
    stored = client.post(workloads, workload).json()
    modes = [each["disruptionMode"] for each in stored["spec"]["podGroupTemplates"]]
    assert modes == ["Pod", "PodGroup"]
    assert client.put(f"{workloads}/w", workload).status_code == 200


def test_every_reference_in_the_documents_of_the_api_leads_to_its_schema(
    key: str, gang_cluster: Cluster
) -> None:
    """Otherwise kubectl explain shows a field without the fields below it."""
    client = Kube(key, gang_cluster.name)
    index = json.loads(client.get("/openapi/v3").content)["paths"]
    assert "apis/scheduling.k8s.io/v1alpha2" in index
    for place in index.values():
        document = client.get(place["serverRelativeURL"].removeprefix(client.root)).content.decode()
        schemas = json.loads(document)["components"].get("schemas", {})
        references = set(re.findall(r'"\$ref": ?"([^"]+)"', document))
        assert references == {f"#/components/schemas/{name}" for name in map(last, references)}
        assert set(map(last, references)) <= set(schemas)


def last(reference: str) -> str:
    return reference.rpartition("/")[2]


def rack(name: str, cpu: str, value: str) -> dict[str, Any]:
    body = node(name)
    body["metadata"]["labels"] = {"rack": value}
    body["status"]["allocatable"]["cpu"] = body["status"]["capacity"]["cpu"] = cpu
    return body


def test_the_page_of_a_group_shows_domains_and_victims(
    key: str, cluster: Cluster, client: Client, user: User
) -> None:
    revisions.add_revision(cluster, revisions.BUILT_IN + BOTH_GATES, user="alice")
    advance(cluster, 0)
    kube, engines, page = Kube(key, cluster.name), Engines(), client
    page.force_login(user)
    control = Client(headers=kube.headers)
    for number, (cpu, value) in enumerate((("2", "a"), ("3", "b"), ("3", "b"), ("8", "c"))):
        kube.post(NODES, rack(f"n{number}", cpu, value))
    train = group("train", gang={"minCount": 2})
    train["spec"]["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
    assert kube.post(GROUPS, train).status_code == 201
    for name in ("m0", "m1"):
        kube.post(PODS, member(name, "train", "2"))
    engines.run(cluster.pk)
    where = f"/api/v1/clusters/{cluster.name}/pod-groups/default/train/explanation"
    explained = control.get(where).json()
    found = {each["name"]: (each["fits"], each["chosen"]) for each in explained["placements"]}
    assert found == {"a": (False, False), "b": (True, True), "c": (True, False)}
    assert explained["placements"][0]["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert set(Pod.objects.values_list("node_name", flat=True)) == {"n1", "n2"}
    shown = page.get("/clusters/c1/objects/podgroups.scheduling.k8s.io/default/train")
    assert "Topology domains" in shown.content.decode()
    past = control.get(where, {"group_attempt": explained["attempts"][0]["id"]}).json()
    assert "The group was placed in b." in past["summary"]

    # a group of a higher priority evicts all of a group at once
    kube.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "p"}, "value": 9})
    old = group("old", basic={})
    old["spec"]["disruptionMode"] = "PodGroup"
    kube.post(GROUPS, old)
    for name in ("o0", "o1"):
        kube.post(PODS, member(name, "old", "4"))
    engines.run(cluster.pk)
    urgent = group("urgent", gang={"minCount": 1})
    urgent["spec"]["priorityClassName"] = "p"
    kube.post(GROUPS, urgent)
    kube.post(PODS, member("u0", "urgent", "4"))
    engines.run(cluster.pk)
    explained = control.get(where.replace("train", "urgent")).json()
    assert [(each["name"], each["group"]) for each in explained["victims"]] == [
        ("o0", "old"),
        ("o1", "old"),
    ]
    shown = page.get("/clusters/c1/objects/podgroups.scheduling.k8s.io/default/urgent")
    assert "With all pods of old" in shown.content.decode()
    uid = kube.get(f"{GROUPS}/urgent").json()["metadata"]["uid"]
    notes = [each["note"] for each in kube.get("/apis/events.k8s.io/v1/events").json()["items"]]
    assert notes.count(f"Preempted by podgroup {uid} on node cluster") == 2
    # each decision is made again, those of the group with a constraint in its domain
    for row in SchedulingDecision.objects.all():
        assert rebuilding.compare(read(row).decision, rebuilding.recompute(row)) == []


def test_a_gang_that_waits_survives_the_process_of_its_scheduler(
    key: str, gang_cluster: Cluster
) -> None:
    """One member has to come, or room for it: a new process knows the other members."""
    kube = Kube(key, gang_cluster.name)
    kube.post(NODES, node("n1"))
    kube.post(GROUPS, group("late", gang={"minCount": 2}))
    kube.post(PODS, member("l0", "late"))
    Engines().run(gang_cluster.pk)
    kube.post(GROUPS, group("large", gang={"minCount": 2}))
    for name in ("w0", "w1"):
        kube.post(PODS, member(name, "large", "3"))
    Engines().run(gang_cluster.pk)
    assert set(Pod.objects.values_list("node_name", flat=True)) == {""}
    kube.post(PODS, member("l1", "late"))
    Engines().run(gang_cluster.pk)
    placed = Pod.objects.exclude(node_name="").values_list("name", flat=True)
    assert set(placed) == {"l0", "l1"}
    kube.post(NODES, node("n2"))
    kube.post(NODES, node("n3"))
    advance(gang_cluster, 30)
    Engines().run(gang_cluster.pk)
    assert not Pod.objects.filter(node_name="").exists()
