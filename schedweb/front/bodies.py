"""Reading the body of a request."""

from __future__ import annotations

from schedweb.front.asgi import Receive

#: Bytes of a request's body that are taken at most; the settings tell Django the same.
LARGEST_BODY = 64 * 1024 * 1024


class BodyTooLarge(Exception):
    """The client sends more than :data:`LARGEST_BODY`."""


class ClientGone(Exception):
    """The client hung up before its request was complete."""


async def read_body(receive: Receive) -> bytes:
    """The whole body. Raises :class:`BodyTooLarge` or :class:`ClientGone`."""
    pieces: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece = message.get("body", b"")
        size += len(piece)
        if size > LARGEST_BODY:
            raise BodyTooLarge
        pieces.append(piece)
        more = message.get("more_body", False)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
