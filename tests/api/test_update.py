"""PUT of an object, of its status, and of a scale."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, node, pod

pytestmark = pytest.mark.django_db

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SETS = "/apis/apps/v1/namespaces/default/replicasets"


@pytest.fixture
def stored(kube: Kube) -> dict[str, Any]:
    kube.post(NODES, node("n1"))
    found: dict[str, Any] = kube.get(f"{NODES}/n1").json()
    return found


def with_label(body: dict[str, Any], value: str) -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], "labels": {"team": value}}}


def test_an_object_is_replaced(kube: Kube, stored: dict[str, Any]) -> None:
    answer = kube.put(f"{NODES}/n1", with_label(stored, "a"))
    assert answer.status_code == 200
    after = kube.get(f"{NODES}/n1").json()
    assert after["metadata"]["labels"] == {"team": "a"}
    assert int(after["metadata"]["resourceVersion"]) > int(stored["metadata"]["resourceVersion"])
    assert after["metadata"]["uid"] == stored["metadata"]["uid"]


def test_an_older_version_conflicts(kube: Kube, stored: dict[str, Any]) -> None:
    kube.put(f"{NODES}/n1", with_label(stored, "a"))
    answer = kube.put(f"{NODES}/n1", with_label(stored, "b"))
    assert answer.status_code == 409
    assert answer.json()["reason"] == "Conflict"
    assert "the object has been modified" in answer.json()["message"]
    assert kube.get(f"{NODES}/n1").json()["metadata"]["labels"] == {"team": "a"}


def test_an_update_keeps_the_status_and_a_status_update_the_spec(
    kube: Kube, stored: dict[str, Any]
) -> None:
    changed = {**stored, "spec": {"unschedulable": True}, "status": {"phase": "odd"}}
    spec_only = kube.put(f"{NODES}/n1", changed).json()
    assert spec_only["spec"]["unschedulable"] is True
    assert spec_only["status"] == stored["status"]
    status = {**spec_only, "spec": {}, "status": {**stored["status"], "capacity": {"cpu": "8"}}}
    status_only = kube.put(f"{NODES}/n1/status", status).json()
    assert status_only["spec"]["unschedulable"] is True
    assert status_only["status"]["capacity"] == {"cpu": "8"}


@pytest.mark.parametrize(
    ("metadata", "status", "told"),
    [
        ({"name": "other"}, 400, "does not match the name on the URL"),
        ({"namespace": "kube-system"}, 400, "does not match the namespace"),
        ({"resourceVersion": "abc"}, 400, "strconv.ParseUint"),
        ({"uid": "11111111-1111-1111-1111-111111111111"}, 409, "UID in precondition"),
        ({"labels": {"a": "!"}}, 422, "metadata.labels"),
        ({"labels": "x"}, 400, "metadata.labels"),
    ],
)
def test_a_wrong_body_is_refused(
    kube: Kube, metadata: dict[str, Any], status: int, told: str
) -> None:
    kube.post(PODS, pod("p1"))
    body = pod("p1")
    answer = kube.put(f"{PODS}/p1", {**body, "metadata": {"name": "p1", **metadata}})
    assert answer.status_code == status
    assert told in answer.json()["message"]


def test_only_some_kinds_are_created_by_put(kube: Kube) -> None:
    assert kube.put(f"{PODS}/none", pod("none")).status_code == 404
    lease = {"metadata": {"name": "l1"}, "spec": {"holderIdentity": "me"}}
    created = kube.put(f"{LEASES}/l1", lease)
    assert created.status_code == 201
    assert kube.put(f"{LEASES}/l1", created.json()).status_code == 200
    unversioned = kube.put(f"{LEASES}/l1", lease).json()
    assert "metadata.resourceVersion: Invalid value: 0" in unversioned["message"]


def test_a_workload_is_scaled(kube: Kube) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    kube.post(SETS, {"metadata": {"name": "rs"}, "spec": spec})
    scale = kube.get(f"{SETS}/rs/scale").json()
    assert (scale["spec"], scale["status"]["selector"]) == ({"replicas": 2}, "app=web")
    assert kube.put(f"{SETS}/rs/scale", {**scale, "spec": {"replicas": 5}}).status_code == 200
    assert kube.get(f"{SETS}/rs").json()["spec"]["replicas"] == 5
    stale = kube.put(f"{SETS}/rs/scale", {**scale, "spec": {"replicas": 7}})
    assert stale.status_code == 409
    negative = kube.patch(f"{SETS}/rs/scale", {"spec": {"replicas": -1}})
    assert negative.status_code == 422
    assert "spec.replicas" in negative.json()["message"]


def test_wrong_methods_are_refused(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    assert kube.put(PODS, pod("p1")).status_code == 405
    assert kube.post(f"{PODS}/p1/status", pod("p1")).status_code == 405
    assert kube.delete(f"{PODS}/p1/status").status_code == 405
    assert kube.get(f"{PODS}/p1/scale").status_code == 404


def test_an_anonymous_request_changes_nothing(anonymous: Kube, kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    assert anonymous.put(f"{PODS}/p1", pod("p1", labels={"a": "b"})).status_code == 401
    assert "labels" not in kube.get(f"{PODS}/p1").json()["metadata"]


def test_items_with_the_same_key_can_be_written(kube: Kube) -> None:
    kube.post("/api/v1/nodes", {"metadata": {"name": "two"}})
    addresses = [{"type": "InternalIP", "address": each} for each in ("10.0.0.1", "10.0.0.2")]
    written = kube.patch("/api/v1/nodes/two/status", {"status": {"addresses": addresses}})
    assert written.status_code == 200
    assert kube.patch("/api/v1/nodes/two", {"metadata": {"labels": {"a": "b"}}}).status_code == 200
    read = kube.get("/api/v1/nodes/two").json()
    assert read["status"]["addresses"] == addresses
    env = [{"name": "A", "value": each} for each in "12"]
    container = {"name": "c", "image": "i", "env": env}
    body = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    assert kube.post(PODS, body).status_code == 201
    patched = kube.patch(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})
    assert patched.json()["spec"]["containers"][0]["env"] == env


@pytest.mark.parametrize("resource", ["replicasets", "statefulsets", "deployments"])
def test_a_negative_status_is_refused(kube: Kube, resource: str) -> None:
    labels = {"app": "x"}
    containers = [{"name": "c", "image": "i"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    path = f"/apis/apps/v1/namespaces/default/{resource}"
    spec = {"selector": {"matchLabels": labels}, "template": template}
    kube.post(path, {"metadata": {"name": "x"}, "spec": spec})
    refused = kube.patch(f"{path}/x/status", {"status": {"replicas": -1}}).json()
    assert refused["code"] == 422
    assert "status.readyReplicas: Invalid value: 0: cannot be greater than" in refused["message"]


def test_an_object_without_a_kind_is_of_the_kind_in_the_path(
    kube: Kube, stored: dict[str, Any]
) -> None:
    without = {key: value for key, value in stored.items() if key not in ("kind", "apiVersion")}
    replaced = kube.put(f"{NODES}/n1", with_label(without, "b"))
    assert replaced.status_code == 200
    assert (replaced.json()["kind"], replaced.json()["metadata"]["labels"]) == (
        "Node",
        {"team": "b"},
    )
    limits = "/api/v1/namespaces/default/limitranges"
    kube.post(limits, {"metadata": {"name": "most"}, "spec": {"limits": []}})
    assert kube.put(f"{limits}/most", {"metadata": {"name": "most"}}).status_code == 200
    # an object without a name is of no path
    assert kube.put(f"{limits}/most", {}).status_code == 400
