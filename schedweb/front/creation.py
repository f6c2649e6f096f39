"""The way of a POST that creates an object: past Django's middleware, where it can be."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from django.conf import settings
from django.http import HttpResponse
from django.http.request import split_domain_port, validate_host

from apps.api import creation
from apps.api.creation_routes import route_of
from apps.api.creator import Created, NotSupported
from apps.cluster.context import acceptable_request_id, request_context
from schedweb.front.asgi import Application, Message, Receive, Scope, Send
from schedweb.front.auditing import record_invalid_token_of, record_refusal_of
from schedweb.front.bodies import BodyTooLarge, ClientDisconnected, read_body

_JSON = (b"content-type", b"application/json")
#: The key of a request's scope with its failed submission and its id, if it has one.
SUBMITTED: Final = "schedweb.submitted"


async def create_or_pass_on(scope: Scope, receive: Receive, send: Send, other: Application) -> None:
    """Answer the request here, or let *other* do it."""
    headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
    served = is_served(headers.get(b"host", b""))
    route = route_of(scope, headers) if served else None
    if route is None:
        await other(scope, receive, send)
        return
    try:
        raw = await read_body(receive)
    except ClientDisconnected:
        return
    except BodyTooLarge:
        # a content-length that is not true
        await other(scope, receive, send)
        return
    submission, request_id = scope.get(SUBMITTED) or (None, request_id_of(headers))
    with request_context(request_id):
        try:
            answer = await creation.create(route, raw, submission)
        except NotSupported:
            await other(scope, replay(raw), send)
            return
    if isinstance(answer, HttpResponse) and answer.status_code == 403:
        user = await creation.authenticate(route.credentials)
        await asyncio.to_thread(record_refusal_of, scope, user, request_id)
    elif isinstance(answer, HttpResponse) and answer.status_code == 401:
        await asyncio.to_thread(record_invalid_token_of, scope, request_id)
    await send_response(send, answer, request_id)


def request_id_of(headers: Mapping[bytes, bytes]) -> str:
    """The id that the client has given its request, or a new one."""
    return acceptable_request_id(headers.get(b"x-request-id", b"").decode("latin-1"))


@lru_cache(maxsize=100)
def is_served(host: bytes) -> bool:
    """Whether Django's middleware would let the request pass: its host, and its scheme."""
    if settings.SECURE_SSL_REDIRECT:
        return False
    name = split_domain_port(host.decode("latin-1"))[0]
    return validate_host(name, settings.ALLOWED_HOSTS)


def replay(raw: bytes) -> Receive:
    """A body that was read, for another application."""

    async def receive() -> Message:
        return {"type": "http.request", "body": raw, "more_body": False}

    return receive


async def send_response(send: Send, answer: Created | HttpResponse, request_id: str) -> None:
    """Send a complete response."""
    if isinstance(answer, Created):
        status, body, headers = 201, answer.text, headers_of(answer, request_id)
    else:
        status, body = answer.status_code, answer.content
        headers = [(name.lower().encode(), text.encode("latin-1")) for name, text in answer.items()]
        headers += _last_headers(body, request_id)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def headers_of(created: Created, request_id: str) -> list[tuple[bytes, bytes]]:
    """The headers of the response that contains an object."""
    headers = [_JSON]
    if created.warning:
        headers.append((b"warning", created.warning.encode("latin-1")))
    return headers + _last_headers(created.text, request_id)


def _last_headers(body: bytes, request_id: str) -> list[tuple[bytes, bytes]]:
    return [(b"content-length", b"%d" % len(body)), (b"x-request-id", request_id.encode())]
