"""The tokens of users' programs: created, listed, deleted. Their text is shown only once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.cluster import limits
from apps.cluster.errors import AlreadyExists, Cause, Invalid, NotFound
from apps.cluster.models import Cluster
from apps.people.audit.recording import record
from apps.people.models import AccessToken, AuditEntry

#: What every token starts with, so that scanners of secrets recognize it.
PREFIX: Final = "schedweb_"
#: Tokens of one user.
_MAX_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token as it was created; `key` is its text, which is stored nowhere."""

    token: AccessToken
    key: str


def create_token(
    user: User,
    name: str,
    *,
    clusters: Collection[str] | None = None,
    read_only: bool = False,
    expires_at: datetime | None = None,
) -> NewToken:
    """Create a token that reaches the named clusters (None: all) until it expires (None: never).

    Raises Invalid, which names the field, and AlreadyExists for a name that the user has given to
    another token.
    """
    _check(name, clusters, expires_at)
    if AccessToken.objects.filter(user=user).count() >= limits.TOKENS.highest:
        raise _invalid(
            "name", f"a user has at most {limits.TOKENS.highest} tokens; delete some first"
        )
    try:
        with transaction.atomic():
            token, key = AccessToken.objects.create(
                user,
                expiry=None if expires_at is None else expires_at - timezone.now(),
                prefix=PREFIX,
                name=name,
                clusters=None if clusters is None else sorted(set(clusters)),
                read_only=read_only,
            )
            _record(AuditEntry.Action.TOKEN_CREATED, user, token)
    except IntegrityError as error:
        raise AlreadyExists("tokens", name) from error
    return NewToken(token, key)


def free_name(user: User, name: str) -> str:
    """This name, with a number at its end if the user has a token of this name already."""
    taken = set(AccessToken.objects.filter(user=user).values_list("name", flat=True))
    names = (name, *(f"{name} {number}" for number in range(2, len(taken) + 3)))
    return next(each for each in names if each not in taken)


def list_tokens(user: User) -> Sequence[AccessToken]:
    """The tokens of a user, newest first; expired ones as well."""
    return list(AccessToken.objects.filter(user=user).order_by("-id"))


def find_token(user: User, token_id: int) -> AccessToken:
    """One token of a user. Raises NotFound."""
    token: AccessToken | None = AccessToken.objects.filter(user=user, id=token_id).first()
    if token is None:
        raise NotFound("tokens", str(token_id))
    return token


def find_token_named(user: User, name: str) -> AccessToken:
    """The token of a user with this name. Raises NotFound."""
    token: AccessToken | None = AccessToken.objects.filter(user=user, name=name).first()
    if token is None:
        raise NotFound("tokens", name)
    return token


def delete_token(user: User, token_id: int) -> AccessToken:
    """Delete a token; requests with it are rejected from now on. Raises NotFound."""
    token = find_token(user, token_id)
    with transaction.atomic():
        token.delete()
        _record(AuditEntry.Action.TOKEN_DELETED, user, token)
    return token


def in_days(days: int | None) -> datetime | None:
    """The time in so many days; None for None."""
    return None if days is None else timezone.now() + timedelta(days=days)


def _record(action: AuditEntry.Action, user: User, token: AccessToken) -> None:
    limits = {
        "clusters": token.clusters,
        "read_only": token.read_only,
        "expires_at": token.expiry.isoformat() if token.expiry else None,
    }
    record(action, target=f"{token.name} of {user.get_username()}", details=limits)


def _check(name: str, clusters: Collection[str] | None, expires_at: datetime | None) -> None:
    if not name.strip() or not name.isprintable() or len(name) > _MAX_NAME:
        raise _invalid("name", f"must have 1 to {_MAX_NAME} printable characters")
    if expires_at is not None and expires_at <= timezone.now():
        raise _invalid("expires_at", "must be in the future")
    if clusters is None:
        return
    if not clusters:
        raise _invalid("clusters", "must name at least one cluster; omit it for all clusters")
    known = set(Cluster.objects.filter(name__in=clusters).values_list("name", flat=True))
    for missing in sorted(set(clusters) - known):
        raise _invalid("clusters", f"there is no cluster {missing!r}")


def _invalid(field: str, message: str) -> Invalid:
    return Invalid("tokens", "", [Cause("FieldValueInvalid", message, field)])
