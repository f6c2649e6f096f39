"""Runs a WSGI application in threads as an ASGI application.

Optimized for responses that are complete when the application returns, as nearly all of Django's
are: they are passed from the thread to the event loop once. Large ones are sent in pieces, each
after the client has received the previous one.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

from schedweb.front.asgi import Receive, Scope, Send, respond
from schedweb.front.bodies import BodyTooLarge, ClientDisconnected, read_body

T = TypeVar("T")

#: Bytes of a response that are buffered before they are sent.
PIECE = 256 * 1024


class WsgiInThreads:
    """The ASGI application that runs *application* in a pool of *threads*."""

    def __init__(self, application: Any, *, threads: int) -> None:
        self._application = application
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="request")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(receive)
        except ClientDisconnected:
            return
        except BodyTooLarge:
            await respond(send, 413, b"the body is too large\n", content_type="text/plain")
            return
        loop = asyncio.get_running_loop()
        exchange = _Exchange(loop, send)
        environ = wsgi_environ(scope, body)
        rest = await loop.run_in_executor(self._pool, exchange.run, self._application, environ)
        await exchange.send_piece(rest, more=False)

    async def run(self, function: Callable[[], T]) -> T:
        """The result of a function in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function)

    def close(self) -> None:
        """Wait for running requests."""
        self._pool.shutdown()


class _Exchange:
    """One request: collects the response and sends it to the client."""

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Send) -> None:
        self._loop = loop
        self._send = send
        self._head: dict[str, Any] = {}
        self._head_sent = False

    def run(self, application: Any, environ: dict[str, Any]) -> bytes:
        """Call the application, in the thread; returns the last piece of the body."""
        chunks: Iterable[bytes] = application(environ, self._start_response)
        waiting: list[bytes] = []
        size = 0
        try:
            for chunk in chunks:
                waiting.append(chunk)
                size += len(chunk)
                if size >= PIECE:
                    sending = self.send_piece(b"".join(waiting), more=True)
                    asyncio.run_coroutine_threadsafe(sending, self._loop).result()
                    waiting, size = [], 0
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()
        return b"".join(waiting)

    async def send_piece(self, piece: bytes, *, more: bool) -> None:
        if not self._head_sent:
            self._head_sent = True
            await self._send(self._head)
        await self._send({"type": "http.response.body", "body": piece, "more_body": more})

    def _start_response(
        self, status: str, headers: list[tuple[str, str]], exc_info: object = None
    ) -> None:
        self._head = {
            "type": "http.response.start",
            "status": int(status[:3]),
            "headers": [
                (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers
            ],
        }


def wsgi_environ(scope: Scope, body: bytes) -> dict[str, Any]:
    """The WSGI environment (PEP 3333) of an ASGI request with this *body*."""
    server = scope.get("server") or ("localhost", 80)
    client = scope.get("client") or ("", 0)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0],
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for raw_name, raw_value in scope["headers"]:
        # "X_Y" would become the same variable as "X-Y", and could spoof it.
        if b"_" not in raw_name and raw_name not in (b"content-length", b"transfer-encoding"):
            _add_header(environ, raw_name.decode("latin-1"), raw_value.decode("latin-1"))
    return environ


def _add_header(environ: dict[str, Any], name: str, value: str) -> None:
    variable = name.upper().replace("-", "_")
    if variable != "CONTENT_TYPE":
        variable = f"HTTP_{variable}"
    if variable in environ:
        separator = "; " if variable == "HTTP_COOKIE" else ","
        value = f"{environ[variable]}{separator}{value}"
    environ[variable] = value
