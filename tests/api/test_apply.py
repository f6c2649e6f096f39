"""Server-side apply, the owners of fields, and what clients see of both."""

from __future__ import annotations

import gzip
import json
from typing import Any

import yaml
from django.contrib.auth.models import User
from django.test import Client

from apps.cluster.models import Cluster
from tests.api.conftest import Kube
from tests.api.objects import pod

POD = "/api/v1/namespaces/default/pods/p"


def apply(kube: Kube, path: str, body: Any, manager: str, **options: str) -> Any:
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return kube.request(
        "PATCH",
        f"{path}?fieldManager={manager}&{query}",
        body,
        content_type="application/apply-patch+yaml",
    )


def managers(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(e["manager"], e["operation"]) for e in body["metadata"]["managedFields"]]


def test_two_clients_share_an_object(kube: Kube) -> None:
    labels = {"metadata": {"labels": {"team": "a"}}}
    wanted = {**pod("p"), "apiVersion": "v1", "kind": "Pod"}
    typed = {"apiVersion": "v1", "kind": "Pod"}
    created = kube.post(
        "/api/v1/namespaces/default/pods", wanted, headers={"user-agent": "kubectl/v1.36"}
    )
    assert managers(created.json()) == [("kubectl", "Update")]
    applied = apply(kube, POD, {**typed, **labels}, "labeler")
    assert applied.status_code == 200
    assert managers(applied.json()) == [("labeler", "Apply"), ("kubectl", "Update")]
    # nothing changes, and nothing is written
    again = apply(kube, POD, {**typed, **labels}, "labeler").json()
    assert again["metadata"] == applied.json()["metadata"]
    taken = kube.patch(f"{POD}?fieldManager=boss", {"metadata": {"labels": {"team": "b"}}}).json()
    assert ("boss", "Update") in managers(taken)
    refused = apply(kube, POD, {**typed, **labels}, "labeler")
    assert refused.status_code == 409
    assert refused.json()["message"] == (
        'Apply failed with 1 conflict: conflict with "boss" using v1: .metadata.labels.team'
    )
    forced = apply(kube, POD, {**typed, **labels}, "labeler", force="true").json()
    assert forced["metadata"]["labels"] == {"team": "a"}
    assert ("boss", "Update") not in managers(forced)
    assert "labels" not in apply(kube, POD, typed, "labeler").json()["metadata"]


def test_an_apply_creates_the_object_or_says_what_is_wrong(kube: Kube) -> None:
    body = {**pod("p"), "apiVersion": "v1", "kind": "Pod"}
    dry = apply(kube, POD, body, "a", dryRun="All")
    assert dry.status_code == 201 and kube.get(POD).status_code == 404
    created = apply(kube, POD, body, "a")
    assert created.status_code == 201 and managers(created.json()) == [("a", "Apply")]
    unknown = apply(kube, POD, {**body, "bogus": 1}, "a")
    assert unknown.status_code == 400
    assert ".bogus: field not declared in schema" in unknown.json()["message"]
    twice = {**body, "spec": {"containers": [{"name": "c"}, {"name": "c"}]}}
    assert 'duplicate entries for key [name="c"]' in apply(kube, POD, twice, "a").json()["message"]
    assert apply(kube, POD, body, "").status_code == 422
    assert apply(kube, POD, body, "x" * 129).json()["details"]["causes"][0]["field"] == (
        "fieldManager"
    )
    assert "force" in kube.patch(f"{POD}?force=true", {}).json()["message"]
    # other versions and other uids
    stale = {**body, "metadata": {"name": "p", "resourceVersion": "1"}}
    assert apply(kube, POD, stale, "a").status_code == 409
    missing = {**body, "metadata": {"name": "q", "uid": "u"}}
    assert "uid mismatch" in apply(kube, f"{POD[:-1]}q", missing, "a").text


