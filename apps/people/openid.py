"""Sign-in with OpenID Connect: the code flow with PKCE at the provider of the site.

The provider identifies a user by issuer and subject. An identity that the site does not know is
linked to a user who exists only if that user has asked for it: signed in, or with the link of an
invitation; or, where the site says so, by an e-mail address that the provider has verified. Who
chooses a name at the provider does not become the user of this name.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
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
from apps.people.accounts import add_user, invited_user
from apps.people.audit.recording import record
from apps.people.groups import add_to_groups, remove_from_groups
from apps.people.models import AuditEntry, OpenIdIdentity

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
    def links_emails(self) -> bool:
        """Whether a verified e-mail address is enough to be a user who was invited with it."""

    @property
    def groups_claim(self) -> str:
        """The claim with the names of a user's groups; "" if the provider manages no groups."""

    @property
    def scope(self) -> str:
        """The scopes that are requested, separated by spaces."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """The parts of the link with which a user was invited."""

    number: str
    token: str


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


def link(request: HttpRequest) -> User:
    """Link the user who is signed in to the identity with which they come back.

    Raises Unauthorized if nobody is signed in, the provider refused or the response is not valid,
    Conflict if another user has the identity, and ProviderUnavailable.
    """
    claims = _read_claims(request)
    if not isinstance(request.user, User):
        raise Unauthorized("sign in, then link the identity on the account page")
    identity = _find_identity(claims)
    if identity is None:
        identity = _create_link(request.user, claims, "account page")
    elif identity.user != request.user:
        raise Conflict("users", request.user.get_username(), "another user has this identity")
    return identity.user


def finish(request: HttpRequest, invitation: Invitation | None = None) -> User:
    """Sign in the user who comes back from the provider.

    With an invitation, the identity is linked to the user who was invited. Raises Unauthorized if
    the provider refused or the response is not valid, Forbidden for a user who may not sign in,
    Conflict for a name that belongs to another user, and ProviderUnavailable.
    """
    claims = _read_claims(request)
    with transaction.atomic():
        # the login makes the link of the invitation invalid, so no other identity is linked by it
        identity = _find_identity(claims)
        if invitation is not None:
            identity = _accept(invitation, identity, claims)
        return _sign_in(request, identity or _welcome(claims), claims)


def _sign_in(request: HttpRequest, identity: OpenIdIdentity, claims: Mapping[str, Any]) -> User:
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
    identities = OpenIdIdentity.objects.select_related("user")
    return identities.filter(issuer=claims["iss"], subject=claims["sub"]).first()


def _create_link(user: User, claims: Mapping[str, Any], reason: str) -> OpenIdIdentity:
    """The identity, linked to the user; `reason` is for the audit log. Raises Conflict."""
    about = {"issuer": claims["iss"], "subject": claims["sub"]}
    try:
        with transaction.atomic():
            identity = OpenIdIdentity.objects.create(user=user, **about)
            name = user.get_username()
            action = AuditEntry.Action.IDENTITY_LINKED
            record(action, user=name, target=name, details={**about, "by": reason})
    except IntegrityError as error:
        raise Conflict("users", user.get_username(), "the identity is being linked") from error
    return identity


def _accept(
    invitation: Invitation, identity: OpenIdIdentity | None, claims: Mapping[str, Any]
) -> OpenIdIdentity:
    user = invited_user(invitation.number, invitation.token)
    if user is not None:
        # of two requests with the same link, the second one finds it used
        User.objects.select_for_update().get(pk=user.pk)
        user = invited_user(invitation.number, invitation.token)
    if user is None:
        raise Forbidden("the invitation has been used or has expired; ask a site admin for another")
    if identity is None:
        return _create_link(user, claims, "invitation")
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
    """The identity, linked to its user, of a person who logs in for the first time."""
    provider = _settings()
    known = _find_by_email(claims) if provider.links_emails else None
    if known is not None:
        return _create_link(known, claims, "e-mail address")
    name = str(claims.get(provider.name_claim) or "")
    if "\x00" not in name and User.objects.filter(username=name).exists():
        why = (
            "a user of this name exists; open the link of your invitation, or sign in with the "
            "password, and link the identity there"
        )
        raise Conflict("users", name, why)
    return _create_link(_create(name, claims, provider), claims, "first sign-in")


def _find_by_email(claims: Mapping[str, Any]) -> User | None:
    """The one user who was invited with the address of the claims, and has not signed in yet."""
    address = claims.get("email")
    if claims.get("email_verified") is not True or not _is_text(address) or not address:
        return None
    users = User.objects.filter(email__iexact=address, is_active=True)
    invited = [
        user for user in users.filter(openididentity__isnull=True) if not user.has_usable_password()
    ]
    return invited[0] if len(invited) == 1 else None


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
