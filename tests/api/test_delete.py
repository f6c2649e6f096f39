"""DELETE of an object and of a collection."""

from __future__ import annotations

import pytest

from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, node, pod

pytestmark = pytest.mark.django_db

VOLUMES = "/api/v1/persistentvolumes"


def test_a_deleted_pods_last_state_is_returned(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    answer = kube.delete(f"{PODS}/p1")
    assert answer.status_code == 200
    assert answer.json()["metadata"]["deletionTimestamp"]
    assert kube.get(f"{PODS}/p1").status_code == 404


def test_a_collection_of_all_namespaces_cannot_be_deleted(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    assert kube.delete("/api/v1/pods").status_code == 405
    assert kube.delete(PODS).status_code == 200
    assert kube.get(f"{PODS}/p1").status_code == 404


def test_other_kinds_are_answered_with_a_status(kube: Kube) -> None:
    kube.post(NODES, node("n1"))
    body = kube.delete(f"{NODES}/n1").json()
    assert (body["kind"], body["status"]) == ("Status", "Success")
    assert body["details"]["name"] == "n1"


@pytest.mark.parametrize("name", ["system-cluster-critical", "system-node-critical"])
def test_a_system_priority_class_cannot_be_deleted(kube: Kube, name: str) -> None:
    path = f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}"
    answer = kube.delete(path)
    assert answer.status_code == 403
    assert "this is a system priority class and cannot be deleted" in answer.json()["message"]
    assert kube.get(path).status_code == 200


def test_a_finalizer_holds_an_object_until_it_is_removed(kube: Kube) -> None:
    volume = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    spec = {**volume, "hostPath": {"path": "/data"}}
    kube.post(VOLUMES, {"metadata": {"name": "v", "finalizers": ["x.io/hold"]}, "spec": spec})
    assert kube.delete(f"{VOLUMES}/v").json()["metadata"]["deletionTimestamp"]
    assert kube.get(f"{VOLUMES}/v").status_code == 200
    kube.patch(f"{VOLUMES}/v", {"metadata": {"finalizers": None}})
    assert kube.get(f"{VOLUMES}/v").status_code == 404


@pytest.mark.parametrize(
    ("preconditions", "told"),
    [
        ({"uid": "11111111-1111-1111-1111-111111111111"}, "the UID in the precondition"),
        ({"resourceVersion": "1"}, "the ResourceVersion in the precondition"),
    ],
)
def test_a_precondition_that_fails_conflicts(
    kube: Kube, preconditions: dict[str, str], told: str
) -> None:
    kube.post(PODS, pod("p1"))
    answer = kube.delete(f"{PODS}/p1", {"preconditions": preconditions})
    assert answer.status_code == 409
    assert told in answer.json()["message"]
    assert kube.get(f"{PODS}/p1").status_code == 200


@pytest.mark.parametrize(
    ("query", "body", "status", "told"),
    [
        ("", "{", 400, "unexpected end of JSON input"),
        ("", {"gracePeriodSeconds": "now"}, 400, "gracePeriodSeconds"),
        ("?gracePeriodSeconds=soon", None, 400, "strconv.ParseInt"),
        ("?propagationPolicy=Nope", None, 422, "propagationPolicy"),
        ("?dryRun=Some", None, 422, "dryRun"),
    ],
)
def test_wrong_options_are_refused(
    kube: Kube, query: str, body: object, status: int, told: str
) -> None:
    kube.post(PODS, pod("p1"))
    answer = kube.delete(f"{PODS}/p1{query}", body)
    assert answer.status_code == status
    assert told in answer.json()["message"]
    assert kube.get(f"{PODS}/p1").status_code == 200


def test_a_dry_run_deletes_nothing(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    assert kube.delete(f"{PODS}/p1?dryRun=All").status_code == 200
    assert kube.delete(f"{PODS}/p1", {"dryRun": ["All"]}).status_code == 200
    assert kube.get(f"{PODS}/p1").status_code == 200


def test_a_collection_is_deleted_by_selector(kube: Kube) -> None:
    for name, color in (("a", "red"), ("b", "red"), ("c", "blue")):
        kube.post(PODS, pod(name, labels={"color": color}))
    answer = kube.delete(f"{PODS}?labelSelector=color%3Dred")
    assert [item["metadata"]["name"] for item in answer.json()["items"]] == ["a", "b"]
    left = kube.get(PODS).json()["items"]
    assert [item["metadata"]["name"] for item in left] == ["c"]


def test_built_in_namespaces_cannot_be_deleted(kube: Kube) -> None:
    answer = kube.delete("/api/v1/namespaces/kube-system")
    assert (answer.status_code, answer.json()["reason"]) == (403, "Forbidden")


def test_missing_objects_and_anonymous_requests(kube: Kube, anonymous: Kube) -> None:
    kube.post(PODS, pod("p1"))
    assert kube.delete(f"{PODS}/none").status_code == 404
    assert anonymous.delete(f"{PODS}/p1").status_code == 401
    assert anonymous.delete(PODS).status_code == 401
    assert kube.get(f"{PODS}/p1").status_code == 200
