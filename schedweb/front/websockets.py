"""WebSocket requests as GET requests: each event of a stream becomes one frame.

Lines of JSON are text frames; events in protobuf are binary frames without their length.

Dashboards in browsers watch over WebSocket (Headlamp is not live without it). A stream that starts
is accepted; any other response is sent as the HTTP response to the handshake.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from schedweb.front.asgi import Message, Receive, Scope, Send, header_map

#: A client that cannot set headers, such as a browser, sends its token as a subprotocol.
_TOKEN: Final = "base64url.bearer.authorization.k8s.io."
_SCHEMES: Final = {"ws": "http", "wss": "https"}
_NORMAL_CLOSURE: Final = 1000
_PROTOBUF: Final = b"application/vnd.kubernetes.protobuf"
#: Bytes before an event in protobuf.
_LENGTH: Final = 4


class WebSocketRequest:
    """The ASGI messages of a WebSocket, as those of a GET request."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token, self._subprotocol = _read_subprotocols(scope)
        self.scope = _http_scope(scope, token)
        self._receive = receive
        self._send = send
        self._is_read = False
        self._accepted = False
        self._binary = False
        #: the beginning of an event whose end is not sent yet
        self._rest = b""

    async def receive(self) -> Message:
        """An empty body, then the disconnect; what the client sends is ignored."""
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": b"", "more_body": False}
        while (await self._receive())["type"] != "websocket.disconnect":
            pass
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send a part of the response; nothing if the client has disconnected."""
        with suppress(OSError):
            if message["type"] == "http.response.start":
                await self._start(message)
            elif self._accepted:
                await self._send_events(message)
            else:
                await self._send({**message, "type": "websocket.http.response.body"})

    async def _start(self, message: Message) -> None:
        if message["status"] != 200:
            await self._send({**message, "type": "websocket.http.response.start"})
            return
        self._accepted = True
        kind = dict(message.get("headers", ())).get(b"content-type", b"")
        self._binary = kind.startswith(_PROTOBUF)
        ids = [pair for pair in message.get("headers", ()) if pair[0] == b"x-request-id"]
        accept = {"type": "websocket.accept", "subprotocol": self._subprotocol, "headers": ids}
        await self._send(accept)

    async def _send_events(self, message: Message) -> None:
        self._rest += message.get("body", b"")
        for event in self._whole_events():
            key = "bytes" if self._binary else "text"
            value = event if self._binary else event.decode()
            await self._send({"type": "websocket.send", key: value})
        if not message.get("more_body", False):
            if self._rest and not self._binary:
                await self._send({"type": "websocket.send", "text": self._rest.decode()})
            await self._send({"type": "websocket.close", "code": _NORMAL_CLOSURE})

    def _whole_events(self) -> Iterator[bytes]:
        """Take the events that are complete."""
        if not self._binary:
            *lines, self._rest = self._rest.split(b"\n")
            yield from (line + b"\n" for line in lines)
            return
        while len(self._rest) >= _LENGTH:
            end = _LENGTH + int.from_bytes(self._rest[:_LENGTH], "big")
            if len(self._rest) < end:
                return
            event, self._rest = self._rest[_LENGTH:end], self._rest[end:]
            yield event


def _read_subprotocols(scope: Scope) -> tuple[str, str | None]:
    """The token among the offered subprotocols, and the one to be used."""
    token, chosen = "", None
    for offered in scope.get("subprotocols", ()):
        if offered.startswith(_TOKEN):
            token = token or _decode(offered.removeprefix(_TOKEN))
        else:
            chosen = chosen or offered
    return token, chosen


def _decode(text: str) -> str:
    """The token; for one that is not base64 something that is no token either."""
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return text


def _http_scope(scope: Scope, token: str) -> Scope:
    headers = [*scope["headers"]]
    if _is_cross_site(scope):
        # browsers send cookies with WebSockets of any page, and let the page read the frames
        headers = [(name, value) for name, value in headers if name != b"cookie"]
    if token and not any(name == b"authorization" for name, _ in headers):
        headers.append((b"authorization", f"Bearer {token}".encode("latin-1", "replace")))
    return {
        **scope,
        "type": "http",
        "method": "GET",
        "scheme": _SCHEMES.get(scope.get("scheme", "ws"), "http"),
        "headers": headers,
    }


def _is_cross_site(scope: Scope) -> bool:
    """Whether a page of another site opened the WebSocket."""
    headers = header_map(scope)
    origin = headers.get("origin", "")
    return bool(origin) and urlsplit(origin).netloc != headers.get("host", "")
