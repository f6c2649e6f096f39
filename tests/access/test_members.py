"""A cluster and its members: what each sees and may do, and that access ends at once."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.administration.operations import running, service
from apps.cluster.access import rates
from apps.cluster.access.needs import Need
from apps.cluster.access.routes import ROUTES
from apps.cluster.models import Cluster
from apps.cluster.quota import room
from apps.cluster.roles import Role
from apps.cluster.writes import Actor
from apps.dashboard.urls import _cluster
from apps.people import members
from apps.people.tokens import create_token
from tests.api.conftest import Kube, encode
from tests.api.objects import PODS, node, pod

pytestmark = pytest.mark.django_db

MEMBERS = "/api/v1/clusters/lab/members"
RULES = {"kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}}
REVIEWS = "/apis/authorization.k8s.io/v1"


@pytest.fixture
def lab(db: None) -> Cluster:
    for name in ("ann", "bob", "eve"):
        User.objects.create_user(name)
    return create_cluster("lab", user="ann")


def kube_of(name: str) -> Kube:
    user = User.objects.get(username=name)
    return Kube(create_token(user, "test").key, "lab")


def browser_of(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def send(client: Client, method: str, address: str, body: Any = None) -> Any:
    return client.generic(method, address, encode(body), content_type="application/json")


def test_a_member_gains_and_loses_a_role(lab: Cluster) -> None:
    ann, bob = browser_of("ann"), browser_of("bob")
    kube = kube_of("bob")
    assert kube.get(PODS).json()["message"] == 'clusters "lab" not found'
    assert bob.get("/clusters/lab").status_code == 404
    assert [each["name"] for each in bob.get("/api/v1/clusters").json()] == []

    # a viewer reads, and is told which role is missing
    added = send(ann, "POST", MEMBERS, {"user": "bob", "role": "viewer"})
    assert added.status_code == 201
    assert kube.get(PODS).status_code == 200
    refused = kube.post(PODS, pod("p1"))
    assert (refused.status_code, refused.json()["reason"]) == (403, "Forbidden")
    assert refused.json()["message"].startswith(
        'pods is forbidden: User "bob" cannot create resource "pods" in API group "" in the '
        'namespace "default": this requires the role operator'
    )
    assert (
        kube.get(f"{PODS}/p1/exec")
        .json()["message"]
        .startswith('pods "p1" is forbidden: User "bob" cannot get resource "pods/exec"')
    )
    over = send(bob, "POST", "/api/v1/clusters/lab/pause")
    assert over.json()["message"] == (
        "this requires the role operator in cluster lab; your role is viewer"
    )
    page = bob.get("/clusters/lab/new-pod")
    assert page.status_code == 403 and "requires the role operator" in page.content.decode()
    assert ">Your role:</span> viewer<" in bob.get("/clusters/lab").content.decode()

    # access reviews give the same answers
    rules = kube.post(f"{REVIEWS}/selfsubjectrulesreviews", RULES).json()["status"]
    verbs = {verb for rule in rules["resourceRules"] for verb in rule["verbs"]}
    assert verbs == {"get", "list", "watch", "create"}
    created = [rule for rule in rules["resourceRules"] if "create" in rule["verbs"]]
    assert {name for rule in created for name in rule["resources"]} == {
        *("selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews")
    }

    # an operator writes objects, but gets no token of a service account
    member = f"{MEMBERS}/{added.json()['id']}"
    assert send(ann, "PATCH", member, {"role": "operator"}).json()["role"] == "operator"
    assert kube.post(PODS, pod("p1")).status_code == 201
    assert kube.post("/api/v1/nodes", node("n1")).status_code == 201
    token = "/api/v1/namespaces/default/serviceaccounts/default/token"
    assert kube.post(token, {"spec": {}}).status_code == 403
    assert kube.get(PODS, headers={"Impersonate-User": "ann"}).status_code == 403
    assert send(bob, "POST", MEMBERS, {"user": "eve", "role": "viewer"}).status_code == 403

    # without the role nothing is left, not even the name
    assert send(ann, "DELETE", member).status_code == 204
    assert kube.get(PODS).status_code == 404
    assert send(bob, "GET", MEMBERS).json()["message"] == 'clusters "lab" not found'
    assert "/clusters/lab" not in bob.get("/search?q=lab").content.decode()


def test_visibility_groups_and_the_history_of_a_deleted_cluster(lab: Cluster) -> None:
    bob = browser_of("bob")
    Group.objects.create(name="sre").user_set.add(User.objects.get(username="bob"))
    out = StringIO()
    call_command("members", "lab", group="sre", role="operator", stdout=out)
    assert out.getvalue() == "visibility members, owner ann\ngroup sre: operator\n"
    assert bob.get(MEMBERS).json()["your_role"] == "operator"
    call_command("members", "lab", visibility="private", stdout=out)
    assert bob.get(MEMBERS).status_code == 404
    call_command("members", "lab", visibility="everyone", stdout=out)
    eve = browser_of("eve")
    assert eve.get(MEMBERS).json()["your_role"] == "viewer"
    assert [each["name"] for each in eve.get("/api/v1/clusters").json()] == ["lab"]
    call_command("members", "lab", visibility="members", stdout=out)
    delete_cluster(lab, user="ann")
    past = f"/api/v1/history/clusters/{lab.pk}"
    assert eve.get(past).status_code == 404 and bob.get(past).status_code == 200
    assert eve.get("/api/v1/history/clusters").json() == []
    assert bob.get(f"/clusters/lab~{lab.pk}/decisions").status_code == 200
    assert eve.get(f"/clusters/lab~{lab.pk}/decisions").status_code == 404
    assert bob.delete(past).status_code == 403
    assert browser_of("ann").delete(past).status_code == 204


def test_the_page_of_members(lab: Cluster) -> None:
    ann = browser_of("ann")
    page = "/clusters/lab/members"
    wrong = ann.post(page, {"user": "nobody", "role": "viewer"})
    assert wrong.status_code == 422 and "There is no user with this name" in wrong.content.decode()
    both = ann.post(page, {"user": "bob", "group": "sre", "role": "viewer"})
    assert "either a user or a group" in both.content.decode()
    done = ann.post(page, {"user": "bob", "role": "viewer"}, follow=True).content.decode()
    assert "bob is now viewer of lab." in done and "Make operator" in done
    again = ann.post(page, {"user": "bob", "role": "admin"})
    assert "This is a member already." in again.content.decode()
    seen = browser_of("bob").get(page).content.decode()
    assert "Your role: <strong>viewer</strong>" in seen and "Make operator" not in seen
    number = members.list_members(lab)[0].pk
    ann.post(f"{page}/{number}", {"role": "admin"})
    assert members.list_members(lab)[0].get_role_display() == "admin"
    ann.post("/clusters/lab/visibility", {"visibility": "private"})
    assert browser_of("bob").get(page).status_code == 404
    ann.post(f"{page}/{number}", {"role": ""})
    assert not members.list_members(lab)


def test_an_operation_ends_with_the_role_of_its_user(lab: Cluster) -> None:
    members.add_member(lab, user="bob", role=Role.OPERATOR, actor="ann")
    bob = browser_of("bob")
    started = send(bob, "POST", "/api/v1/clusters/lab/exports")
    assert started.status_code == 202
    members.remove_member(lab, members.list_members(lab)[0].pk, actor="ann")
    running.run(started.json()["id"])
    found = service.get_operation(started.json()["id"])
    assert found.state == "failed" and "bob may no longer do this" in found.cause
    assert bob.get(f"/api/v1/operations/{found.pk}").status_code == 404


def test_pages_hide_what_a_role_does_not_allow() -> None:
    """Each page that viewers, or operators, may not use has a rule in the style sheet."""
    text = (Path(settings.BASE_DIR) / "static/css/rights.css").read_text()
    of_operators, of_admins = text.split("/* what admins do */")
    sheets = {Need.OPERATOR: of_operators, Need.ADMIN: of_admins}
    # opened from within pages that are hidden themselves
    within = {"landings", "webhook", "members"}
    for pattern in _cluster:
        needs = set(ROUTES[str(pattern.name)].values())
        for need, sheet in sheets.items():
            if need in needs and pattern.name not in within:
                words = re.sub("<[^>]*>", " ", str(pattern.pattern)).split()
                assert any(word.rstrip("/") in sheet for word in words), pattern.name


def test_limits_of_users_and_clusters(lab: Cluster, monkeypatch: Any) -> None:
    ann, kube = browser_of("ann"), kube_of("ann")
    limits = {"request_rate": 0.001, "user_operations": 1, "cluster_objects": 5}
    real = settings.CONFIG

    class Limited:
        def __getattr__(self, name: str) -> Any:
            return limits.get(name, getattr(real, name))

    monkeypatch.setattr(settings, "CONFIG", Limited())
    answers = [kube.get(PODS) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[-1].headers["Retry-After"] == "1"
    assert (answers[-1].json()["reason"], answers[-1].json()["message"]) == (
        "TooManyRequests",
        "the server has received too many requests and has asked us to try again later",
    )
    page = ann.get("/")
    assert (page.status_code, page.headers["Retry-After"]) == (429, "1")
    assert send(ann, "GET", MEMBERS).headers["Retry-After"] == "1"
    limits["request_rate"] = 0
    service.start("export", "Export", actor=Actor("ann"), cluster=lab)
    more = send(ann, "POST", "/api/v1/clusters/lab/exports")
    assert (more.status_code, "SCHEDWEB_USER_OPERATIONS" in more.content.decode()) == (429, True)
    full = kube.post(PODS, pod("p1"))
    assert full.status_code == 403 and "at most 5 " in full.json()["message"]
    rates._left.clear()
    room._counted.clear()
