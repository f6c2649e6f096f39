"""Viewers read no Secrets: no address shows them what one contains."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.operations import running, service
from apps.cluster import kinds
from apps.cluster.models import Change, Cluster
from apps.cluster.roles import Role
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.people import members
from apps.people.tokens import create_token
from tests.access.test_routes import address_of, all_routes
from tests.api.conftest import Kube, encode

# the loop has transactions of its own
pytestmark = pytest.mark.django_db(transaction=True)

WORDS = ("first-words", "second-words")
SECRETS = "/api/v1/namespaces/default/secrets"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def secret(words: str) -> dict[str, Any]:
    data = {"password": b64encode(words.encode()).decode()}
    return {"metadata": {"name": "keys", "namespace": "default"}, "data": data}


@pytest.fixture
def lab() -> Cluster:
    """A cluster with a Secret that was changed once, a viewer and an operator."""
    cluster = create_cluster("lab", user="command line", nodes=1)
    for name, role in (("viewer", Role.VIEWER), ("operator", Role.OPERATOR)):
        User.objects.create_user(name)
        members.add_member(cluster, user=name, role=role, actor="root")
    kind = kinds.by_name("Secret")
    actor = Actor("operator")
    created = store.create(cluster, kind, secret(WORDS[0]), actor=actor, namespace="default")
    body = {**created, "data": secret(WORDS[1])["data"]}
    store.update(cluster, kind, "default", "keys", body, actor=actor)
    return cluster


def kube_of(name: str) -> Kube:
    return Kube(create_token(User.objects.get(username=name), "test").key, "lab")


def browser_of(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def shows_secret(answer: Any) -> bool:
    text = b"".join(answer) if answer.streaming else answer.content
    return any(
        form in text
        for words in WORDS
        for form in (words.encode(), b64encode(words.encode()).rstrip(b"="))
    )


def test_the_api_of_a_cluster_refuses_them_to_viewers(lab: Cluster) -> None:
    viewer, operator = kube_of("viewer"), kube_of("operator")
    for path in (SECRETS, f"{SECRETS}/keys", "/api/v1/secrets", f"{SECRETS}?limit=1"):
        assert viewer.get(path).status_code == 403
        assert viewer.get(path, headers={"Accept": TABLE}).status_code == 403
        assert shows_secret(operator.get(path))
    refused = viewer.get(f"{SECRETS}/keys").json()
    assert refused["message"] == (
        'secrets "keys" is forbidden: User "viewer" cannot get resource "secrets" in API group "" '
        'in the namespace "default": this requires the role operator in the cluster, and viewer is '
        "viewer"
    )


def test_no_address_shows_a_viewer_what_a_secret_contains(lab: Cluster) -> None:
    changed = Change.objects.filter(cluster=lab, kind="Secret").latest("version")
    values = {
        "cluster": "lab",
        "cluster_id": lab.pk,
        "id": lab.pk,
        "kubernetes": SECRETS.removeprefix("/"),
        "resource": "secrets",
        "namespace": "default",
        "version": changed.version,
        "decision": 1,
        "operation": 1,
        "past": lab.pk,
    }
    viewer, operator = browser_of("viewer"), browser_of("operator")
    shown = []
    for route in all_routes(get_resolver()):
        own = values | {"name": "keys"} if "object" in route.name else values
        address = address_of(route, own)
        assert not shows_secret(viewer.get(address)), address
        if shows_secret(operator.get(address)):
            shown.append(route.name)
    # so that the addresses above would have shown it
    pages = {"namespaced-object", "edit-namespaced-object", "changes", "change"}
    assert {*shown} >= {*pages, "api-cluster-export", "kubernetes"}


def test_a_viewer_gets_exports_without_secrets_and_no_export_that_has_them(lab: Cluster) -> None:
    numbers = {}
    for name in ("viewer", "operator"):
        started = browser_of(name).post("/api/v1/clusters/lab/exports")
        assert started.status_code == 202
        numbers[name] = started.json()["id"]
        running.run(numbers[name])
    viewer, operator = browser_of("viewer"), browser_of("operator")
    for template in ("/api/v1/operations/{}/output", "/operations/{}/output"):
        own = viewer.get(template.format(numbers["viewer"]))
        assert own.status_code == 200
        assert not shows_secret(own)
        assert viewer.get(template.format(numbers["operator"])).status_code == 403
        assert shows_secret(operator.get(template.format(numbers["operator"])))


def test_a_copy_that_a_viewer_would_own_is_refused_while_there_are_secrets(lab: Cluster) -> None:
    viewer, operator = browser_of("viewer"), browser_of("operator")
    store.delete(lab, kinds.by_name("Secret"), "default", "keys", actor=Actor("operator"))
    # the history of a fork has the deleted one
    for way in ("fork", "copy"):
        address, body = f"/api/v1/clusters/lab/{way}", {"name": f"own-{way}"}
        answers = [
            each.post(address, encode(body), content_type="application/json")
            for each in (viewer, operator)
        ]
        assert [each.status_code for each in answers][0] == 403
        assert answers[1].status_code in (201, 202)
    assert viewer.get("/clusters/lab/fork").status_code == 403
    form = {"way": "copy", "name": "mine", "source": "lab", "paused": "on"}
    assert b"this requires the role operator" in viewer.post("/new-cluster", form).content
    assert not service.operations().filter(user="viewer").exists()
