"""Failed sign-ins are limited, of one account and from one address."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client

from apps.people import throttling
from apps.people.audit.refusals import recent
from apps.people.models import AuditEntry
from schedweb.front.trust import drop_claims

pytestmark = pytest.mark.django_db

LIMIT = 10


@pytest.fixture(autouse=True)
def alice() -> User:
    recent.clear()
    return User.objects.create_user("alice", password="of wonderland")


def log_in(name: str, password: str, address: str) -> HttpResponse:
    entered = {"username": name, "password": password}
    return Client().post("/login", entered, REMOTE_ADDR=address)  # type: ignore[return-value]


def test_an_account_is_blocked_from_every_address_and_unblocked() -> None:
    for number in range(LIMIT - 1):
        assert log_in("alice", "wrong", f"192.0.2.{number}").status_code == 200
    blocked = log_in("alice", "wrong", "192.0.2.200")
    assert blocked.status_code == 429 and blocked.headers["Retry-After"] == "300"
    assert "Try again in 5 minutes" in blocked.content.decode()
    # the right password is not tried
    assert log_in("alice", "of wonderland", "192.0.2.201").status_code == 429
    actions = [entry.action for entry in AuditEntry.objects.order_by("id")]
    assert actions.count("sign-in-failed") <= LIMIT
    assert AuditEntry.objects.filter(action="sign-in-blocked", user="alice").exists()
    call_command("user", "unblock", "alice", stdout=StringIO())
    assert log_in("alice", "of wonderland", "192.0.2.201").status_code == 302


def test_an_address_is_blocked_for_every_account_until_the_time_is_over() -> None:
    for number in range(LIMIT):
        log_in(f"user-{number}", "wrong", "192.0.2.7")
    assert log_in("alice", "of wonderland", "192.0.2.7").status_code == 429
    assert log_in("alice", "of wonderland", "192.0.2.8").status_code == 302
    for attempt in AccessAttempt.objects.all():
        AccessAttempt.objects.filter(pk=attempt.pk).update(
            attempt_time=attempt.attempt_time - timedelta(minutes=6)
        )
    assert log_in("alice", "of wonderland", "192.0.2.7").status_code == 302
    throttling.delete_expired()
    assert not AccessAttempt.objects.exists()


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
