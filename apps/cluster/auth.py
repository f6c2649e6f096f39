"""Authentication, shared by the REST API, the pages and the streams.

Programs send ``Authorization: Bearer KEY`` (kubectl) or ``Token KEY``; browsers send the session's
cookie. A request with invalid credentials is rejected, never treated as anonymous.
"""

from __future__ import annotations

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.authtoken.models import Token
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

KEYWORDS = frozenset({"bearer", "token"})

_USER_FIELDS = [field.attname for field in User._meta.concrete_fields]

#: Runs for every API request. Plain SQL takes a third of the time of the ORM, which spends most of
#: it compiling the same query again.
_USER_OF_KEY = f"""
    SELECT {", ".join(f"u.{field.column}" for field in User._meta.concrete_fields)}
    FROM {Token._meta.db_table} t JOIN {User._meta.db_table} u ON u.id = t.user_id
    WHERE t.key = %s AND u.is_active
"""


class InvalidCredentials(Exception):
    """The request claims an identity that it cannot prove."""


def authenticate(headers: Mapping[str, str]) -> User | None:
    """The user of a request with these *headers* (names in lower case); None if anonymous.

    Raises :class:`InvalidCredentials` for a key that is malformed, unknown or of an inactive user.
    """
    user = user_of_authorization(headers.get("authorization", ""))
    return user or user_of_cookies(headers.get("cookie", ""))


def user_of_authorization(value: str) -> User | None:
    """The user of an ``Authorization`` header; None when it is empty or names another scheme."""
    keyword, _, key = value.partition(" ")
    if keyword.lower() not in KEYWORDS:
        return None
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidCredentials("the Authorization header must contain one key after its keyword")
    with connection.cursor() as cursor:
        cursor.execute(_USER_OF_KEY, [key])
        row = cursor.fetchone()
    if row is None:
        raise InvalidCredentials("the key is unknown or its user is inactive")
    return User.from_db(connection.alias, _USER_FIELDS, row)


def user_of_cookies(value: str) -> User | None:
    """The user logged in by the session that a ``Cookie`` header names; None without one."""
    try:
        morsel = SimpleCookie(value).get(settings.SESSION_COOKIE_NAME)
    except CookieError:
        return None
    if morsel is None:
        return None
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(morsel.value)
    user = get_user(request)
    # the authentication backend finds no inactive user
    return user if isinstance(user, User) else None


def token_of(user: User) -> str:
    """The key of a user's programs, created when it is first asked for."""
    token, _ = Token.objects.get_or_create(user=user)
    return str(token.key)


def replace_token(user: User) -> str:
    """A new key for a user's programs; the earlier one is no longer valid."""
    with transaction.atomic():
        # two requests at once take turns: a user has one key
        User.objects.select_for_update().get(pk=user.pk)
        Token.objects.filter(user=user).delete()
        return str(Token.objects.create(user=user).key)


def delete_token(user: User) -> None:
    """Delete the key of a user's programs; their requests are no longer valid."""
    Token.objects.filter(user=user).delete()


def find_token(user: User) -> Token | None:
    """The key of a user's programs with the time of its creation, if there is one."""
    return Token.objects.filter(user=user).first()


class BearerAuthentication(BaseAuthentication):
    """Adapts :func:`user_of_authorization` to Django REST framework."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        try:
            user = user_of_authorization(request.META.get("HTTP_AUTHORIZATION", ""))
        except InvalidCredentials as error:
            raise AuthenticationFailed(str(error)) from error
        return (user, None) if user else None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
