"""Groups of users: created by site admins, members of clusters as users are."""

from __future__ import annotations

from io import StringIO
from urllib.parse import quote

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.roles import Role
from apps.people import members
from apps.people.models import AuditEntry

JSON = "application/json"

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    for name in ("ann", "bob"):
        User.objects.create_user(name)
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def sees(name: str, cluster: str) -> bool:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client.get(f"/clusters/{cluster}").status_code == 200


def test_a_group_gives_its_role_to_its_users_as_long_as_they_are_in_it(admin: Client) -> None:
    lab = create_cluster("lab", user="root")
    body = {"name": "sre", "users": ["bob"]}
    answer = admin.post("/api/v1/groups", body, JSON)
    assert (answer.status_code, answer.json()) == (201, body)
    assert not sees("bob", "lab")
    members.add_member(lab, group="sre", role=Role.VIEWER, actor="root")
    assert sees("bob", "lab") and not sees("ann", "lab")
    admin.put("/api/v1/groups/sre", {"users": ["ann"]}, JSON)
    assert sees("ann", "lab") and not sees("bob", "lab")
    assert admin.delete("/api/v1/groups/sre").status_code == 204
    assert not sees("ann", "lab")
    found = AuditEntry.objects.filter(action="group-changed").order_by("id")
    assert [(entry.user, entry.target, entry.details) for entry in found] == [
        ("root", "sre", {"created": True, "added": ["bob"]}),
        ("root", "sre", {"added": ["ann"], "removed": ["bob"]}),
        ("root", "sre", {"deleted": True, "removed": ["ann"]}),
    ]


def test_an_unknown_user_is_an_error_that_changes_nothing(admin: Client) -> None:
    answer = admin.post("/api/v1/groups", {"name": "sre", "users": ["bob", "eve"]}, JSON)
    assert answer.status_code == 422
    assert answer.json()["causes"] == [{"field": "users", "message": "there is no user 'eve'"}]
    assert admin.get("/api/v1/groups").json() == []
    admin.post("/api/v1/groups", {"name": "sre", "users": ["bob"]}, JSON)
    assert admin.put("/api/v1/groups/sre", {"users": ["eve"]}, JSON).status_code == 422
    assert admin.get("/api/v1/groups/sre").json()["users"] == ["bob"]
    assert admin.post("/api/v1/groups", {"name": "sre"}, JSON).status_code == 409


def test_only_site_admins_manage_groups(admin: Client) -> None:
    ann = Client()
    ann.force_login(User.objects.get(username="ann"))
    assert ann.post("/api/v1/groups", {"name": "sre"}, JSON).status_code == 403
    assert ann.get("/groups").status_code == 403


def test_groups_are_managed_on_their_page(admin: Client) -> None:
    created = admin.post("/groups", {"name": "sre", "users": ["bob"]}, follow=True)
    assert "Group sre created." in created.content.decode()
    taken = admin.post("/groups", {"name": "sre"})
    assert taken.status_code == 422 and "already exists" in taken.content.decode()
    changed = admin.post(
        f"/groups/{Group.objects.get().pk}/change",
        {"action": "set", "users": ["ann", "bob"]},
        follow=True,
    )
    assert "ann, bob" in changed.content.decode()
    admin.post(f"/groups/{Group.objects.get().pk}/change", {"action": "delete"})
    assert "No groups." in admin.get("/groups").content.decode()


def test_groups_are_managed_by_command(admin: Client) -> None:
    def run(*arguments: str) -> str:
        out = StringIO()
        call_command("group", *arguments, stdout=out)
        return out.getvalue()

    run("create", "sre", "bob", "ann")
    run("create", "empty")
    assert run("list") == "empty\tno users\nsre\tann, bob\n"
    run("set", "sre", "ann")
    run("delete", "empty")
    assert run("list") == "sre\tann\n"


@pytest.mark.parametrize("name", ["a/b", "/admins", "50%", "a b?c#d", "été", "<b>", "a..b"])
def test_any_text_may_name_a_group(admin: Client, name: str) -> None:
    body = {"name": name, "users": ["ann"]}
    assert admin.post("/api/v1/groups", body, JSON).status_code == 201
    page = admin.get("/groups")
    assert page.status_code == 200
    address = f"/groups/{Group.objects.get().pk}/change"
    assert address in page.content.decode()
    assert admin.get("/users/ann").status_code == 200
    assert admin.post(address, {"action": "set", "users": ["bob"]}).status_code == 302
    in_address = quote(name, safe="")
    assert admin.get(f"/api/v1/groups/{in_address}").json()["users"] == ["bob"]
    assert admin.delete(f"/api/v1/groups/{in_address}").status_code == 204


@pytest.mark.parametrize("name", ["", ".", "..", "a/../b", "a\nb", "a\x00b", "a\u2028b"])
def test_a_name_that_no_address_can_contain_is_refused(admin: Client, name: str) -> None:
    assert admin.post("/api/v1/groups", {"name": name}, JSON).status_code in (400, 422)
    assert not Group.objects.exists()
