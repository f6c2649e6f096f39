"""Records refused requests that Django's middleware does not see."""

from __future__ import annotations

import re

from django.contrib.auth.models import User
from django.db import close_old_connections

from apps.cluster.context import request_context
from apps.people.audit.caller import caller_of
from apps.people.audit.invalid_tokens import record_invalid_token
from apps.people.audit.refused_requests import record_refusal
from schedweb.front.asgi import Scope, header_map

_CLUSTER = re.compile(r"/(?:k8s|clusters)/([^/]+)/")


def record_refusal_of(scope: Scope, user: User, request_id: str) -> None:
    """Record that this user's request was answered 403; call it in a thread."""
    client = scope.get("client") or ("", 0)
    match = _CLUSTER.match(scope["path"])
    close_old_connections()
    try:
        with request_context(request_id):
            record_refusal(
                caller_of(user, client[0]),
                scope["method"],
                scope["path"],
                match[1] if match else "",
            )
    finally:
        close_old_connections()


def record_invalid_token_of(scope: Scope, request_id: str) -> None:
    """Record that a request was answered 401; call it in a thread."""
    client = scope.get("client") or ("", 0)
    close_old_connections()
    try:
        with request_context(request_id):
            authorization = header_map(scope).get("authorization", "")
            record_invalid_token(client[0], authorization, scope["method"], scope["path"])
    finally:
        close_old_connections()
