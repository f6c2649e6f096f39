"""Requests streams from the web front, without a network."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import unquote

from schedweb.front.streams import Front

Answer = tuple[int, dict[str, str], bytes]


class StreamClient:
    """One GET request to the front; the response is in `status`, `headers` and `lines`."""

    def __init__(self, path: str, headers: dict[str, str]) -> None:
        place, _, query = path.partition("?")
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": unquote(place),
            "query_string": query.encode(),
            "headers": [
                (b"host", b"localhost"),
                *((name.lower().encode(), value.encode()) for name, value in headers.items()),
            ],
        }
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self._left = asyncio.Event()
        self._news = asyncio.Condition()

    async def run(self) -> None:
        """Run until the response ends."""
        await Front(_nothing_else)(self.scope, self._receive, self._send)

    def leave(self) -> None:
        """Disconnect, like a client."""
        self._left.set()

    async def lines(self, count: int) -> list[bytes]:
        """Wait for the first `count` lines."""
        async with asyncio.timeout(10), self._news:
            await self._news.wait_for(lambda: self.body.count(b"\n") >= count)
        return self.body.splitlines()[:count]

    async def _receive(self) -> dict[str, Any]:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {n.decode(): v.decode() for n, v in message["headers"]}
        else:
            self.body += message.get("body", b"")
        async with self._news:
            self._news.notify_all()


async def request_stream(path: str, headers: dict[str, str]) -> Answer:
    """The whole response of a stream that ends by itself."""
    stream = StreamClient(path, headers)
    async with asyncio.timeout(20):
        await stream.run()
    return stream.status, stream.headers, stream.body


async def _nothing_else(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError(f"{scope['path']} is not a stream")
