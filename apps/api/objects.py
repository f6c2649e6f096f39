"""Answers requests for one object in a thread, without Django's middleware.

A client of the Kubernetes API sends a token and needs neither sessions nor pages, which cost more
than the request itself. The answers are those of the view: both call the same functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from django.core.exceptions import SuspiciousOperation
from django.db import close_old_connections
from django.http import HttpResponse, QueryDict

from apps.api import creation
from apps.api.kubernetes import bodies, paths
from apps.api.kubernetes.views import answer, error_response
from apps.cluster.context import request_context

Scope = MutableMapping[str, Any]

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


def request_of(scope: Scope, headers: Mapping[bytes, bytes]) -> ObjectRequest | None:
    """The request, if it can be answered here; None if Django has to."""
    credentials = headers.get(b"authorization")
    length = headers.get(b"content-length", b"0")
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
    )


@lru_cache(maxsize=1000)
def _place(path: str) -> tuple[str, paths.Target] | None:
    """The cluster and the object of a path."""
    found = _PATH.fullmatch(path) if path.isascii() else None
    target = paths.parse(found["path"]) if found is not None else None
    if found is None or target is None or not target.name or target.watch:
        return None
    return found["cluster"], target


async def authenticate(request: ObjectRequest) -> str | HttpResponse:
    """The name of the user, or the response that refuses the request.

    Raises `creation.NotSupported` for credentials that Django has to check.
    """
    try:
        return await creation.authenticate(request.credentials)
    except Exception as error:
        response = error_response(error)
        if response is None:
            raise
        return response


def respond(request: ObjectRequest, raw: bytes, user: str, request_id: str) -> HttpResponse:
    """The response; call it in a thread."""

    def read() -> bytes:
        bodies.check_size(len(raw))
        return raw

    close_old_connections()
    try:
        with request_context(request_id):
            return answer(
                request.cluster,
                request.target,
                method=request.method,
                query=request.query,
                read=read,
                content_type=request.content_type,
                accept=request.accept,
                user=user,
            )
    except Exception as error:
        response = error_response(error)
        if response is None:
            raise
        return response
    finally:
        close_old_connections()
