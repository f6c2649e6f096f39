"""Authentication by key and by session."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.access.scopes import TokenScope, token_scope_of
from apps.people.authentication import InvalidCredentials, authenticate
from apps.people.models import AccessToken
from apps.people.tokens import create_token, in_days

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password="correct horse")


@pytest.mark.parametrize("keyword", ["Bearer", "Token", "bearer"])
def test_a_key_is_accepted_under_either_keyword(alice: User, keyword: str) -> None:
    key = create_token(alice, "test").key
    assert authenticate({"authorization": f"{keyword} {key}"}) == alice


def test_a_browser_is_authenticated_by_its_session(alice: User) -> None:
    browser = Client()
    browser.force_login(alice)
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
    assert authenticate({"cookie": cookies}) == alice


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Basic YWxpY2U6eA=="},
        {"cookie": "sessionid=unknown"},
        {"cookie": "\x00=;;"},
    ],
)
def test_a_request_without_credentials_is_anonymous(headers: dict[str, str]) -> None:
    assert authenticate(headers) is None


@pytest.mark.parametrize("value", ["Bearer", "Bearer two words", "Token \x00", "Bearer unknown"])
def test_a_wrong_key_is_refused(value: str) -> None:
    with pytest.raises(InvalidCredentials):
        authenticate({"authorization": value})


def test_an_inactive_user_is_refused_with_key_and_session(alice: User) -> None:
    browser = Client()
    browser.force_login(alice)
    key = create_token(alice, "test").key
    User.objects.update(is_active=False)
    with pytest.raises(InvalidCredentials):
        authenticate({"authorization": f"Bearer {key}"})
    assert authenticate({"cookie": f"sessionid={browser.cookies['sessionid'].value}"}) is None


def test_only_the_digest_of_a_token_is_stored_and_its_last_use_is_recorded(alice: User) -> None:
    created = create_token(alice, "ci")
    stored = AccessToken.objects.values().get()
    assert created.key not in str(stored) and created.key.startswith("schedweb_")
    assert stored["last_used_at"] is None
    authenticate({"authorization": f"Bearer {created.key}"})
    used = AccessToken.objects.get().last_used_at
    assert used is not None
    authenticate({"authorization": f"Bearer {created.key}"})
    # not once per request
    assert AccessToken.objects.get().last_used_at == used


def test_the_limits_of_a_token_are_those_of_the_authenticated_user(alice: User) -> None:
    create_cluster("lab", user="alice")
    limited = create_token(alice, "ci", clusters=["lab"], read_only=True).key
    user = authenticate({"authorization": f"Bearer {limited}"})
    assert token_scope_of(user) == TokenScope(frozenset({"lab"}), read_only=True)
    unlimited = create_token(alice, "all").key
    assert token_scope_of(authenticate({"authorization": f"Bearer {unlimited}"})) is None


def test_an_expired_token_is_refused_and_the_message_says_so(alice: User) -> None:
    key = create_token(alice, "ci", expires_at=in_days(1)).key
    authenticate({"authorization": f"Bearer {key}"})
    AccessToken.objects.update(expiry=timezone.now())
    with pytest.raises(InvalidCredentials, match="token 'ci' has expired"):
        authenticate({"authorization": f"Bearer {key}"})


def test_tokens_of_earlier_versions_remain_valid_and_lose_their_text(alice: User) -> None:
    key = "0123456789abcdef0123456789abcdef01234567"
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE authtoken_token (key varchar(40), created timestamptz, user_id integer)"
        )
        cursor.execute("INSERT INTO authtoken_token VALUES (%s, now(), %s)", [key, alice.pk])
    migration = import_module("apps.people.migrations.0002_take_over_tokens")
    migration.take_over(apps, connection.schema_editor())
    user = authenticate({"authorization": f"Bearer {key}"})
    assert user == alice and user is not None and user.is_superuser
    assert key not in str(AccessToken.objects.values().get())
    assert "authtoken_token" not in connection.introspection.table_names()
