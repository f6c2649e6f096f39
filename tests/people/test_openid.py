"""Login with OpenID Connect, at a provider on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from django.contrib.auth.models import Group, User
from django.http import HttpResponse
from django.test import Client

from apps.people import accounts, groups
from apps.people.models import AuditEntry, OpenIdIdentity
from schedweb.config import InvalidEnvironment, OpenIdSettings, load
from tests.people.provider import Provider, create_key, running_provider

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(settings: Any) -> Iterator[Provider]:
    with running_provider() as running:
        settings.OPENID = OpenIdSettings(running.issuer, *running.client, label="Example")
        yield running


def come_back(browser: Client, next_address: str = "/operations") -> str:
    """The path with which the provider sends the browser back."""
    return leave(browser, f"/login/openid?next={next_address}")


def leave(browser: Client, link: str) -> str:
    """As `come_back`, for a link of a page."""
    left = browser.get(link)
    assert left.status_code == 302
    agreed = requests.get(left.headers["Location"], allow_redirects=False, timeout=10)
    return agreed.headers["Location"].removeprefix("http://testserver")


def log_in(browser: Client, next_address: str = "/operations") -> HttpResponse:
    return browser.get(come_back(browser, next_address))  # type: ignore[return-value]


def follow(browser: Client, link: str) -> HttpResponse:
    return browser.get(leave(browser, link))  # type: ignore[return-value]


def text_of(response: HttpResponse) -> str:
    return " ".join(response.content.decode().split())


def test_a_new_user_is_created_and_recognized_by_the_subject(provider: Provider) -> None:
    browser = Client()
    assert "Sign in with Example" in text_of(browser.get("/login"))  # type: ignore[arg-type]
    assert log_in(browser).headers["Location"] == "/operations"
    alice = User.objects.get()
    assert alice.username == "alice" and not alice.is_superuser
    assert not alice.has_usable_password()
    assert browser.get("/account").status_code == 200
    # another name at the provider is still the same user
    provider.claims["preferred_username"] = "alicia"
    assert log_in(Client(), "//elsewhere.test/").headers["Location"] == "/"
    assert User.objects.count() == 1
    signed_in = AuditEntry.objects.filter(action="signed-in", user="alice")
    assert [entry.details for entry in signed_in] == [{"by": "OpenID Connect"}] * 2


def test_a_name_takes_over_no_user_with_a_password(provider: Provider) -> None:
    root = User.objects.create_superuser("alice", password="of the site")
    refused = log_in(Client())
    assert refused.status_code == 409 and "link the identity" in text_of(refused)
    browser = Client()
    browser.force_login(root)
    assert follow(browser, link_on(browser, "/account")).headers["Location"] == "/account"
    assert OpenIdIdentity.objects.get().user == root
    assert log_in(Client()).status_code == 302
    assert linked() == [("alice", "account page")]


def test_an_identity_is_shown_and_removed(provider: Provider) -> None:
    root = User.objects.create_superuser("root", password="of the site")
    sre = Group.objects.create(name="sre")
    browser = Client()
    log_in(browser)
    (identity,) = OpenIdIdentity.objects.all()
    account = text_of(browser.get("/account"))  # type: ignore[arg-type]
    assert identity.subject in account and identity.issuer in account
    only = browser.post(f"/account/identities/{identity.pk}/delete", follow=True)
    assert "is the only way to sign in" in text_of(only)  # type: ignore[arg-type]
    alice = identity.user
    alice.set_password("a password of hers")
    alice.save()
    identity.groups.add(sre)
    alice.groups.add(sre)

    admin = Client()
    admin.force_login(root)
    page = "/users/alice"
    assert identity.subject in text_of(admin.get(page))  # type: ignore[arg-type]
    foreign = admin.post(f"/account/identities/{identity.pk}/delete", follow=True)
    assert "not found" in text_of(foreign)  # type: ignore[arg-type]
    wanted = {"action": "delete-identity", "identity": identity.pk}
    assert admin.post(f"{page}/change", wanted).status_code == 302
    assert not OpenIdIdentity.objects.exists() and not alice.groups.exists()
    entry = AuditEntry.objects.get(action="identity-removed")
    assert (entry.user, entry.target, entry.details["subject"]) == (
        "root",
        "alice",
        identity.subject,
    )
    assert log_in(Client()).status_code == 409, "the name alone is not enough"


def test_no_other_site_makes_a_user_link_an_identity(provider: Provider) -> None:
    """It can send the browser anywhere, also to a provider where its own account is signed in."""
    root = User.objects.create_superuser("root", password="of the site")
    browser = Client()
    browser.force_login(root)
    foreign = Client()
    foreign.force_login(User.objects.create_user("mallory"))
    refused = browser.get(link_on(foreign, "/account"))
    assert refused.status_code == 403 and "start again" in text_of(refused)  # type: ignore[arg-type]
    log_in(browser)
    assert OpenIdIdentity.objects.get().user.username == "alice"


def test_the_name_of_an_invited_user_is_not_enough(provider: Provider) -> None:
    invitation = accounts.invite_user("alice", email="alice@example.test", site_admin=True)
    provider.claims |= {"email": "alice@example.test", "email_verified": True}
    refused = log_in(Client())
    assert refused.status_code == 409 and "link of your invitation" in text_of(refused)
    provider.claims["preferred_username"] = "a. liddell"
    browser, second = Client(), Client()
    page = browser.get(invitation.path, follow=True).redirect_chain[0][0]
    second.get(invitation.path)
    unused = link_on(second, page)
    assert follow(browser, link_on(browser, page)).headers["Location"] == "/"
    assert browser.get("/users").status_code == 200
    assert linked() == [("alice", "invitation")]
    # the link is used, for the password and for another identity
    assert Client().get(invitation.path).status_code == 410
    provider.claims["sub"] = "43"
    assert follow(second, unused).status_code == 403
    assert OpenIdIdentity.objects.count() == 1


def test_a_link_of_an_invitation_counts_for_its_user_only(provider: Provider) -> None:
    invitation = accounts.invite_user("alice")
    other = accounts.invite_user("root", site_admin=True)
    browser = Client()
    page = browser.get(invitation.path, follow=True).redirect_chain[0][0]
    number = other.path.split("/")[2]
    forged = link_on(browser, page).replace(invitation.path.split("/")[2], number)
    refused = follow(browser, forged)
    assert refused.status_code == 403 and "ask a site admin" in text_of(refused)
    assert not OpenIdIdentity.objects.exists()


@pytest.mark.parametrize(
    ("claims", "is_linked"),
    [
        ({"email": "Alice@example.test", "email_verified": True}, True),
        ({"email": "alice@example.test", "email_verified": False}, False),
        ({"email": "alice@example.test", "email_verified": "true"}, False),
        ({"email": "alice@example.test"}, False),
        ({"email": "", "email_verified": True}, False),
        ({"email": "both@example.test", "email_verified": True}, False),
        ({"email": "root@example.test", "email_verified": True}, False),
    ],
)
def test_a_site_may_link_by_verified_addresses(
    provider: Provider, settings: Any, claims: dict[str, Any], is_linked: bool
) -> None:
    settings.OPENID = OpenIdSettings(provider.issuer, *provider.client, links_emails=True)
    accounts.invite_user("alice", email="alice@example.test")
    accounts.invite_user("carol")
    for name in ("one", "two"):
        accounts.invite_user(name, email="both@example.test")
    User.objects.create_superuser("root", "root@example.test", password="of the site")
    provider.claims |= claims
    refused = log_in(Client())
    assert refused.status_code == (302 if is_linked else 409)
    assert linked() == ([("alice", "e-mail address")] if is_linked else [])


def test_an_inactive_user_is_not_linked(provider: Provider, settings: Any) -> None:
    settings.OPENID = OpenIdSettings(provider.issuer, *provider.client, links_emails=True)
    invitation = accounts.invite_user("alice", email="alice@example.test")
    browser = Client()
    page = browser.get(invitation.path, follow=True).redirect_chain[0][0]
    link = link_on(browser, page)
    User.objects.update(is_active=False)
    provider.claims |= {"email": "alice@example.test", "email_verified": True}
    assert log_in(Client()).status_code == 409
    assert follow(browser, link).status_code == 403
    assert not OpenIdIdentity.objects.exists()


def link_on(browser: Client, page: str) -> str:
    """The link to the provider on a page."""
    found = re.search(r'href="(/login/openid[^"]*)"', browser.get(page).content.decode())
    assert found is not None
    return found[1].replace("&amp;", "&")


def linked() -> list[tuple[str, str]]:
    """The identities in the audit log: the users, and why they were linked."""
    entries = AuditEntry.objects.filter(action="identity-linked").order_by("pk")
    return [(entry.target, entry.details["by"]) for entry in entries]


def test_an_inactive_or_uninvited_user_is_refused(provider: Provider, settings: Any) -> None:
    log_in(Client())
    User.objects.update(is_active=False)
    refused = log_in(Client())
    assert refused.status_code == 403 and "is inactive" in text_of(refused)
    settings.OPENID = OpenIdSettings(provider.issuer, *provider.client, creates_users=False)
    provider.claims = {"sub": "43", "preferred_username": "bob"}
    refused = log_in(Client())
    assert refused.status_code == 403 and "ask a site admin" in text_of(refused)
    provider.claims = {"sub": "44", "preferred_username": "system:masters"}
    settings.OPENID = OpenIdSettings(provider.issuer, *provider.client)
    assert log_in(Client()).status_code == 422
    assert User.objects.count() == 1


def test_groups_follow_the_claim(provider: Provider, settings: Any) -> None:
    settings.OPENID = OpenIdSettings(provider.issuer, *provider.client, groups_claim="groups")
    for name in ("operators", "teachers", "staff"):
        groups.create_group(name)
    provider.claims["groups"] = ["operators", "staff", "unknown", 7, "nul\x00"]
    log_in(Client())
    alice = User.objects.get()
    assert groups_of(alice) == ["operators", "staff"]
    # what a site admin adds stays
    groups.set_users(groups.group_named("teachers"), ["alice"])
    provider.claims["groups"] = "staff"
    log_in(Client())
    assert groups_of(alice) == ["staff", "teachers"]
    provider.claims["groups"] = {"staff": True}
    log_in(Client())
    assert groups_of(alice) == ["teachers"]
    changes = AuditEntry.objects.filter(action="group-changed", target="staff").order_by("pk")
    assert [entry.details for entry in changes][1:] == [
        {"added": ["alice"]},
        {"removed": ["alice"]},
    ]


def groups_of(user: User) -> list[str]:
    return sorted(user.groups.values_list("name", flat=True))


@pytest.mark.parametrize("wrong", ["nonce", "aud", "iss", "exp", "signature", "state", "denied"])
def test_a_response_that_does_not_fit_is_refused(provider: Provider, wrong: str) -> None:
    browser = Client()
    match wrong:
        case "signature":
            provider.key = create_key(2)
        case "exp":
            provider.claims["exp"] = 1
        case "nonce" | "aud" | "iss":
            provider.claims[wrong] = "other"
    path = come_back(browser)
    if wrong == "state":
        browser = Client()
    elif wrong == "denied":
        path = "/login/openid/callback?error=access_denied"
    refused = browser.get(path)
    assert refused.status_code == 401
    assert "The sign-in did not succeed" in text_of(refused)  # type: ignore[arg-type]
    assert not User.objects.exists()
    assert browser.get("/account").status_code == 302


def test_without_a_provider_or_its_answer_the_page_says_so(settings: Any) -> None:
    assert Client().get("/login/openid").status_code == 404
    settings.OPENID = OpenIdSettings("http://127.0.0.1:1", "schedweb", "secret")
    refused = Client().get("/login/openid")
    assert refused.status_code == 503 and "does not respond" in refused.content.decode()


def test_the_provider_is_configured_by_the_environment() -> None:
    environ = {
        "SCHEDWEB_OIDC_ISSUER": "https://id.example.test",
        "SCHEDWEB_OIDC_CLIENT_ID": "schedweb",
        "SCHEDWEB_OIDC_CLIENT_SECRET": "secret",
        "SCHEDWEB_OIDC_CREATE_USERS": "0",
    }
    found = load(environ).openid
    assert found == OpenIdSettings(
        "https://id.example.test", "schedweb", "secret", creates_users=False
    )
    assert load({}).openid is None
    with pytest.raises(InvalidEnvironment, match="SCHEDWEB_OIDC_CLIENT_SECRET"):
        load(environ | {"SCHEDWEB_OIDC_CLIENT_SECRET": ""})
    with pytest.raises(InvalidEnvironment, match="SCHEDWEB_OIDC_SCOPE must contain openid"):
        load(environ | {"SCHEDWEB_OIDC_SCOPE": "profile"})
    with pytest.raises(InvalidEnvironment, match="https"):
        load(environ | {"SCHEDWEB_OIDC_ISSUER": "http://id.example.test"})
