"""Authentication, shared by the REST API, the pages and the streams.

Programs send ``Authorization: Bearer KEY`` (kubectl) or ``Token KEY``; browsers send the session's
cookie. A request with invalid credentials is rejected, never treated as anonymous.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.http import HttpRequest
from knox.crypto import hash_token
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.cluster.access.scopes import TokenScope
from apps.people.models import AccessToken

KEYWORDS = frozenset({"bearer", "token"})

_USER_FIELDS = [field.attname for field in User._meta.concrete_fields]

#: Seconds between two records of the use of a token.
_USE_SECONDS: Final = 60

#: Runs for every API request. Plain SQL takes a third of the time of the ORM, which spends most of
#: it compiling the same query again.
_USER_OF_DIGEST = f"""
    SELECT t.id, t.name, t.clusters, t.read_only, t.expiry <= statement_timestamp(),
        t.last_used_at > now() - interval '{_USE_SECONDS} s',
        {", ".join(f"u.{field.column}" for field in User._meta.concrete_fields)}
    FROM {AccessToken._meta.db_table} t JOIN {User._meta.db_table} u ON u.id = t.user_id
    WHERE t.digest = %s
"""
_TOKEN_COLUMNS: Final = 6

#: The condition is checked again: of concurrent requests one writes.
_RECORD_USE = f"""
    UPDATE {AccessToken._meta.db_table} SET last_used_at = now()
    WHERE id = %s AND (
        last_used_at IS NULL OR last_used_at <= now() - interval '{_USE_SECONDS} s'
    )
"""


class InvalidCredentials(Exception):
    """The request claims an identity that it cannot prove."""


def authenticate(headers: Mapping[str, str]) -> User | None:
    """The user of a request with these *headers* (names in lower case); None if anonymous.

    Raises :class:`InvalidCredentials` for a token that is malformed, unknown, expired or of an
    inactive user.
    """
    user = user_of_authorization(headers.get("authorization", ""))
    return user or user_of_cookies(headers.get("cookie", ""))


def user_of_authorization(value: str) -> User | None:
    """The user of an ``Authorization`` header; None when it is empty or names another scheme.

    The user has the attributes `token_scope` and `token_name`. Raises InvalidCredentials for a
    token that is malformed or unknown.
    """
    keyword, _, key = value.partition(" ")
    if keyword.lower() not in KEYWORDS:
        return None
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidCredentials("the Authorization header must contain one token after its scheme")
    with connection.cursor() as cursor:
        cursor.execute(_USER_OF_DIGEST, [hash_token(key)])
        row = cursor.fetchone()
    if row is None:
        raise InvalidCredentials("the token is unknown")
    return _user_of_row(row)


def _user_of_row(row: tuple[Any, ...]) -> User:
    token_id, name, clusters, read_only, is_expired, is_recorded = row[:_TOKEN_COLUMNS]
    user = User.from_db(connection.alias, _USER_FIELDS, row[_TOKEN_COLUMNS:])
    if is_expired:
        raise InvalidCredentials(f"the token {name!r} has expired")
    if not user.is_active:
        raise InvalidCredentials(f"the user {user.get_username()!r} is inactive")
    if not is_recorded:
        _record_use(token_id)
    user.token_name = name  # type: ignore[attr-defined]
    user.token_scope = _scope(clusters, read_only)  # type: ignore[attr-defined]
    return user


def _scope(clusters: list[str] | None, read_only: bool) -> TokenScope | None:
    if clusters is None and not read_only:
        return None
    return TokenScope(None if clusters is None else frozenset(clusters), read_only)


def _record_use(token_id: int) -> None:
    # a database that accepts no writes, because its disk is full, can still be read
    with contextlib.suppress(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_RECORD_USE, [token_id])


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
