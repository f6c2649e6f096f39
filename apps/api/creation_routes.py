"""Which requests are creations that the event loop of the web front handles itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from django.http import QueryDict

from apps.api.kubernetes import media, paths
from apps.api.kubernetes.accesses import access_of
from apps.caching import cache_short
from apps.cluster.access import impersonation
from apps.cluster.access.questions import Access
from apps.cluster.errors import ApiError
from apps.cluster.service_tokens import is_service_token
from apps.cluster.writing import creation

Scope = MutableMapping[str, Any]

#: Larger objects take their time to decode, while nothing else happens on the event loop.
LARGEST_BODY: Final = 64 * 1024

_NO_PARAMETERS: Final = QueryDict()
_PATH: Final = re.compile(r"/k8s/(?P<cluster>[^/]+)/(?P<path>apis?/.+)")
_IMPERSONATION: Final = impersonation.PREFIX.encode()
#: Parameters of a creation that change nothing in how it is carried out.
_PLAIN_PARAMETERS: Final = frozenset({"fieldManager", "fieldValidation"})


@dataclass(frozen=True, slots=True)
class Route:
    """A request for the creation of an object that may be taken here."""

    cluster: str
    target: paths.Target
    #: What the user must be allowed to do.
    access: Access
    query: QueryDict
    #: The Authorization header.
    credentials: str
    content_type: str
    user_agent: str


def route_of(scope: Scope, headers: Mapping[bytes, bytes]) -> Route | None:
    """The creation that a POST requests; None if the request has to be handled by Django."""
    credentials = headers.get(b"authorization")
    length = headers.get(b"content-length", b"")
    if needs_django(headers):
        return None
    if not credentials or not length.isdigit() or int(length) > LARGEST_BODY:
        return None
    place = _place(scope["path"])
    if place is None or not _accepts_json(headers.get(b"accept", b"")):
        return None
    query = _NO_PARAMETERS
    if scope["query_string"]:
        query = QueryDict(scope["query_string"].decode("latin-1"))
        if query.keys() - _PLAIN_PARAMETERS:
            return None
    content_type = headers.get(b"content-type", b"").decode("latin-1")
    user_agent = headers.get(b"user-agent", b"").decode("latin-1")
    if media.is_pretty(None, user_agent):
        return None
    return Route(*place, query, credentials.decode("latin-1"), content_type, user_agent)


def needs_django(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request needs more than the fast ways look at.

    That is so with impersonation and with tokens of service accounts, whose permissions differ, and
    for creations that may be repeated.
    """
    if b"idempotency-key" in headers:
        return True
    credentials = headers.get(b"authorization", b"")
    return is_service_token(credentials.decode("latin-1")) or any(
        name.startswith(_IMPERSONATION) for name in headers
    )


@cache_short(1000)
def _place(path: str) -> tuple[str, paths.Target, Access] | None:
    """The cluster and the collection in which a POST to this path creates an object."""
    match = _PATH.fullmatch(path)
    target = paths.parse(match["path"]) if match is not None else None
    if match is None or target is None or not _is_creation(target):
        return None
    return match["cluster"], target, access_of(target, "POST", _NO_PARAMETERS)


@lru_cache(maxsize=100)
def _accepts_json(accept: bytes) -> bool:
    try:
        return media.negotiate(accept.decode("latin-1")) == media.PLAIN
    except ApiError:
        return False


def _is_creation(target: paths.Target) -> bool:
    resource = target.resource
    return (
        not (target.name or target.subresource or target.watch)
        and "create" in resource.verbs
        and not (resource.is_review or resource.has_defaults or resource.deprecation)
        and resource.as_stored
        and (target.namespace is not None) == resource.namespaced
        and creation.is_row_only(resource.kind)
    )
