"""The streams of the API: watches, served on the event loop by the web front."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, MutableMapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import close_old_connections, connection
from django.http import HttpResponse, QueryDict

from apps.api.kubernetes import media, params, paths, watching
from apps.api.kubernetes.accesses import access_of
from apps.api.kubernetes.calls import Answer, Call
from apps.api.kubernetes.custom import parse_custom
from apps.api.kubernetes.discovery import unknown_path
from apps.api.kubernetes.errors import WrongMethod
from apps.api.kubernetes.finding import Resolved, find_cluster
from apps.api.kubernetes.presenting import present_object, warning_header
from apps.api.kubernetes.views import find_handler, refusal_response
from apps.api.kubernetes.watching import BATCH, Watch, error_line
from apps.api.sending import send_from_thread
from apps.cluster.access.deciding import require
from apps.cluster.access.identity import identity_of
from apps.cluster.access.impersonation import impersonate
from apps.cluster.context import current_request_id
from apps.cluster.errors import ApiError
from apps.cluster.log.feed import ChangeFeed
from apps.cluster.log.listen import listener
from apps.cluster.writes import Actor
from apps.cluster.writing.default_policy import create_default_policy

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
T = TypeVar("T")

#: Bytes of initial events that are sent at once.
PIECE: Final = 64 * 1024
#: Interval of bookmarks in a watch without events.
BOOKMARK_SECONDS = 60.0


class _Ended(Exception):
    """A watch is over: the client has disconnected, or there is nothing to send."""


async def watch(
    scope: Scope, receive: Receive, send: Send, match: re.Match[str], user: User
) -> None:
    """GET with `watch=true`: a line of JSON or a frame of protobuf for each event.

    Ends when the client disconnects, or at the timeout.
    """
    accept = dict(scope["headers"]).get(b"accept", b"").decode("latin-1")
    deprecation = ""
    try:
        call = await _run_in_thread(lambda: _call(scope, match, user, accept))
        deprecation = call.resource.deprecation
        if call.target.name and not call.target.watch:
            # a single object cannot be watched: the parameter is ignored
            return await _respond(
                send, await _run_in_thread(lambda: present_object(call, _read(call)))
            )
        stream = Watch(call, watching.watch_options(call))
    except ApiError as refusal:
        if deprecation:
            refusal.warnings = [deprecation, *refusal.warnings]
        return await _respond(send, refusal_response(refusal, accept))
    disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))
    streaming = asyncio.ensure_future(_send_events(stream, send))
    try:
        await asyncio.wait({disconnect, streaming}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        disconnect.cancel()
        if not streaming.done():
            streaming.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await streaming


async def _send_events(stream: Watch, send: Send) -> None:
    """Send the events of the watch until its timeout."""
    timeout = stream.options.timeout
    end = time.monotonic() + timeout if timeout else float("inf")
    cluster = stream.call.cluster.pk
    # subscribe before the first read, so that no change is missed
    async with listener().subscribe(cluster) as subscription:
        headers = [(b"content-type", watching.content_type(stream.call.media).encode())]
        if deprecation := stream.call.resource.deprecation:
            headers.append((b"warning", warning_header([deprecation]).encode("latin-1")))
        await send(_start(200, headers))
        try:
            if stream.is_empty:
                raise _Ended
            await _send_from_thread(stream.begin, send)
            feed = listener().feed(cluster, stream.version)
            lines = await _read_log(stream, feed)
            while True:
                if lines:
                    await send(_chunk(b"".join(lines)))
                lines = await _next_lines(stream, feed)
                if lines:
                    continue
                left = end - time.monotonic()
                if left <= 0:
                    break
                if await subscription.wait(min(left, BOOKMARK_SECONDS)) is None:
                    lines = _idle(stream, time.monotonic() < end)
        except _Ended:
            pass
        except ApiError as refusal:
            await send(_chunk(error_line(stream.call.media, refusal)))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _next_lines(stream: Watch, feed: ChangeFeed) -> list[bytes]:
    """The events after the stream's version, from the feed if it reaches back that far."""
    while (changes := feed.after(stream.version)) is not None:
        batch = changes[:BATCH]
        if stream.needs_log(batch):
            lines = await _run_in_thread(partial(stream.lines_of, batch, feed))
        else:
            lines = stream.lines_of(batch, feed)
        if lines or len(changes) == len(batch):
            return lines
    return await _read_log(stream, feed)


async def _read_log(stream: Watch, feed: ChangeFeed) -> list[bytes]:
    position = feed.position
    lines = await _run_in_thread(stream.read_lines)
    if not lines:
        # the log has nothing more of this kind, up to this version at least
        stream.version = max(stream.version, position)
    return lines


def _idle(stream: Watch, goes_on: bool) -> list[bytes]:
    return [stream.bookmark()] if stream.options.bookmarks and goes_on else []


def _read(call: Call) -> Answer:
    return find_handler(call.target, "GET")(call)


def _call(scope: Scope, match: re.Match[str], user: User, accept: str) -> Call:
    headers = {n.decode("latin-1"): value.decode("latin-1") for n, value in scope["headers"]}
    cluster = find_cluster(match["cluster"])
    target = paths.parse(match["path"]) or parse_custom(cluster, match["path"])
    if target is None or target.subresource:
        raise unknown_path(match["path"])
    if "watch" not in target.resource.verbs:
        raise WrongMethod
    query = QueryDict(scope["query_string"].decode("latin-1"))
    params.check_text(query)
    access = replace(access_of(target, "GET", query), verb="watch")
    identity = impersonate(identity_of(user, cluster), headers, cluster, access)
    require(identity, access)
    if target.resource.has_defaults and create_default_policy(cluster):
        cluster = find_cluster(cluster.name)
    return Call(
        resolved=Resolved(cluster),
        target=target,
        method="GET",
        query=query,
        raw=b"",
        content_type="",
        media=media.negotiate(
            accept,
            protobuf=target.resource.has_message,
            custom=target.resource.custom is not None,
            listed=True,
            watched=True,
        ),
        actor=Actor(identity.actor, current_request_id()),
        identity=identity,
    )


async def _wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _run_in_thread(function: Callable[[], T]) -> T:
    """Run a function that uses the database in a thread, and close its connection afterwards."""

    def run() -> T:
        close_old_connections()
        try:
            return function()
        finally:
            connection.close()

    return await sync_to_async(run, thread_sensitive=False)()


async def _send_from_thread(produce: Callable[[], Iterator[bytes]], send: Send) -> None:
    """Send what a function that uses the database produces, piece by piece.

    The thread waits until the client has received a piece before it reads the next one.
    """
    loop = asyncio.get_running_loop()
    ended = threading.Event()

    def send_piece(piece: bytes) -> None:
        if ended.is_set():
            raise _Ended
        send_from_thread(_send_chunk(send, piece), loop)

    def run() -> None:
        with contextlib.suppress(_Ended), contextlib.closing(_pieces(produce())) as pieces:
            for piece in pieces:
                send_piece(piece)

    try:
        await _run_in_thread(run)
    finally:
        ended.set()


async def _send_chunk(send: Send, piece: bytes) -> None:
    await send(_chunk(piece))


def _pieces(lines: Iterator[bytes]) -> Generator[bytes, None, None]:
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


async def _respond(send: Send, response: HttpResponse) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in response.items()]
    await send(_start(response.status_code, headers))
    await send(_chunk(response.content, more=False))


def _start(status: int, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": headers}


def _chunk(body: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}
