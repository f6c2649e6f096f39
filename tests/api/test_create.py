"""POST of an object."""

from __future__ import annotations

import pytest
from django.db import connection

from apps.administration.clusters.settings import change_settings
from apps.cluster.models import Change, Cluster
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, node, pod

pytestmark = pytest.mark.django_db


def test_a_pod_is_created_with_its_defaults(kube: Kube) -> None:
    answer = kube.post(PODS, pod("p1"))
    body = answer.json()
    assert answer.status_code == 201
    assert body["metadata"]["uid"]
    assert body["spec"]["schedulerName"] == "default-scheduler"
    assert body["status"]["phase"] == "Pending"
    assert kube.get(f"{PODS}/p1").json() == body


def test_a_body_may_be_yaml(kube: Kube) -> None:
    text = "metadata: {name: p1, annotations: {date: '2026-01-01'}}\nspec:\n  containers:\n"
    text += "  - {name: c, image: pause}\n"
    answer = kube.post(PODS, text, content_type="application/yaml")
    assert answer.status_code == 201
    assert answer.json()["metadata"]["annotations"] == {"date": "2026-01-01"}


def test_the_request_id_is_kept_in_the_change_log(kube: Kube, cluster: Cluster) -> None:
    answer = kube.post(PODS, pod("p1"), headers={"X-Request-ID": "mine-1"})
    change = Change.objects.filter(cluster=cluster).latest("version")
    assert (change.user, change.request_id) == ("alice", "mine-1")
    assert answer.headers["X-Request-ID"] == "mine-1"


def test_a_dry_run_stores_nothing(kube: Kube) -> None:
    answer = kube.post(f"{PODS}?dryRun=All", pod("p1"))
    assert answer.status_code == 201
    assert "resourceVersion" not in answer.json()["metadata"]
    assert kube.get(f"{PODS}/p1").status_code == 404


def test_an_existing_name_is_refused(kube: Kube) -> None:
    kube.post(PODS, pod("p1"))
    answer = kube.post(PODS, pod("p1"))
    assert answer.status_code == 409
    assert answer.json()["message"] == 'pods "p1" already exists'


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ("{", 400, "unexpected end of JSON input"),
        ("", 400, "unexpected end of JSON input"),
        ("[]", 400, "cannot unmarshal array"),
        ("nonsense", 400, "invalid character"),
        ('{"metadata": {"name": "a\\u0000b"}}', 400, "metadata.name holds a NUL character"),
        (pod("p", nodeName=5), 400, "spec.nodeName"),
        (pod("p", terminationGracePeriodSeconds="30"), 400, "spec.terminationGracePeriodSeconds"),
        (pod("p", overhead={"cpu": "lots"}), 400, "quantities must match"),
        (
            {**pod("p"), "kind": "Node"},
            400,
            "converting (v1.Node) to (core.Pod): unknown conversion",
        ),
        (
            {"apiVersion": "v1", "kind": "Secret", "data": {"a": "1"}},
            400,
            "cannot be handled as a Pod: illegal base64 data at input byte 0",
        ),
        ({**pod("p"), "apiVersion": "v2"}, 400, 'no kind "Pod" is registered for version "v2"'),
        (pod("Bad_Name"), 422, "metadata.name"),
        (pod("p", containers=[]), 422, "spec.containers: Required value"),
    ],
)
def test_a_wrong_body_is_refused_and_the_field_named(
    kube: Kube, body: object, status: int, told: str
) -> None:
    answer = kube.post(PODS, body)
    assert answer.status_code == status
    assert answer.json()["kind"] == "Status"
    assert told in answer.json()["message"]


def test_unknown_fields_are_dropped_with_a_warning_or_refused(kube: Kube) -> None:
    warned = kube.post(PODS, pod("p1", bogus=1))
    assert warned.headers["Warning"] == '299 - "unknown field \\"spec.bogus\\""'
    assert "bogus" not in warned.json()["spec"]
    strict = kube.post(f"{PODS}?fieldValidation=Strict", pod("p2", bogus=1))
    assert strict.status_code == 400
    assert 'unknown field "spec.bogus"' in strict.json()["message"]
    ignored = kube.post(f"{PODS}?fieldValidation=Ignore", pod("p3", bogus=1))
    assert "Warning" not in ignored.headers


