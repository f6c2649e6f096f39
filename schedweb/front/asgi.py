"""Types and helpers of the ASGI protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def header_map(scope: Scope) -> dict[str, str]:
    """The request's headers by lower-case name; the first of repeated ones."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return headers


async def respond(
    send: Send,
    status: int,
    body: bytes,
    content_type: str = "text/plain",
    headers: dict[str, str] | None = None,
) -> None:
    """Send one small, complete response."""
    pairs = {"content-type": content_type, "content-length": str(len(body)), **(headers or {})}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in pairs.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
