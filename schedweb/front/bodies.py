"""Reading the body of a request."""

from __future__ import annotations

from typing import Final

from apps.cluster import limits
from schedweb.front.asgi import Receive, Scope

#: Maximum size of a request body in bytes; the settings configure Django with the same limit.
LARGEST_BODY = limits.BODY_BYTES.highest


#: The same for the Kubernetes API, as in kube-apiserver.
LARGEST_OBJECT: Final = limits.OBJECT_BYTES.highest


class BodyTooLarge(Exception):
    """The request body is larger than the limit of its path."""


class ClientDisconnected(Exception):
    """The client disconnected before its request was complete."""


def largest_body(scope: Scope) -> int:
    """The limit of the path, in bytes."""
    return LARGEST_OBJECT if scope["path"].startswith("/k8s/") else LARGEST_BODY


def reserved_bytes(scope: Scope) -> int:
    """The memory that the body may take: its declared length, or the limit of its path."""
    limit = largest_body(scope)
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return min(int(value), limit)
        if name == b"transfer-encoding":
            return limit
    return 0


async def read_body(receive: Receive, limit: int = LARGEST_BODY) -> bytes:
    """The whole body. Raises :class:`BodyTooLarge` or :class:`ClientDisconnected`."""
    pieces: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        piece = message.get("body", b"")
        size += len(piece)
        if size > LARGEST_BODY:
            raise BodyTooLarge
        if size <= limit:
            pieces.append(piece)
        else:
            # a client that is still sending would not read the response
            pieces.clear()
        more = message.get("more_body", False)
    if size > limit:
        raise BodyTooLarge
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
