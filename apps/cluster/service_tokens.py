"""Tokens of service accounts: signed by this site, valid in one cluster, until they expire."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jwt
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.crypto import salted_hmac

from apps.cluster import kinds, queries
from apps.cluster.access.identity import service_account_name
from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.cluster.random_ids import random_uuid_text

Body = dict[str, Any]

#: The audience of the API, and the issuer: as in a cluster made by kubeadm.
AUDIENCE: Final = "https://kubernetes.default.svc.cluster.local"
ALGORITHM: Final = "HS256"
_PRIVATE: Final = "kubernetes.io"


class InvalidToken(Exception):
    """The token is not one of this cluster, has expired, or its account has been deleted."""


@dataclass(frozen=True, slots=True)
class ServiceToken:
    """A token, and when it expires in seconds since the epoch."""

    text: str
    expires_at: int


def is_service_token(key: str) -> bool:
    """Whether a bearer token has the form of these tokens; the keys of users do not."""
    return key.count(".") == 2


def issue(
    cluster: Cluster,
    account: Body,
    *,
    seconds: int,
    audiences: Sequence[str] = (AUDIENCE,),
    bound_to: Body | None = None,
) -> ServiceToken:
    """A new token of a ServiceAccount; `bound_to` is the object that has to exist with it."""
    now = int(time.time())
    metadata = account["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    about: Body = {
        "namespace": namespace,
        "serviceaccount": {"name": name, "uid": metadata["uid"]},
    }
    if bound_to is not None:
        about[bound_to["kind"].lower()] = {"name": bound_to["name"], "uid": bound_to["uid"]}
    claims = {
        "aud": list(audiences),
        "exp": now + seconds,
        "iat": now,
        "iss": AUDIENCE,
        "jti": random_uuid_text(),
        _PRIVATE: about,
        "nbf": now,
        "sub": service_account_name(namespace, name),
    }
    key = next(_signing_keys(cluster))
    return ServiceToken(jwt.encode(claims, key, ALGORITHM), now + seconds)


def verify(cluster: Cluster, token: str, audiences: Sequence[str] = (AUDIENCE,)) -> User:
    """The service account of a token as a user, which is not stored. Raises InvalidToken."""
    claims = _read_claims(cluster, token, audiences)
    about = claims[_PRIVATE]
    for key, reference in about.items():
        if key != "namespace":
            _check_exists(cluster, key, about["namespace"], reference)
    user = User(username=claims["sub"])
    user.service_account_uid = about["serviceaccount"]["uid"]  # type: ignore[attr-defined]
    return user


def _read_claims(cluster: Cluster, token: str, audiences: Sequence[str]) -> dict[str, Any]:
    refused: jwt.InvalidTokenError | None = None
    for key in _signing_keys(cluster):
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=list(audiences),
                options={"require": ["exp", "sub"]},
            )
        except jwt.InvalidSignatureError as error:
            refused = error
        except jwt.InvalidTokenError as error:
            raise InvalidToken(str(error)) from error
    raise InvalidToken(str(refused)) from refused


def _check_exists(cluster: Cluster, key: str, namespace: str, reference: Body) -> None:
    kind = next((kind for kind in kinds.ALL if kind.name.lower() == key), None)
    if kind is None:
        raise InvalidToken(f"no {key} is served")
    try:
        body = queries.get(cluster, kind, namespace if kind.namespaced else "", reference["name"])
    except NotFound as error:
        raise InvalidToken(error.message) from error
    if body["metadata"]["uid"] != reference["uid"]:
        raise InvalidToken(f"{kind.plural} {reference['name']!r} has been replaced")


def _signing_keys(cluster: Cluster) -> Iterator[bytes]:
    """Keys for each cluster, from those of the site: a token is not valid in another cluster."""
    for secret in (str(settings.SECRET_KEY), *settings.SECRET_KEY_FALLBACKS):
        salted = salted_hmac("service-account-token", str(cluster.pk), secret, algorithm="sha256")
        yield salted.digest()
