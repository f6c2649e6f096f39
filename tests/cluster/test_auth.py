"""Authentication by key and by session."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.authtoken.models import Token

from apps.cluster.auth import InvalidCredentials, authenticate

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create_superuser("alice", password="correct horse")


@pytest.mark.parametrize("keyword", ["Bearer", "Token", "bearer"])
def test_a_key_is_accepted_under_either_keyword(alice: User, keyword: str) -> None:
    key = Token.objects.create(user=alice).key
    assert authenticate({"authorization": f"{keyword} {key}"}) == alice


def test_a_browser_is_authenticated_by_its_session(alice: User) -> None:
    browser = Client()
    assert browser.login(username="alice", password="correct horse")
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
    key = Token.objects.create(user=alice).key
    User.objects.update(is_active=False)
    with pytest.raises(InvalidCredentials):
        authenticate({"authorization": f"Bearer {key}"})
    assert authenticate({"cookie": f"sessionid={browser.cookies['sessionid'].value}"}) is None
