"""Failed sign-ins are limited, of one account and from one address."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import urlsplit

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client

from apps.people import throttling
from apps.people.audit.refused_requests import recent
from apps.people.models import AuditEntry
from apps.people.tokens import create_token
from schedweb.front.trust import drop_claims

pytestmark = pytest.mark.django_db

LIMIT = 10
RIGHT = "of wonderland"


@pytest.fixture(autouse=True)
def alice(settings: Any) -> User:
    recent.clear()
    # many passwords are checked
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return User.objects.create_user("alice", password=RIGHT)


def log_in(name: str, password: str, address: str, browser: Client | None = None) -> HttpResponse:
    entered = {"username": name, "password": password}
    browser = browser or Client()
    return browser.post("/login", entered, REMOTE_ADDR=address)  # type: ignore[return-value]


def guess(times: int, name: str = "alice") -> None:
    """Wrong passwords from changing addresses; those after the tenth are only stored."""
    for number in range(min(times, LIMIT)):
        log_in(name, "wrong", f"198.51.100.{number + 1}")
    AccessAttempt.objects.bulk_create(
        AccessAttempt(username=name, ip_address=f"203.0.113.{number + 1}", failures_since_start=1)
        for number in range(LIMIT, times)
    )


def test_an_address_is_blocked_for_a_name_and_unblocked() -> None:
    for _ in range(LIMIT - 1):
        assert log_in("alice", "wrong", "192.0.2.1").status_code == 200
    blocked = log_in("alice", "wrong", "192.0.2.1")
    assert blocked.status_code == 429 and blocked.headers["Retry-After"] == "300"
    assert "Try again in 5 minutes" in blocked.content.decode()
    # the right password is not tried
    assert log_in("alice", RIGHT, "192.0.2.1").status_code == 429
    actions = [entry.action for entry in AuditEntry.objects.order_by("id")]
    assert actions.count("sign-in-failed") <= LIMIT
    assert AuditEntry.objects.filter(action="sign-in-blocked", user="alice").exists()
    # neither another address nor another name
    assert log_in("alice", RIGHT, "192.0.2.2").status_code == 302
    User.objects.create_user("bob", password=RIGHT)
    assert log_in("bob", RIGHT, "192.0.2.1").status_code == 302
    call_command("user", "unblock", "alice", stdout=StringIO())
    assert log_in("alice", RIGHT, "192.0.2.1").status_code == 302


def test_wrong_passwords_from_changing_addresses_keep_nobody_out() -> None:
    guess(5 * LIMIT)
    # also not in a new browser
    assert log_in("alice", RIGHT, "192.0.2.1").status_code == 302


def test_while_strangers_guess_a_password_each_address_has_one_attempt() -> None:
    guess(LIMIT)
    assert log_in("alice", "wrong", "192.0.2.1").status_code == 429
    assert log_in("alice", RIGHT, "192.0.2.1").status_code == 429
    assert log_in("alice", RIGHT, "192.0.2.2").status_code == 302


def test_guesses_from_any_number_of_addresses_are_slow_and_the_owner_has_a_known_device() -> None:
    owner = Client()
    assert log_in("alice", RIGHT, "192.0.2.1", owner).status_code == 302
    owner.post("/logout")
    guess(99)
    # the hundredth
    assert log_in("alice", "wrong", "192.0.2.100").status_code == 429
    for number in range(20):
        assert log_in("alice", "wrong", f"192.0.2.{101 + number}").status_code == 429
    assert log_in("alice", RIGHT, "192.0.2.200").status_code == 429
    assert log_in("alice", RIGHT, "192.0.2.200", owner).status_code == 302


def test_a_known_device_is_limited_and_its_cookie_is_of_one_user_and_one_password(
    alice: User,
) -> None:
    User.objects.create_user("bob", password=RIGHT)
    device = Client()
    log_in("alice", RIGHT, "192.0.2.1", device)
    device.post("/logout")
    for name, value in device.cookies.items():
        if name.startswith("schedweb-device"):
            assert value["httponly"] and value["samesite"] == "Lax" and value["max-age"]
    for number in range(LIMIT - 1):
        assert log_in("alice", "wrong", f"192.0.2.{number}", device).status_code == 200
    assert log_in("alice", "wrong", "192.0.2.99", device).status_code == 429
    assert log_in("alice", RIGHT, "192.0.2.98", device).status_code == 429
    throttling.unblock("alice")
    # for another user it is a stranger
    guess(99, "bob")
    assert log_in("bob", "wrong", "192.0.2.97", device).status_code == 429
    assert log_in("bob", RIGHT, "192.0.2.96", device).status_code == 429
    # and for this one after the password was changed
    alice.set_password("through the glass")
    alice.save()
    guess(99)
    assert log_in("alice", "wrong", "192.0.2.95", device).status_code == 429
    assert log_in("alice", "through the glass", "192.0.2.94", device).status_code == 429


def test_the_link_of_a_reset_is_a_way_in_while_strangers_guess(alice: User) -> None:
    admin = User.objects.create_superuser("root")
    guess(99)
    assert log_in("alice", "wrong", "192.0.2.1").status_code == 429
    headers = {"authorization": f"Bearer {create_token(admin, 'ci').key}"}
    link = Client().post("/api/v1/users/alice/reset", headers=headers).json()["link"]
    browser = Client()
    form = browser.get(urlsplit(link).path, follow=True)
    new = "through the glass"
    browser.post(form.redirect_chain[-1][0], {"new_password1": new, "new_password2": new})
    assert log_in("alice", new, "192.0.2.1").status_code == 429
    assert log_in("alice", new, "192.0.2.1", browser).status_code == 302


def test_an_address_is_blocked_for_every_name_until_the_time_is_over() -> None:
    for number in range(29):
        assert log_in(f"user-{number}", "wrong", "192.0.2.7").status_code == 200
    assert log_in("user-30", "wrong", "192.0.2.7").status_code == 429
    assert log_in("alice", RIGHT, "192.0.2.7").status_code == 429
    assert log_in("alice", RIGHT, "192.0.2.8").status_code == 302
    for attempt in AccessAttempt.objects.all():
        AccessAttempt.objects.filter(pk=attempt.pk).update(
            attempt_time=attempt.attempt_time - timedelta(minutes=6)
        )
    assert log_in("alice", RIGHT, "192.0.2.7").status_code == 302
    throttling.delete_expired()
    assert not AccessAttempt.objects.exists()


def test_the_addresses_of_one_network_of_ipv6_and_user_agents_count_as_one_client() -> None:
    for number in range(LIMIT):
        entered = {"username": "alice", "password": "wrong"}
        headers = {"user-agent": f"browser {number}"}
        Client().post("/login", entered, REMOTE_ADDR=f"2001:db8::{number:x}", headers=headers)
    assert log_in("alice", RIGHT, "2001:db8::ffff").status_code == 429
    assert log_in("alice", RIGHT, "2001:db8:0:1::1").status_code == 302


def test_the_form_of_the_password_is_limited_and_nothing_it_is_sent_is_stored(alice: User) -> None:
    thief = Client()
    thief.force_login(alice)
    guessed = {
        "old_password": "wrong-1",
        "new_password1": "of-thieves",
        "new_password2": "of-thieves",
    }
    for _ in range(LIMIT - 1):
        assert thief.post("/account/password", guessed).status_code == 422
    stored = AccessAttempt.objects.get()
    assert "wrong-1" not in stored.post_data and "of-thieves" not in stored.post_data
    blocked = thief.post("/account/password", guessed)
    assert blocked.status_code == 429 and blocked.headers["Retry-After"] == "300"
    assert "oo many wrong passwords" in blocked.content.decode()
    right = guessed | {"old_password": RIGHT}
    assert thief.post("/account/password", right).status_code == 429
    assert User.objects.get(username="alice").check_password(RIGHT)
    entry = AuditEntry.objects.filter(action="sign-in-failed", user="alice").first()
    assert entry is not None and entry.details == {"form": "change of the password"}


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("127.0.0.1", "203.0.113.5", "203.0.113.5"),
        # the client invented the first one
        ("127.0.0.1", "10.9.9.9, 203.0.113.5", "203.0.113.5"),
        ("::1", "203.0.113.5, 127.0.0.1", "203.0.113.5"),
        ("127.0.0.1", "2001:db8::1", "2001:db8::1"),
        ("127.0.0.1", "nonsense", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("198.51.100.1", "203.0.113.5", "198.51.100.1"),
    ],
)
def test_the_client_of_a_trusted_proxy_is_the_one_that_it_names(
    peer: str, forwarded: str, client: str
) -> None:
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    scope = {"client": (peer, 1234), "headers": headers}
    drop_claims(scope)
    assert scope["client"][0] == client
