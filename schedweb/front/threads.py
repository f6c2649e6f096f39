"""Runs a WSGI application in threads as an ASGI application.

Optimized for responses that are complete when the application returns, as nearly all of Django's
are: they are passed from the thread to the event loop once. Large ones are sent in pieces, each
after the client has received the previous one.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import math
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec

from apps.api.kubernetes.bodies import too_large
from apps.api.sending import ClientStalled, send_from_thread
from schedweb.front.asgi import Receive, Scope, Send, respond
from schedweb.front.bodies import (
    BodyTooLarge,
    ClientDisconnected,
    largest_body,
    read_body,
    reserved_bytes,
)
from schedweb.front.trust import client_network
from schedweb.memory import resident_bytes

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Bytes of a response that are buffered before they are sent.
PIECE = 256 * 1024

#: Bytes of a body that is read also while the process has exceeded its memory budget.
SMALL_BODY = 64 * 1024

#: What is answered whatever the load is, by threads of its own: a process that is busy is no
#: reason to end it.
HEALTH_PATHS = frozenset({"/healthz", "/livez", "/readyz"})
HEALTH_THREADS = 2

#: The part of all requests at a time that may come from one address.
LARGEST_SHARE = 0.75

#: The body of a response 429.
TOO_MANY = b"Too many requests, please try again later.\n"


@dataclass(frozen=True, slots=True)
class Limits:
    """What requests may hold at a time: streams and creations of objects are not counted."""

    requests: float
    #: Sum of the bodies, in bytes.
    body_bytes: float
    #: Memory of the process in bytes, above which requests with large bodies are refused.
    memory: float = math.inf


NO_LIMITS = Limits(math.inf, math.inf)


class WsgiInThreads:
    """The ASGI application that runs *application* in a pool of *threads*.

    Requests beyond *limits* are answered 429, as by kube-apiserver. Health checks are answered
    beside them, whatever the load is.
    """

    def __init__(self, application: Any, *, threads: int, limits: Limits = NO_LIMITS) -> None:
        self._application = application
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self._health_pool = ThreadPoolExecutor(HEALTH_THREADS, thread_name_prefix="health")
        self._limits = limits
        self._requests = 0
        self._requests_of: Counter[str] = Counter()
        self._body_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in ("GET", "HEAD") and scope["path"] in HEALTH_PATHS:
            # a body that it may have is not read
            await self._respond(self._health_pool, scope, b"", send)
            return
        await self.limited(scope, receive, send, lambda raw: self.answer(scope, raw, send))

    async def limited(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        answer: Callable[[bytes], Awaitable[None]],
    ) -> None:
        """Read the body and let `answer` respond, if the request is within the limits."""
        reserved = reserved_bytes(scope)
        client = client_network(scope)
        if not self._has_room_for(reserved) or not self._has_place_for(client):
            await _refuse_for_now(send)
            return
        self._body_bytes += reserved
        try:
            raw = await read_body(receive, largest_body(scope))
            # a request whose body is still being received has no place
            if not self._has_place_for(client):
                await _refuse_for_now(send)
                return
            with self._place_of(client):
                await answer(raw)
        except ClientDisconnected:
            return
        except BodyTooLarge:
            await refuse_body(scope, send)
        finally:
            self._body_bytes -= reserved

    @contextlib.contextmanager
    def _place_of(self, client: str) -> Iterator[None]:
        self._requests += 1
        self._requests_of[client] += 1
        try:
            yield
        finally:
            self._requests -= 1
            self._requests_of[client] -= 1
            if not self._requests_of[client]:
                del self._requests_of[client]

    def _has_place_for(self, client: str) -> bool:
        share = max(1, self._limits.requests * LARGEST_SHARE)
        return self._requests < self._limits.requests and self._requests_of[client] < share

    def _has_room_for(self, body_bytes: int) -> bool:
        return self._body_bytes + body_bytes <= self._limits.body_bytes and (
            body_bytes <= SMALL_BODY or not self._is_over_budget()
        )

    def _is_over_budget(self) -> bool:
        return self._limits.memory < math.inf and resident_bytes() > self._limits.memory

    async def answer(self, scope: Scope, body: bytes, send: Send) -> None:
        """Let Django respond; the caller has counted the request."""
        await self._respond(self._pool, scope, body, send)

    async def _respond(
        self, pool: ThreadPoolExecutor, scope: Scope, body: bytes, send: Send
    ) -> None:
        loop = asyncio.get_running_loop()
        exchange = _Exchange(loop, send)
        environ = wsgi_environ(scope, body)
        try:
            rest = await loop.run_in_executor(pool, exchange.run, self._application, environ)
        except ClientStalled:
            # the server closes the connection of a response without an end
            log.warning("a client did not read its response: %s", scope["path"])
            return
        await exchange.send_piece(rest, more=False)

    async def run(self, function: Callable[[], T]) -> T:
        """The result of a function in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, function)

    def close(self) -> None:
        """Wait for running requests."""
        self._pool.shutdown()
        self._health_pool.shutdown()


async def _refuse_for_now(send: Send) -> None:
    await respond(send, 429, TOO_MANY, headers={"retry-after": "1"})


async def refuse_body(scope: Scope, send: Send) -> None:
    """The response to a body that is larger than the limit of its path."""
    if scope["path"].startswith("/k8s/"):
        status = msgspec.json.encode(too_large().status())
        await respond(send, 413, status, content_type="application/json")
    else:
        await respond(send, 413, b"the body is too large\n", content_type="text/plain")


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
                    piece = self.send_piece(b"".join(waiting), more=True)
                    send_from_thread(piece, self._loop)
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
