"""Answers requests for one object without Django's middleware: on the event loop or in a thread.

A client of the Kubernetes API sends a token and needs neither sessions nor pages, which cost more
than the request itself. The answers are those of the view: both call the same functions.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import psycopg
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.db import close_old_connections
from django.http import HttpResponse, QueryDict

from apps.api import creation
from apps.api.creation_routes import needs_django
from apps.api.creator import require_access
from apps.api.kubernetes import bodies, media, paths
from apps.api.kubernetes.accesses import access_of
from apps.api.kubernetes.views import answer, error_response, refusal_response
from apps.caching import cache_short
from apps.cluster.access.identity import identity_of
from apps.cluster.availability import DatabaseUnavailable
from apps.cluster.connections import Statement
from apps.cluster.context import request_context
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.kinds import Kind

Scope = MutableMapping[str, Any]

log = logging.getLogger(__name__)

_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_PATH: Final = re.compile(r"/k8s/(?P<cluster>[^/]+)/(?P<path>apis?/.+)")


@dataclass(frozen=True, slots=True)
class ObjectRequest:
    """A request for one object, or for a subresource of it."""

    cluster: str
    target: paths.Target
    method: str
    query: QueryDict
    #: The Authorization header.
    credentials: str
    content_type: str
    accept: str
    user_agent: str


def request_of(scope: Scope, headers: Mapping[bytes, bytes]) -> ObjectRequest | None:
    """The request, if it can be answered here; None if Django has to."""
    credentials = headers.get(b"authorization")
    length = headers.get(b"content-length", b"0")
    if needs_django(headers):
        return None
    small = length.isdigit() and int(length) <= bodies.MAX_BYTES
    if scope["method"] not in _METHODS or not credentials or not small:
        return None
    place = _place(scope["path"])
    if place is None:
        return None
    try:
        query = QueryDict(scope["query_string"])
    except SuspiciousOperation:
        return None
    return ObjectRequest(
        *place,
        scope["method"],
        query,
        credentials.decode("latin-1"),
        headers.get(b"content-type", b"").decode("latin-1"),
        headers.get(b"accept", b"").decode("latin-1"),
        headers.get(b"user-agent", b"").decode("latin-1"),
    )


@cache_short(1000)
def _place(path: str) -> tuple[str, paths.Target] | None:
    """The cluster and the object of a path."""
    match = _PATH.fullmatch(path) if path.isascii() else None
    target = paths.parse(match["path"]) if match is not None else None
    if match is None or target is None or not target.name or target.watch:
        return None
    return match["cluster"], target


async def authenticate(request: ObjectRequest) -> User | HttpResponse:
    """The user, or the response that refuses the request.

    Raises `NotSupported` for credentials that Django has to check.
    """
    try:
        return await creation.authenticate(request.credentials)
    except Exception as error:
        response = error_response(error, request.accept)
        if response is None:
            raise
        return response


def is_plain_get(request: ObjectRequest) -> bool:
    """Whether the request asks for an object as it is stored, in JSON."""
    resource = request.target.resource
    if request.method != "GET" or request.target.subresource or request.query:
        return False
    if not resource.as_stored or not resource.is_row or "\x00" in request.cluster:
        return False
    if "get" not in resource.verbs or resource.deprecation:
        return False
    try:
        accepted = media.negotiate(request.accept) == media.PLAIN
        return accepted and not media.is_pretty(None, request.user_agent)
    except ApiError:
        return False


async def read(request: ObjectRequest, user: User) -> HttpResponse:
    """The response to a plain get: one statement on the event loop, its text without spaces."""
    target = request.target
    access = access_of(target, "GET", request.query)
    kind = target.resource.kind
    values: list[bytes | None] = [
        each.encode() for each in (request.cluster, target.namespace or "", target.name)
    ]
    try:
        await require_access(user, request.cluster, access)
        rows = await creation.query(_object_query(kind), values)
        if not rows:
            raise NotFound("clusters", request.cluster)
        if rows[0][0] is None:
            raise NotFound(kind.plural, target.name, target.resource.group)
    except psycopg.OperationalError as error:
        log.error("the database is unavailable or overloaded", exc_info=error)
        return refusal_response(DatabaseUnavailable())
    except ApiError as refusal:
        return refusal_response(refusal)
    return HttpResponse(media.stored_text(rows[0][0]), content_type="application/json")


@cache
def _object_query(kind: Kind) -> Statement:
    """One row for a cluster that exists; null for an object that does not."""
    statement = (
        f"SELECT o.body::text FROM cluster_cluster c LEFT JOIN {kind.table} o "
        "ON o.cluster_id = c.id AND o.namespace = $2::text AND o.name = $3::text "
        "WHERE c.name = $1::text"
    )
    return Statement(statement.encode(), (False, False, False))


def respond(request: ObjectRequest, raw: bytes, user: User, request_id: str) -> HttpResponse:
    """The response; call it in a thread."""

    def read() -> bytes:
        bodies.check_size(len(raw))
        return raw

    close_old_connections()
    try:
        with request_context(request_id):
            response = answer(
                request.cluster,
                request.target,
                method=request.method,
                query=request.query,
                read=read,
                content_type=request.content_type,
                accept=request.accept,
                identify=lambda cluster, _: identity_of(user, cluster),
                user_agent=request.user_agent,
            )
        # only lists are sent in pieces
        assert isinstance(response, HttpResponse)
        return response
    except Exception as error:
        refusal = error_response(error, request.accept)
        if refusal is None:
            raise
        return refusal
    finally:
        close_old_connections()
