"""Viewers read no Secrets and no private keys: no address shows them what one contains."""

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
from apps.engine.models import Operation
from apps.engine.profiles import drafts, private_keys, revisions
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


#: Of revisions 2 and 3, and of a draft that is no YAML.
KEYS = ("first-key", "second-key", "third-key")
#: Routes that show private keys to those who change profiles.
SHOWING = {"profile", "compare-profiles", "preview", "operation-output", "api-operation-output"}
SHOWING |= {"api-profile-list", "api-profile-detail", "api-profile-diff"}
SHOWING |= {"api-draft-list", "api-draft-detail", "new-profile"}
EXTENDER = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: # of the lab
- urlPrefix: https://127.0.0.1:1/
  filterVerb: filter
  tlsConfig: {{keyData: {}}}
"""


def in_base64(words: str) -> str:
    return b64encode(words.encode()).decode()


@pytest.fixture
def extended(lab: Cluster) -> Cluster:
    """The same with extenders that have private keys, an admin, and a preview."""
    User.objects.create_user("admin")
    members.add_member(lab, user="admin", role=Role.ADMIN, actor="root")
    for words in KEYS[:2]:
        revisions.add_revision(lab, EXTENDER.format(in_base64(words)), user="admin")
    draft = f"{EXTENDER.format(in_base64(KEYS[2]))}\n  - ]"
    drafts.save_draft(lab, "broken", user="admin", configuration=draft)
    started = browser_of("admin").post(
        "/api/v1/clusters/lab/previews", {"revision": 3}, content_type="application/json"
    )
    assert started.status_code == 202, started.content
    running.run(started.json()["id"])
    return lab


def shows_key(answer: Any) -> bool:
    text = b"".join(answer) if answer.streaming else answer.content
    return any(in_base64(words).encode() in text or words.encode() in text for words in KEYS)


def test_no_address_shows_a_private_key_to_those_who_may_not_change_profiles(
    extended: Cluster,
) -> None:
    operation = Operation.objects.get(kind="preview")
    values = {
        "cluster": "lab",
        "cluster_id": extended.pk,
        "id": operation.pk,
        "revision": 3,
        "draft": "broken",
        "decision": 1,
        "operation": operation.pk,
        "past": extended.pk,
        "kubernetes": "api/v1/pods",
        "resource": "pods",
        "namespace": "default",
        "version": 1,
    }
    # operators see all that viewers see
    admin, operator = browser_of("admin"), browser_of("operator")
    shown = set()
    for route in all_routes(get_resolver()):
        own = values | {"name": "broken"} if "draft" in route.name else values
        own = own | {"number": operation.pk} if "preview" in route.name else own
        address = address_of(route, own)
        queries = ("", "?before=2&after=3", "?download=1") if "profile" in route.name else ("",)
        for query in queries:
            assert not shows_key(operator.get(address + query)), address + query
            if route.name in SHOWING and shows_key(admin.get(address + query)):
                shown.add(route.name)
    # so that these addresses would have shown it
    assert shown == SHOWING


def test_a_copy_that_its_owner_would_administer_is_refused_while_there_are_private_keys(
    extended: Cluster,
) -> None:
    store.delete(extended, kinds.by_name("Secret"), "default", "keys", actor=Actor("operator"))
    revisions.activate(extended, 1)
    for name, expected in (("operator", 403), ("admin", 202)):
        body = encode({"name": f"own-{name}"})
        answer = browser_of(name).post(
            "/api/v1/clusters/lab/copy", body, content_type="application/json"
        )
        assert answer.status_code == expected


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a: {keyData: c2VjcmV0} # kept\n", 'a: {keyData: "(hidden)"} # kept\n'),
        ("- keyData: |\n    c2Vj\n    cmV0\n- b\n", '- keyData: "(hidden)"\n- b\n'),
        ("x: &k c2VjcmV0\nkeyData: *k\n", 'x: "(hidden)"\nkeyData: *k\n'),
        ('{"key\\u0044ata": "c2VjcmV0"}', '{"key\\u0044ata": "(hidden)"}'),
        ("keyData: [", "# (hidden): no YAML, and it may have a private key\n"),
        ("keyFile: /key\n", "keyFile: /key\n"),
    ],
)
def test_a_private_key_is_hidden_however_it_is_written(written: str, shown: str) -> None:
    assert private_keys.hide(written) == shown