def test_a_duplicate_key_is_refused_when_strict(kube: Kube) -> None:
    text = '{"metadata":{"name":"p","name":"q"},"spec":{"containers":[{"name":"c","image":"i"}]}}'
    answer = kube.post(f"{PODS}?fieldValidation=Strict", text)
    assert 'duplicate field "metadata.name"' in answer.json()["message"]


def test_another_content_type_is_refused(kube: Kube) -> None:
    assert kube.post(PODS, pod("p"), content_type="text/plain").status_code == 415


def test_a_body_that_is_too_large_is_refused(kube: Kube) -> None:
    body = pod("p")
    body["metadata"]["annotations"] = {"pad": "x" * 3_300_000}
    assert kube.post(PODS, body).status_code == 413


def test_an_object_goes_into_the_namespace_of_its_path(kube: Kube) -> None:
    other = {**pod("p"), "metadata": {"name": "p", "namespace": "kube-system"}}
    assert kube.post(PODS, other).status_code == 400
    assert kube.post("/api/v1/namespaces/nowhere/pods", pod("p")).status_code == 404
    assert kube.post("/api/v1/pods", pod("p")).status_code == 405


def test_wrong_methods_are_refused(kube: Kube) -> None:
    kube.post(NODES, node("n1"))
    for method, path in (
        ("POST", f"{NODES}/n1"),
        ("PATCH", NODES),
        ("PUT", NODES),
        ("OPTIONS", NODES),
        ("DELETE", "/api/v1/namespaces"),
    ):
        answer = kube.request(method, path, {})
        assert (method, answer.status_code) == (method, 405)
        assert answer.json()["reason"] == "MethodNotAllowed"


def test_unknown_kinds_and_clusters_are_not_found(kube: Kube, key: str) -> None:
    assert kube.post("/api/v1/namespaces/default/widgets", {}).status_code == 404
    assert kube.post("/apis/apps/v9/replicasets", {}).status_code == 404
    assert Kube(key, "nowhere").post(PODS, pod("p")).status_code == 404


def test_an_anonymous_request_creates_nothing(anonymous: Kube, cluster: Cluster) -> None:
    answer = anonymous.post(PODS, pod("p1"))
    assert answer.status_code == 401
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }
    assert Kube("wrong-key", cluster.name).post(PODS, pod("p1")).status_code == 401


@pytest.mark.django_db(transaction=True)
def test_a_database_timeout_is_a_server_error(kube: Kube, cluster: Cluster) -> None:
    busy = connection.copy()
    with busy.cursor() as other, connection.cursor() as mine:
        other.execute("BEGIN")
        other.execute("SELECT FROM cluster_cluster WHERE id = %s FOR UPDATE", [cluster.pk])
        mine.execute("SET lock_timeout = '50ms'")
        answer = kube.post(PODS, pod("p1"))
        other.execute("ROLLBACK")
    busy.close()
    connection.close()
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "1"
    assert kube.post(PODS, pod("p1")).status_code == 201


def test_admission_plugins_are_a_setting_of_the_cluster(kube: Kube, cluster: Cluster) -> None:
    groups = {"team": {"namespaces": ["default"]}}
    change_settings(cluster, {"admission_plugins": {"DedicatedNodes": {"groups": groups}}})
    body = kube.post(PODS, pod("p1")).json()
    assert "dedicated" in [each["key"] for each in body["spec"]["tolerations"]]


def test_a_quota_refuses_what_exceeds_it_and_shows_what_is_used(kube: Kube) -> None:
    quotas = "/api/v1/namespaces/default/resourcequotas"
    kube.post(quotas, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    assert kube.post(PODS, pod("p1")).status_code == 201
    answer = kube.post(PODS, pod("p2"))
    assert (answer.status_code, answer.json()["reason"]) == (403, "Forbidden")
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    (row,) = kube.get(quotas, headers=table).json()["rows"]
    assert row["cells"][:3] == ["q", "pods: 1/1", ""]


def test_a_refused_object_is_warned_about_too(kube: Kube) -> None:
    body = {"metadata": {"name": "Bad_"}, "dataX": {}}
    refused = kube.post("/api/v1/namespaces/default/configmaps", body)
    assert refused.status_code == 422
    assert refused.headers["Warning"] == r'299 - "unknown field \"dataX\""'
