"""The way of a POST that creates an object: past Django's middleware, where it can be."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.http.request import split_domain_port, validate_host

from apps.api import creation
from apps.cluster.context import acceptable_request_id, request_context
from schedweb.front.asgi import Application, Message, Receive, Scope, Send, header_map
from schedweb.front.bodies import BodyTooLarge, ClientDisconnected, read_body


async def create_or_pass_on(scope: Scope, receive: Receive, send: Send, other: Application) -> None:
    """Answer the request here, or let *other* do it."""
    route = creation.route_of(scope) if _is_served(scope) else None
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
    headers = header_map(scope)
    with request_context(acceptable_request_id(headers.get("x-request-id"))) as request_id:
        try:
            response, text = await creation.create(route, raw)
        except creation.NotSupported:
            await other(scope, _replay(raw), send)
            return
        await _respond(send, response, text, request_id)


def _is_served(scope: Scope) -> bool:
    """Whether Django's middleware would let the request pass: its host, and its scheme."""
    if settings.SECURE_SSL_REDIRECT:
        return False
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    name = split_domain_port(host.decode("latin-1"))[0]
    return validate_host(name, settings.ALLOWED_HOSTS)


def _replay(raw: bytes) -> Receive:
    """The body once more, for another application."""

    async def receive() -> Message:
        return {"type": "http.request", "body": raw, "more_body": False}

    return receive


async def _respond(send: Send, response: HttpResponse, text: bytes | None, request_id: str) -> None:
    body = response.content if text is None else text
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.items()]
    headers += [
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", request_id.encode()),
    ]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body})
