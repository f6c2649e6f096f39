"""Every address except the login requires a user, and accepts only its methods."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.cluster.roles import Role
from apps.dashboard.urls import urlpatterns
from apps.people import members

pytestmark = pytest.mark.django_db

_ARGUMENTS = {
    "cluster": "lab",
    "namespace": "default",
    "name": "web-1",
    "number": 1,
    "status": 1,
    "revision": 1,
    "resource": "pods",
    "uid": "00000000-0000-0000-0000-000000000001",
    "version": 1,
    "plugin": "NodeAffinity",
    "document": "walk",
    "view": 1,
    "session": "0123456789abcdef",
    "uidb64": "MQ",
    "token": "used",
}
#: Pages before the login.
_OPEN = {"login", "logout", "set-password", "openid", "openid-callback"}
_POST_ONLY = {
    "change-group",
    "undo-nodes",
    "undo-operation",
    "activate-pod",
    "cancel-operation",
    "change-nodes",
    "change-user",
    "delete-token",
    "end-session",
    "delete-identity",
    "end-sessions",
    "delete-view",
    "change-webhook",
    "change-member",
    "set-visibility",
    "set-theme",
    "set-times",
    "clock",
    "change-pods",
    "delete-draft",
    "edit-profile",
    "export",
    "pause",
    "rename-profile",
    "resume",
    "set-condition",
    "set-usage",
    "start-preview",
    "lab-questions",
    "switch",
}
_FORMS = {
    "groups",
    "bundles",
    "pasted",
    "debugger",
    "decision-facts",
    "fork",
    "replays",
    "scenarios",
    "recorded-decisions",
    "lab",
    "account",
    "kubeconfig",
    "new-token",
    "set-password",
    "users",
    "new-view",
    "edit-view",
    "password",
    "webhooks",
    "members",
    "forget-cluster",
    "new-cluster",
    "cluster-settings",
    "delete-cluster",
    "drain",
    "new-node",
    "new-pod",
    "new-profile",
    "activate-profile",
    "import",
    "new-object",
    "edit-object",
    "edit-namespaced-object",
    "delete-object",
    "delete-namespaced-object",
}


def list_pages(patterns: Sequence[URLPattern | URLResolver], *outer: str) -> list[tuple[str, str]]:
    """(name, address) of every page of the dashboard; `outer` are the arguments around them."""
    found = []
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            found += list_pages(pattern.url_patterns, *outer, *pattern.pattern.converters)
        else:
            arguments = _arguments(pattern, *outer)
            found.append((pattern.name or "", reverse(pattern.name, kwargs=arguments)))
    return found


def _arguments(pattern: URLPattern, *more: str) -> dict[str, object]:
    return {name: _ARGUMENTS[name] for name in (*pattern.pattern.converters, *more)}


PAGES = list_pages(urlpatterns)


@pytest.mark.parametrize(("name", "address"), [each for each in PAGES if each[0] not in _OPEN])
def test_an_unauthenticated_request_is_redirected_to_the_login(
    client: Client, name: str, address: str
) -> None:
    for response in (client.get(address), client.post(address)):
        assert response.status_code == 302
        assert response.headers["Location"].startswith("/login?next=")


@pytest.mark.parametrize(("name", "address"), [each for each in PAGES if each[0] != "login"])
def test_the_wrong_method_is_refused(alice: Client, lab: Cluster, name: str, address: str) -> None:
    assert alice.delete(address).status_code == 405
    if name in _POST_ONLY | {"logout"}:
        assert alice.get(address).status_code == 405
    elif name not in _FORMS:
        assert alice.post(address).status_code == 405


def test_a_user_logs_in_and_out(client: Client) -> None:
    User.objects.create_user("bob", password="the builder")
    wrong = client.post("/login", {"username": "bob", "password": "wrong"})
    assert "do not match" in wrong.content.decode()
    right = client.post("/login?next=/new-cluster", {"username": "bob", "password": "the builder"})
    assert right.headers["Location"] == "/new-cluster"
    assert client.get("/").status_code == 200
    client.post("/logout")
    assert client.get("/").status_code == 302


def test_a_region_redirects_the_page_to_the_login_after_the_session(client: Client) -> None:
    response = client.get("/", headers={"HX-Request": "true"}, follow=True)
    assert response.headers["HX-Redirect"] == "/login"
    headers = {
        "HX-Request": "true",
        "HX-Current-URL": "http://testserver/clusters/lab/queue?pod=a b",
    }
    response = client.get("/clusters/lab/queue", headers=headers, follow=True)
    assert response.headers["HX-Redirect"] == "/login?next=/clusters/lab/queue%3Fpod%3Da+b"


@pytest.mark.parametrize(
    ("page", "target"),
    [
        ("http://testserver/clusters/lab/queue?pod=a", "/clusters/lab/queue%3Fpod%3Da"),
        ("http://elsewhere.example/clusters/lab", "/"),
        ("http://testserver//elsewhere.example/", None),
        ("", "/"),
    ],
)
def test_a_login_after_an_action_leads_back_to_its_page(
    client: Client, page: str, target: str | None
) -> None:
    User.objects.create_user("bob", password="the builder")
    sent = client.post("/clusters/lab/pause", headers={"referer": page})
    address = sent.headers["Location"]
    if target is not None:
        assert address == f"/login?next={target}"
    done = client.post(address, {"username": "bob", "password": "the builder"})
    assert done.headers["Location"].startswith("/")
    assert not done.headers["Location"].startswith("//")


def test_the_login_page_says_that_a_form_was_not_saved(client: Client) -> None:
    page = client.post("/clusters/lab/new-pod", {"name": "web"}, follow=True)
    assert "nothing was changed" in page.content.decode()
    assert "nothing was changed" not in client.get("/", follow=True).content.decode()


def test_a_form_of_another_site_changes_nothing(lab: Cluster) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_user("carol"))
    response = strict.post("/clusters/lab/pause")
    assert response.status_code == 403
    assert "reload the page" in response.content.decode()
    lab.refresh_from_db()
    assert not lab.paused


def test_an_error_says_what_was_looked_for_and_keeps_the_navigation(
    alice: Client, lab: Cluster
) -> None:
    node = alice.get("/clusters/lab/nodes/nobody")
    assert node.status_code == 404
    page = node.content.decode()
    assert "There is no Node “nobody”." in page and "/search?q=nobody" in page
    assert '<a href="/clusters/lab/queue"' in " ".join(page.split())
    cluster = alice.get("/clusters/nowhere").content.decode()
    assert "There is no cluster “nowhere”." in cluster and "/operations" in cluster
    nothing = alice.get("/clusters/lab/nothing-here").content.decode()
    assert "/clusters/lab/nothing-here" in nothing

    client = Client()
    viewer = User.objects.create_user("viewer")
    client.force_login(viewer)
    members.add_member(lab, user="viewer", role=Role.VIEWER, actor="alice")
    forbidden = client.get("/clusters/lab/settings")
    assert forbidden.status_code == 403
    assert '<a href="/clusters/lab/queue"' in " ".join(forbidden.content.decode().split())
    # of a cluster that the user does not see, nothing is said
    create_cluster("hidden", user="alice")
    assert "/clusters/hidden/queue" not in client.get("/clusters/hidden/settings").content.decode()
