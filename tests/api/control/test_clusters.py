"""Clusters in the control-plane API."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from django.db import OperationalError
from django.test import RequestFactory
from pytest_django import DjangoAssertNumQueries

from apps.api.control.errors import handle
from apps.cluster.models import Cluster, Node, Pod
from tests.api.control.conftest import Api

pytestmark = pytest.mark.django_db


def test_a_cluster_is_created_with_its_nodes(api: Api) -> None:
    body = {"name": "lab", "nodes": 6, "zones": 3, "tie_break": "first-name", "seed": 7}
    answer = api.post("/clusters", {**body, "paused": True})
    assert answer.status_code == 201
    created = answer.json()
    assert (created["name"], created["paused"], created["seed"]) == ("lab", True, 7)
    assert created["kubernetes_api"].endswith("/k8s/lab")
    assert created == api.get("/clusters/lab").json()
    zones = Node.objects.filter(cluster__name="lab").values_list("labels", flat=True)
    assert sorted(labels["topology.kubernetes.io/zone"] for labels in zones) == [
        *["zone-1"] * 2,
        *["zone-2"] * 2,
        *["zone-3"] * 2,
    ]


def test_a_misspelt_field_is_named_and_creates_nothing(api: Api) -> None:
    refused = api.post("/clusters", {"name": "lab", "nods": 3})
    assert refused.status_code == 400
    assert refused.json()["causes"][0]["field"] == "nods"
    assert "known fields are" in refused.json()["message"]
    assert not Cluster.objects.filter(name="lab").exists()
    token = api.post("/tokens", {"name": "ci", "expire_days": 1})
    assert token.status_code == 400
    assert token.json()["causes"][0]["field"] == "expire_days"


def test_generated_nodes_look_like_those_of_a_cloud_provider(api: Api) -> None:
    body = {"name": "lab", "nodes": 1, "beta_node_labels": True, "control_plane": True}
    assert api.post("/clusters", body).status_code == 201
    node = Node.objects.get(cluster__name="lab", name="node-0").body
    assert node["metadata"]["labels"] == {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": "mock-8-32Gi",
        "beta.kubernetes.io/os": "linux",
        "failure-domain.beta.kubernetes.io/region": "region-1",
        "failure-domain.beta.kubernetes.io/zone": "zone-1",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "node-0",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "mock-8-32Gi",
        "topology.kubernetes.io/region": "region-1",
        "topology.kubernetes.io/zone": "zone-1",
    }
    status = node["status"]
    assert status["nodeInfo"]["kubeletVersion"] == "v1.36.2"
    assert {each["type"] for each in status["addresses"]} == {"InternalIP", "Hostname"}
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert all(each["lastHeartbeatTime"] for each in status["conditions"])
    mirror = Pod.objects.get(cluster__name="lab").body
    assert mirror["metadata"]["namespace"] == "kube-system"
    assert mirror["metadata"]["name"] == "kube-scheduler-control-plane"
    assert "kubernetes.io/config.mirror" in mirror["metadata"]["annotations"]
    (taint,) = Node.objects.get(name="control-plane").body["spec"]["taints"]
    assert taint["key"] == "node-role.kubernetes.io/control-plane"


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 400, "name"),
        ({"name": "Bad Name"}, 422, "name"),
        ({"name": "lab", "nodes": -1}, 422, "nodes"),
        ({"name": "lab", "nodes": 10**9}, 422, "nodes"),
        ({"name": "lab", "nodes": "many"}, 400, "nodes"),
        ({"name": "lab", "zones": 0}, 422, "zones"),
        ({"name": "lab", "tie_break": "dice"}, 400, "tie_break"),
        ({"name": "lab", "seed": 2**70}, 400, "seed"),
    ],
)
def test_an_invalid_request_is_an_error_with_the_field(
    api: Api, body: dict[str, Any], status: int, field: str
) -> None:
    answer = api.post("/clusters", body)
    assert answer.status_code == status
    assert field in [cause["field"] for cause in answer.json()["causes"]]
    assert not Cluster.objects.filter(name="lab").exists()


def test_a_name_in_use_and_invalid_json_are_errors(api: Api, cluster: Cluster) -> None:
    assert api.post("/clusters", {"name": cluster.name}).status_code == 409
    assert api.post("/clusters", "{").status_code == 400
    assert api.post("/clusters", "x", content_type="text/plain").status_code == 415


def test_clusters_are_listed_and_read(
    api: Api, cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    # the token with its user, the clusters
    api.get("/clusters")  # notes when the token was used
    with django_assert_num_queries(2):
        assert [found["name"] for found in api.get("/clusters").json()] == ["c1"]
    assert api.get("/clusters/c1").json()["paused"] is False
    missing = api.get("/clusters/none")
    assert (missing.status_code, missing.json()["reason"]) == (404, "NotFound")


def test_a_cluster_is_paused_and_resumed(api: Api, cluster: Cluster) -> None:
    assert api.post("/clusters/c1/pause").json()["paused"] is True
    assert Cluster.objects.get(name="c1").paused
    assert api.post("/clusters/c1/resume").json()["paused"] is False
    assert not Cluster.objects.get(name="c1").paused


def test_settings_are_changed_one_by_one(api: Api, cluster: Cluster) -> None:
    seconds = "pod_max_in_unschedulable_pods_seconds"
    assert api.get("/clusters/c1").json()[seconds] == 300
    changed = api.patch("/clusters/c1", {seconds: 60}).json()
    assert (changed[seconds], changed["kubelet"]) == (60, True)
    assert api.patch("/clusters/c1", {"kubelet": False}).json()[seconds] == 60
    assert api.get("/clusters/c1").json()["kubelet"] is False
    kept = {"ledger_max_days": 3, "changelog_covers_ledger": False}
    assert kept.items() <= api.patch("/clusters/c1", kept).json().items()


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"pod_max_in_unschedulable_pods_seconds": 0}, 422, "pod_max_in_unschedulable"),
        ({"pod_max_in_unschedulable_pods_seconds": 2**40}, 422, "pod_max_in_unschedulable"),
        ({"pod_max_in_unschedulable_pods_seconds": "long"}, 400, "pod_max_in_unschedulable"),
        ({"kubelet": None}, 400, "kubelet"),
        ({"event_ttl_seconds": -1}, 422, "event_ttl_seconds"),
        ({"admission_plugins": []}, 422, "must map names of plugins"),
        ({"admission_plugins": {"Magic": {}}}, 422, "admission_plugins.Magic: Unsupported value"),
        ({"admission_plugins": {"DedicatedNodes": {"groups": 1}}}, 422, "DedicatedNodes.groups"),
        (
            {"admission_plugins": {"PodTolerationRestriction": {"default": [{"operator": "X"}]}}},
            422,
            "PodTolerationRestriction.default[0].operator",
        ),
        ({"seed": 7, "kubelet": False}, 400, "seed: not a setting that can be changed"),
        ([], 400, "dictionary"),
    ],
)
def test_an_invalid_setting_is_an_error_and_changes_nothing(
    api: Api, cluster: Cluster, body: Any, status: int, told: str
) -> None:
    answer = api.patch("/clusters/c1", body)
    assert (answer.status_code, told in answer.json()["message"]) == (status, True)
    after = Cluster.objects.get(pk=cluster.pk)
    assert (after.pod_max_in_unschedulable_pods_seconds, after.kubelet) == (300, True)


def test_admission_plugins_are_set_when_a_cluster_is_created_and_later(api: Api) -> None:
    chosen = {"NodeRestriction": {"kubelets": ["bob"]}}
    assert api.post("/clusters", {"name": "c2", "admission_plugins": chosen}).status_code == 201
    assert api.get("/clusters/c2").json()["admission_plugins"] == chosen
    assert api.patch("/clusters/c2", {"admission_plugins": {}}).json()["admission_plugins"] == {}


def test_a_cluster_is_deleted_with_everything_in_it(api: Api) -> None:
    api.post("/clusters", {"name": "lab", "nodes": 2})
    assert api.delete("/clusters/lab").status_code == 204
    assert api.get("/clusters/lab").status_code == 404
    assert not Node.objects.exists()
    assert api.delete("/clusters/lab").status_code == 404


def test_wrong_methods_are_refused(api: Api, cluster: Cluster) -> None:
    assert api.delete("/clusters").status_code == 405
    assert api.post("/clusters/c1").status_code == 405
    assert api.get("/clusters/c1/pause").status_code == 405


def test_an_unauthenticated_request_is_401(anonymous: Api, cluster: Cluster) -> None:
    assert anonymous.get("/clusters").status_code == 401
    assert anonymous.post("/clusters", {"name": "lab"}).status_code == 401
    assert anonymous.delete("/clusters/c1").status_code == 401
    assert anonymous.patch("/clusters/c1", {"kubelet": False}).status_code == 401
    assert anonymous.post("/clusters/c1/pause").status_code == 401
    assert Cluster.objects.get().paused is False


def test_import_creates_all_or_nothing_and_says_where_it_failed(api: Api, cluster: Cluster) -> None:
    good = "apiVersion: v1\nkind: Pod\nmetadata: {name: p1}\nspec:\n  containers:\n"
    good += "  - {name: c, image: i}\n"
    bad = "apiVersion: v1\nkind: Pod\nmetadata: {name: p2}\nspec:\n  containers: []\n"
    kind = "application/yaml"
    refused = api.post("/clusters/c1/import", f"{good}---\n{bad}", content_type=kind)
    assert refused.status_code == 400
    assert "document 2" in refused.json()["message"]
    assert refused.json()["causes"] == [{"field": "spec.containers", "message": "Required value"}]
    assert not Pod.objects.exists()
    done = api.post("/clusters/c1/import", good, content_type=kind)
    created = {"created": 1, "objects": ["Pod default/p1"], "skipped": "", "added": ""}
    assert done.json() == created
    for text in ("a: b: c: [", "[]", "\xff", "kind: Pod", "[" * 5000):
        assert api.post("/clusters/c1/import", text, content_type=kind).status_code == 400


def test_an_export_can_be_imported_elsewhere(api: Api, cluster: Cluster) -> None:
    api.post("/clusters", {"name": "lab", "nodes": 3, "paused": True})
    pods = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n---\n"
    pods += "apiVersion: v1\nkind: Pod\nmetadata: {name: p1, namespace: team}\nspec:\n"
    pods += "  nodeName: node-1\n  containers:\n  - {name: c, image: i}\n"
    api.post("/clusters/lab/import", pods, content_type="application/yaml")
    exported = api.get("/clusters/lab/export")
    assert exported.headers["Content-Type"] == "application/yaml"
    wanted = {**api.headers, "accept": "application/yaml"}
    asked = api.client.get("/api/v1/clusters/lab/export", headers=wanted)
    assert asked.content == exported.content, "the type that the documentation names"
    missing = api.client.get("/api/v1/clusters/nowhere/export", headers=wanted)
    assert (missing.status_code, missing.headers["Content-Type"]) == (404, "application/json")
    whole = "/clusters/c1/import?keep_uids=true"
    done = api.post(whole, exported.content, content_type="application/yaml")
    assert done.json()["objects"] == [
        "Namespace team",
        *("Node node-0", "Node node-1", "Node node-2"),
        "Pod team/p1",
    ]
    copy = api.get("/clusters/c1/export")
    assert _without_built_in(copy) == _without_built_in(exported)


def _without_built_in(exported: Any) -> list[Any]:
    """The exported objects without those of every cluster, whose uids and times are their own."""
    built_in = ("default", "kube-node-lease", "kube-public", "kube-system")
    return [
        body
        for body in yaml.safe_load_all(exported.content)
        if body["metadata"]["name"] not in (*built_in, "kubernetes", "kube-root-ca.crt")
        and not body["metadata"]["name"].startswith("system-")
    ]


def test_an_import_says_what_it_adds_or_refuses_it(api: Api, cluster: Cluster) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p1, namespace: team}\nspec:\n"
    pod += "  containers:\n  - {name: c, image: i}\n"
    kind = "application/yaml"
    refused = api.post("/clusters/c1/import?strict=true", pod, content_type=kind)
    assert refused.status_code == 400
    assert refused.json()["message"] == "document 1, line 1: Namespace team does not exist"
    done = api.post("/clusters/c1/import", pod, content_type=kind)
    assert done.json()["added"] == "added, because objects refer to them: Namespace team"
    odd = api.post("/clusters/c1/import?strict=maybe", pod, content_type=kind)
    assert (odd.status_code, odd.json()["message"]) == (
        400,
        "strict: 'maybe' is neither true nor false",
    )


def test_an_unavailable_database_is_503() -> None:
    answer = handle(
        OperationalError("the server closed the connection unexpectedly"),
        {"request": RequestFactory().get("/api/v1/clusters")},
    )
    assert answer is not None and answer.status_code == 503
    assert answer.data["reason"] == "ServiceUnavailable" and answer.headers["Retry-After"] == "1"
