"""Users: invitations, reset links, deactivation, site admins, sessions; pages and API."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from django.urls import reverse

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.errors import Conflict
from apps.people import accounts
from apps.people.models import AuditEntry, UserSession
from apps.people.tokens import create_token
from tests.api.control.conftest import Api

pytestmark = pytest.mark.django_db

PASSWORD = {"new_password1": "through the glass", "new_password2": "through the glass"}


@pytest.fixture
def root(db: None) -> User:
    return User.objects.create_superuser("root", password="of the site")


@pytest.fixture
def admin(root: User) -> Api:
    return Api(create_token(root, "test").key)


def use_link(path: str) -> Client:
    """A browser that has set a password with the link."""
    browser = Client()
    form = browser.get(path, follow=True)
    assert "Set your password" in form.content.decode()
    done = browser.post(form.redirect_chain[-1][0], PASSWORD, follow=True)
    assert "Password set" in done.content.decode()
    return browser


def test_an_invited_user_sets_a_password_with_the_link_once(admin: Api) -> None:
    answer = admin.post("/users", {"name": "alice", "email": "alice@example.test"})
    assert answer.status_code == 201 and answer.headers["Cache-Control"] == "no-store"
    path = answer.json()["link"].removeprefix("http://testserver")
    assert answer.json()["mailed"] is False
    alice = admin.get("/users/alice").json()
    assert (alice["site_admin"], alice["has_password"], alice["active"]) == (False, False, True)
    browser = use_link(path)
    entered = {"username": "alice", "password": "through the glass"}
    assert browser.post("/login", entered).status_code == 302
    used = Client().get(path)
    assert used.status_code == 410 and "no longer valid" in used.content.decode()
    assert [e.action for e in AuditEntry.objects.order_by("id")][:4] == [
        "token-created",
        "user-invited",
        "password-changed",
        "signed-in",
    ]


def test_a_link_expires_and_a_newer_invitation_replaces_it(admin: Api, settings: object) -> None:
    first = admin.post("/users", {"name": "alice"}).json()["link"]
    second = admin.post("/users/alice/reset").json()["link"]
    assert Client().get(first).status_code == 410
    settings.PASSWORD_RESET_TIMEOUT = -1  # type: ignore[attr-defined]
    assert Client().get(second).status_code == 410


def test_a_link_is_sent_by_mail_if_there_is_a_server(admin: Api, settings: object) -> None:
    settings.EMAIL_HOST = "mail.example.test"  # type: ignore[attr-defined]
    sent = admin.post("/users", {"name": "alice", "email": "alice@example.test"}).json()
    assert sent["mailed"] and sent["link"] in mail.outbox[0].body
    assert mail.outbox[0].to == ["alice@example.test"]


@pytest.mark.parametrize(
    ("wanted", "code", "field"),
    [
        ({"name": "a:b"}, 422, "name"),
        ({"name": "system:serviceaccount:default:a"}, 422, "name"),
        ({"name": "alice", "email": "nowhere"}, 422, "email"),
        ({"name": ""}, 400, "name"),
        ({"name": "root"}, 409, None),
    ],
)
def test_a_wrong_invitation_is_refused(
    admin: Api, wanted: dict[str, str], code: int, field: str | None
) -> None:
    answer = admin.post("/users", wanted)
    assert answer.status_code == code
    assert [cause["field"] for cause in answer.json()["causes"]] == ([field] if field else [])
    assert User.objects.count() == 1


def test_a_deactivated_user_is_signed_out_and_tokens_are_rejected(admin: Api) -> None:
    alice = accounts.create_user("alice", "through the glass")
    browser, api = Client(), Api(create_token(alice, "ci").key)
    browser.force_login(alice)
    assert admin.patch("/users/alice", {"active": False}).json()["active"] is False
    assert api.get("/tokens").status_code == 401
    assert browser.get("/account").status_code == 302
    entered = {"username": "alice", "password": "through the glass"}
    assert browser.post("/login", entered).status_code == 200
    admin.patch("/users/alice", {"active": True})
    assert api.get("/tokens").status_code == 200


def test_the_last_active_site_admin_remains_one(admin: Api, root: User) -> None:
    User.objects.create_superuser("sleeping", is_active=False)
    for change in ({"active": False}, {"site_admin": False}):
        answer = admin.patch("/users/root", change)
        assert answer.status_code == 409 and "last active site admin" in answer.json()["message"]
    accounts.create_user("alice", "through the glass", site_admin=True)
    both = {"active": False, "site_admin": False}
    assert admin.patch("/users/alice", both).status_code == 200
    assert admin.patch("/users/root", {"site_admin": False}).status_code == 409
    assert User.objects.get(username="root").is_superuser


@pytest.mark.django_db(transaction=True)
def test_two_requests_at_once_do_not_remove_both_of_two_admins() -> None:
    users = [User.objects.create_superuser(name) for name in ("one", "two")]

    def remove(user: User) -> bool:
        try:
            accounts.set_site_admin(user, False)
        except Conflict:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        removed = list(pool.map(remove, users))
    assert sorted(removed) == [False, True]
    assert User.objects.filter(is_superuser=True).count() == 1


def test_only_site_admins_with_unlimited_tokens_manage_users(admin: Api) -> None:
    alice = accounts.create_user("alice", "through the glass")
    of_alice = Api(create_token(alice, "ci").key)
    root = User.objects.get(username="root")
    create_cluster("lab", user="root")
    in_lab = Api(create_token(root, "lab", clusters=["lab"]).key)
    reading = Api(create_token(root, "ro", read_only=True).key)

    def read(api: Api) -> list[Any]:
        addresses = ("/users", "/users/root/tokens", "/audit", "/audit/export")
        return [api.get(address) for address in addresses]

    def change(api: Api) -> list[Any]:
        return [
            api.post("/users", {"name": "bob"}),
            api.patch("/users/alice", {"site_admin": True}),
            api.post("/users/root/reset"),
            api.post("/users/root/sign-out"),
            api.delete("/users/root/tokens/1"),
        ]

    answers = [*read(of_alice), *change(of_alice), *read(in_lab), *change(in_lab), *change(reading)]
    for answer in answers:
        assert answer.status_code == 403 and answer.json()["reason"] == "Forbidden"
    assert [answer.status_code for answer in read(reading)] == [200] * 4
    assert Api("").get("/users").status_code == 401
    page = Client()
    page.force_login(alice)
    for address in ("/users", "/users/root"):
        assert page.get(address).status_code == 403
    assert page.post("/users/root/change", {"action": "deactivate"}).status_code == 403
    assert "/users" not in page.get("/account").content.decode()


def test_tokens_of_a_user_are_listed_and_deleted(admin: Api) -> None:
    alice = accounts.create_user("alice", "through the glass")
    of_alice = Api(create_token(alice, "ci").key)
    listed = admin.get("/users/alice/tokens").json()
    assert [each["name"] for each in listed] == ["ci"]
    assert admin.delete(f"/users/alice/tokens/{listed[0]['id']}").status_code == 204
    assert of_alice.get("/tokens").status_code == 401
    assert admin.get("/users/nobody/tokens").status_code == 404


def test_sessions_are_listed_and_ended(root: User, admin: Api) -> None:
    browsers = [Client(), Client(), Client()]
    for number, browser in enumerate(browsers):
        entered = {"username": "root", "password": "of the site"}
        headers = {"User-Agent": f"browser {number}"}
        browser.post("/login", entered, headers=headers, REMOTE_ADDR="192.0.2.9")
    listed = admin.get("/sessions").json()
    assert {each["agent"] for each in listed} == {"browser 0", "browser 1", "browser 2"}
    assert {each["address"] for each in listed} == {"192.0.2.9"}
    # an id is not a key
    keys = set(UserSession.objects.values_list("session_key", flat=True))
    assert not keys & {each["id"] for each in listed}
    first = next(each["id"] for each in listed if each["agent"] == "browser 0")
    assert admin.delete(f"/sessions/{first}").status_code == 204
    assert admin.delete(f"/sessions/{first}").status_code == 404
    assert browsers[0].get("/account").status_code == 302
    page = browsers[1].get("/account").content.decode()
    assert "browser 2" in page and "this one" in page
    browsers[1].post("/account/sessions/end")
    assert browsers[1].get("/account").status_code == 200
    assert browsers[2].get("/account").status_code == 302
    assert admin.delete("/sessions").json() == {"ended": 1}
    assert browsers[1].get("/account").status_code == 302
    ended = AuditEntry.objects.filter(action="session-ended")
    assert {each.details["agent"] for each in ended} == {"browser 0", "browser 1", "browser 2"}


@pytest.mark.parametrize("name", [".", "..", "a/b", "../a", "a?b", "a#b", "a%2e", "", "a\nb"])
def test_a_name_that_no_address_can_contain_is_refused(admin: Api, name: str) -> None:
    answer = admin.post("/users", {"name": name})
    assert answer.status_code in (400, 422)
    assert not User.objects.filter(username=name).exists()


@pytest.mark.parametrize("name", ["...", "a..b", "a+b@c.example", "été", "_"])
def test_any_other_name_has_its_page(root: User, admin: Api, name: str) -> None:
    assert admin.post("/users", {"name": name}).status_code == 201
    browser = Client()
    browser.force_login(root)
    assert browser.get(reverse("user", args=[name])).status_code == 200


def test_site_admins_invite_and_change_users_on_pages(root: User) -> None:
    browser = Client()
    browser.force_login(root)
    wrong = browser.post("/users", {"name": "a b"})
    assert wrong.status_code == 422 and "Enter a valid username" in wrong.content.decode()
    shown = browser.post("/users", {"name": "alice", "site_admin": "on"})
    assert shown.headers["Cache-Control"] == "no-store"
    assert "http://testserver/set-password/" in shown.content.decode()
    listed = browser.get("/users").content.decode()
    assert "invited" in listed and listed.count("site admin</span>") == 2
    create_token(accounts.user_named("alice"), "ci")

    def change(**posted: object) -> str:
        answer = browser.post("/users/alice/change", posted, follow=True)
        return answer.content.decode()

    assert "no longer a site admin" in change(action="remove-site-admin")
    assert "alice is now a site admin" in change(action="add-site-admin")
    assert "alice deactivated" in change(action="deactivate")
    assert "alice activated" in change(action="activate")
    assert "signed out: 0" in change(action="sign-out")
    token = accounts.user_named("alice").auth_token_set.get().pk
    assert "Token ci of alice deleted" in change(action="delete-token", token=token)
    assert "/set-password/" in change(action="reset")
    assert "Unknown action" in change(action="dance")
    assert browser.get("/users/nobody").status_code == 404
    change(action="remove-site-admin")
    refused = browser.post("/users/root/change", {"action": "deactivate"})
    assert refused.status_code == 409 and "last active site admin" in refused.content.decode()