def test_answers_have_the_form_of_the_api_server(kube: Kube) -> None:
    Cluster.objects.update(paused=True)
    assert "/openapi/v2" in kube.get("/").json()["paths"]
    swagger = kube.get("/openapi/v2").json()
    assert "io.k8s.api.core.v1.Pod" in swagger["definitions"]
    compressed = kube.get("/openapi/v2", headers={"accept-encoding": "gzip"})
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(compressed.content)) == swagger
    plain = kube.get("/api")
    assert plain.content.endswith(b"}\n") and b"\n  " not in plain.content
    assert b'\n  "versions": [' in kube.get("/api?pretty=true").content
    # which is always indented, and does not end its last line
    assert kube.get("/version").content.startswith(b'{\n  "major": "1"')
    assert kube.get("/version").content.endswith(b"\n}")
    service = "/api/v1/namespaces/default/services/kubernetes"
    curl = kube.get(service, headers={"user-agent": "curl/8"})
    assert b'\n  "metadata": {' in curl.content and curl.json()["spec"]["ports"][0]["port"] == 443
    table = {"accept": "application/json;as=Table;v=v1beta1;g=meta.k8s.io"}
    assert kube.get("/api/v1/nodes", headers=table).json()["apiVersion"] == "meta.k8s.io/v1beta1"
    ready = [{"type": "Ready", "status": "True"}]
    node = kube.post(
        "/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"conditions": ready}}
    ).json()
    assert node["spec"]["taints"][0]["key"] == "node.kubernetes.io/not-ready"
    dry = kube.patch("/api/v1/nodes/n?dryRun=All", {"spec": {"unschedulable": True}}).json()
    assert dry["metadata"]["resourceVersion"] == node["metadata"]["resourceVersion"]
    negative = {"status": {"capacity": {"cpu": "-1"}}}
    refused = kube.patch("/api/v1/nodes/n/status", negative).json()["message"]
    assert 'status.capacity.cpu: Invalid value: "-1": must be greater than' in refused
    lease = {"metadata": {"name": "l"}, "spec": {"renewTime": "2026-01-01T00:00:00Z"}}
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert 'cannot parse "Z" as ".000000"' in kube.post(leases, lease).json()["message"]
    lease["spec"] = {"renewTime": "2026-01-01T01:00:00.000000+01:00"}
    assert kube.post(leases, lease).json()["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"
    wrong = kube.get("/api/v1/pods?limit=1&continue=abc!").json()["message"]
    assert wrong == (
        "invalid continue token: continue key is not valid: illegal base64 data at input byte 3"
    )


def test_who_scales_owns_the_replicas_as_an_update_of_the_subresource(kube: Kube) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    labels = {"app": "web"}
    containers = [{"name": "c", "image": "i"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    kube.post(f"{path}?fieldManager=author", {"metadata": {"name": "web"}, "spec": spec})
    kube.patch(f"{path}/web/scale?fieldManager=author", {"spec": {"replicas": 3}})
    entries = kube.get(f"{path}/web").json()["metadata"]["managedFields"]
    (scaled,) = [each for each in entries if each.get("subresource") == "scale"]
    assert (scaled["manager"], scaled["operation"]) == ("author", "Update")
    assert scaled["fieldsV1"] == {"f:spec": {"f:replicas": {}}}


LAST = "kubectl.kubernetes.io/last-applied-configuration"


def test_kubectl_applies_with_the_server_what_it_applied_without(kube: Kube) -> None:
    """What nobody has changed since belongs to it, and the annotation follows."""
    path = "/api/v1/namespaces/default/configmaps/c"
    typed = {"apiVersion": "v1", "kind": "ConfigMap"}
    data = {"kept": "1", "changed": "1"}
    last = json.dumps({**typed, "metadata": {"name": "c"}, "data": data})
    body = {**typed, "metadata": {"name": "c", "annotations": {LAST: last}}, "data": data}
    manager = "?fieldManager=kubectl-client-side-apply"
    kube.post(f"{path.rpartition('/')[0]}{manager}", body)
    kube.patch(f"{path}?fieldManager=boss", {"data": {"changed": "2"}})
    wanted = {**typed, "metadata": {"name": "c"}, "data": {"kept": "<2>", "changed": "3"}}
    refused = apply(kube, path, wanted, "kubectl")
    assert refused.json()["message"] == (
        'Apply failed with 1 conflict: conflict with "boss" using v1: .data.changed'
    )
    del wanted["data"]["changed"]
    assert apply(kube, path, wanted, "other").status_code == 409
    applied = apply(kube, path, wanted, "kubectl").json()
    assert applied["data"] == {"kept": "<2>", "changed": "2"}
    assert applied["metadata"]["annotations"][LAST] == (
        '{"apiVersion":"v1","data":{"kept":"\\u003c2\\u003e"},'
        '"kind":"ConfigMap","metadata":{"name":"c"}}\n'
    )


def test_pages_own_what_users_write_there(kube: Kube, user: User, cluster: Cluster) -> None:
    pages = Client()
    pages.force_login(user)
    root, path = f"/clusters/{cluster.name}", "/api/v1/namespaces/default/configmaps/c"
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "data": {"a": "1"},
    }
    created = pages.post(f"{root}/new/configmaps", {"manifest": yaml.safe_dump(manifest)})
    assert created.status_code == 302
    assert managers(kube.get(path).json()) == [("schedweb", "Update")]
    kube.patch(f"{path}?fieldManager=kubectl", {"data": {"a": "1", "b": "2"}})
    edited = kube.get(path).json()
    edited["data"]["b"] = "3"
    answer = pages.post(f"{root}/edit/configmaps/default/c", {"manifest": yaml.safe_dump(edited)})
    assert answer.status_code == 302, answer.content.decode()
    refused = apply(kube, path, {**manifest, "data": {"a": "1", "b": "4"}}, "ci")
    assert refused.status_code == 409
    assert 'conflict with "schedweb"' in refused.json()["message"]
    (cause,) = refused.json()["details"]["causes"]
    assert cause["field"] == ".data.b"
