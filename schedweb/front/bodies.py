"""Reading the body of a request."""

from __future__ import annotations

from schedweb.front.asgi import Receive

#: Maximum size of a request body in bytes; the settings configure Django with the same limit.
LARGEST_BODY = 64 * 1024 * 1024


class BodyTooLarge(Exception):
    """The request body is larger than :data:`LARGEST_BODY`."""


class ClientDisconnected(Exception):
    """The client disconnected before its request was complete."""


async def read_body(receive: Receive) -> bytes:
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
        pieces.append(piece)
        more = message.get("more_body", False)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
