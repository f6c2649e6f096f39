"""Sign-in with OpenID Connect: the code flow with PKCE at the provider of the site.

The provider identifies a user by issuer and subject. The name that it gives counts only at the
first sign-in: a user who has a password already is never taken over by a name.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import OAuth
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from joserfc.errors import JoseError

from apps.cluster.errors import ApiError, Conflict, Forbidden, Unauthorized
from apps.people.accounts import add_user
from apps.people.groups import add_to_groups, remove_from_groups
from apps.people.models import OpenIdIdentity

log = logging.getLogger(__name__)

_TIMEOUT_SECONDS: Final = 10
_DISCOVERY: Final = "/.well-known/openid-configuration"


class Provider(Protocol):
    """The provider of the site: `OPENID` in the settings."""

    def __hash__(self) -> int: ...
    @property
    def issuer(self) -> str: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_secret(self) -> str: ...
    @property
    def name_claim(self) -> str:
        """The claim with the name of a new user."""

    @property
    def creates_users(self) -> bool:
        """Whether a user whom the site does not know is created."""

    @property
    def groups_claim(self) -> str:
        """The claim with the names of a user's groups; "" if the provider manages no groups."""

    @property
    def scope(self) -> str:
        """The scopes that are requested, separated by spaces."""


class ProviderUnavailable(ApiError):
    """The provider does not respond, or not as it should."""

    code, reason = 503, "ServiceUnavailable"


class NoProvider(ApiError):
    """The site has no provider, so the page does not exist."""

    code, reason = 404, "NotFound"


class OpenIdBackend(ModelBackend):
    """The backend of sessions that began at the provider; it checks no passwords."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        return None


def start(request: HttpRequest, callback: str) -> HttpResponse:
    """The redirect to the provider, which sends the browser back to the URL `callback`.

    Raises ProviderUnavailable.
    """
    try:
        response: HttpResponse = _client(_settings()).authorize_redirect(request, callback)
    except (requests.RequestException, AuthlibBaseError, RuntimeError, KeyError) as error:
        raise _unavailable(error) from error
    return response


def finish(request: HttpRequest) -> User:
    """Sign in the user who comes back from the provider.

    A user who is signed in already is linked to the identity instead. Raises Unauthorized if the
    provider refused or the response is not valid, Forbidden for a user who may not sign in,
    Conflict for a name that belongs to another user, and ProviderUnavailable.
    """
    claims = _read_claims(request)
    identity = _find_identity(claims)
    if request.user.is_authenticated:
        assert isinstance(request.user, User)
        return _link(request.user, identity, claims).user
    identity = identity or _welcome(claims)
    user = identity.user
    if not user.is_active:
        raise Forbidden(f"the user {user.get_username()!r} is inactive")
    _follow_groups(identity, claims)
    backend = f"{__name__}.{OpenIdBackend.__name__}"
    user.backend = backend
    login(request, user, backend=backend)
    return user


def _read_claims(request: HttpRequest) -> Mapping[str, Any]:
    """The claims of the ID token, whose signature, issuer, audience, nonce and time are checked."""
    try:
        token = _client(_settings()).authorize_access_token(request)
    except requests.RequestException as error:
        raise _unavailable(error) from error
    except (AuthlibBaseError, JoseError, ValueError, KeyError) as error:
        log.warning("a sign-in with OpenID Connect failed: %s", error)
        why = "the sign-in did not succeed at the provider, or took too long"
        raise Unauthorized(why) from error
    claims: Mapping[str, Any] = token.get("userinfo") or {}
    if not claims.get("sub"):
        raise Unauthorized("the provider did not say who signed in")
    return claims


def _find_identity(claims: Mapping[str, Any]) -> OpenIdIdentity | None:
    found = OpenIdIdentity.objects.select_related("user")
    return found.filter(issuer=claims["iss"], subject=claims["sub"]).first()


def _link(user: User, identity: OpenIdIdentity | None, claims: Mapping[str, Any]) -> OpenIdIdentity:
    if identity is None:
        return OpenIdIdentity.objects.create(user=user, issuer=claims["iss"], subject=claims["sub"])
    if identity.user != user:
        raise Conflict("users", user.get_username(), "another user has this identity")
    return identity


def _follow_groups(identity: OpenIdIdentity, claims: Mapping[str, Any]) -> None:
    """Add the user to the groups in the claim, and remove them from those it no longer names."""
    claim = _settings().groups_claim
    if not claim:
        return
    named = claims.get(claim)
    names = {name for name in (named if isinstance(named, list) else [named]) if _is_text(name)}
    with transaction.atomic():
        added_before = set(identity.groups.all())
        wanted = set(Group.objects.filter(name__in=names))
        have = set(identity.user.groups.all())
        add_to_groups(identity.user, wanted - have)
        remove_from_groups(identity.user, (added_before - wanted) & have)
        # a group that a site admin added the user to remains the admin's
        identity.groups.set((added_before & wanted) | (wanted - have))


def _is_text(name: object) -> bool:
    return isinstance(name, str) and "\x00" not in name


def _welcome(claims: Mapping[str, Any]) -> OpenIdIdentity:
    """The identity, linked to its user, of somebody who logs in for the first time."""
    provider = _settings()
    name = str(claims.get(provider.name_claim) or "")
    user = User.objects.filter(username=name).first() if "\x00" not in name else None
    try:
        with transaction.atomic():
            if user is None:
                user = _create(name, claims, provider)
            elif not user.is_active:
                raise Forbidden(f"the user {name!r} is inactive")
            elif user.has_usable_password() or user.openididentity_set.exists():
                why = "a user of this name exists; sign in with the password and link the identity"
                raise Conflict("users", name, why)
            return _link(user, None, claims)
    except IntegrityError as error:
        raise Conflict("users", name, "it is being created; try again") from error


def _create(name: str, claims: Mapping[str, Any], provider: Provider) -> User:
    if not name:
        raise Unauthorized(f"the provider sent no claim {provider.name_claim!r}")
    if not provider.creates_users:
        raise Forbidden(f"no user {name!r} of this site; ask a site admin for an invitation")
    return add_user(name, email=str(claims.get("email") or ""))


def _settings() -> Provider:
    provider: Provider | None = settings.OPENID
    if provider is None:
        raise NoProvider("this site has no OpenID Connect provider")
    return provider


@lru_cache(maxsize=8)
def _client(provider: Provider) -> Any:
    """The client; it reads the provider's metadata once, and its keys again when they change."""
    return OAuth().register(
        "openid",
        client_id=provider.client_id,
        client_secret=provider.client_secret,
        server_metadata_url=provider.issuer.rstrip("/") + _DISCOVERY,
        client_kwargs={
            "scope": provider.scope,
            "code_challenge_method": "S256",
            "default_timeout": _TIMEOUT_SECONDS,
        },
    )


def _unavailable(error: Exception) -> ProviderUnavailable:
    log.error("the OpenID Connect provider is unavailable: %s", error)
    return ProviderUnavailable("the OpenID Connect provider does not respond; try again later")
