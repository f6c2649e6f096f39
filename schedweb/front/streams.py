"""Streaming responses: the paths that stream, and authentication and errors for all of them.

A handler is ``async def handler(scope, receive, send, match, user)``; on the event loop it may use
its own psycopg connection, never Django's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qs

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import close_old_connections
from django.http.request import split_domain_port, validate_host
from django.utils.module_loading import import_string

from apps.api.kubernetes.finding import find_cluster
from apps.cluster import service_tokens
from apps.cluster.access import gate
from apps.cluster.access.grants import role_of
from apps.cluster.availability import DatabaseUnavailable, is_database_unavailable
from apps.cluster.context import acceptable_request_id, request_context
from apps.cluster.errors import ApiError, NotFound
from apps.people.authentication import InvalidCredentials, authenticate
from schedweb.front.asgi import Application, Message, Receive, Scope, Send, header_map, respond
from schedweb.front.auditing import record_invalid_token_of, record_refusal_of
from schedweb.front.creation import create_or_pass_on
from schedweb.front.credentials import CredentialChecks, Credentials
from schedweb.front.space import refuse_change
from schedweb.front.statuses import status_body
from schedweb.front.stream_counts import TOO_MANY_STREAMS, StreamCounts
from schedweb.front.trust import drop_claims, is_secure, needs_user
from schedweb.front.websockets import WebSocketRequest

log = logging.getLogger(__name__)

Handler = Callable[[Scope, Receive, Send, re.Match[str], User], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class StreamRoute:
    """GET requests for *path* stream; with *flag*, only if that query parameter is true."""

    path: str
    handler: str
    flag: str = ""

    def match(self, scope: Scope) -> re.Match[str] | None:
        match = re.fullmatch(self.path, scope["path"])
        if match is None or not self.flag:
            return match
        query = parse_qs(scope["query_string"].decode("latin-1"))
        return match if query.get(self.flag, [""])[0].lower() in {"1", "t", "true"} else None


STREAMS = (
    StreamRoute(
        r"/k8s/(?P<cluster>[^/]+)/(?P<path>(?:api|apis)/.+)", "apps.api.streams.watch", flag="watch"
    ),
    # the deprecated paths of watches
    StreamRoute(
        r"/k8s/(?P<cluster>[^/]+)/(?P<path>(?:api/v1|apis/[^/]+/[^/]+)/watch/.+)",
        "apps.api.streams.watch",
    ),
    StreamRoute(r"/clusters/(?P<cluster>[^/]+)/live", "apps.dashboard.streams.live"),
    StreamRoute(r"/live", "apps.dashboard.streams.site"),
)


class Front:
    """The ASGI application: streams here, everything else to *other*."""

    def __init__(self, other: Application, streams: tuple[StreamRoute, ...] = STREAMS) -> None:
        self._other = other
        self._streams = streams
        self._running: set[asyncio.Task[None]] = set()
        self._checks = CredentialChecks(_is_valid)
        self._counts = StreamCounts(settings.CONFIG.max_streams, settings.CONFIG.user_streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            request = WebSocketRequest(scope, receive, send)
            scope, receive, send = request.scope, request.receive, request.send
        drop_claims(scope)
        if needs_user(scope) and await self._find_user(scope, send) is None:
            return
        if await refuse_change(scope, send):
            return
        if scope["method"] == "POST":
            await create_or_pass_on(scope, receive, send, self._other)
            return
        if scope["method"] == "GET":
            for stream in self._streams:
                match = stream.match(scope)
                if match is not None:
                    await self._stream(stream, match, scope, receive, send)
                    return
        await self._other(scope, receive, send)

    async def _find_user(self, scope: Scope, send: Send) -> User | None:
        """The user of a request whose body has not been read; None if it was rejected."""
        cluster = re.match(r"/k8s/([^/]+)/", scope["path"])
        try:
            return await _admit(scope, send, cluster[1] if cluster else None)
        except Exception as error:
            if not is_database_unavailable(error):
                raise
            refusal = DatabaseUnavailable()
            body, kind = status_body(refusal.code, refusal.reason, refusal.message)
            await respond(send, 503, body, kind, headers={"retry-after": "1"})
            return None

    def end_streams(self) -> None:
        """Close every stream, as clients expect when a server restarts."""
        for task in self._running:
            task.cancel()

    async def _stream(
        self, stream: StreamRoute, match: re.Match[str], scope: Scope, receive: Receive, send: Send
    ) -> None:
        headers = header_map(scope)
        with request_context(acceptable_request_id(headers.get("x-request-id"))) as request_id:
            answer = _Answer(send, request_id)
            try:
                if settings.SECURE_SSL_REDIRECT and not is_secure(scope):
                    refusal = status_body(403, "Forbidden", "this site serves https only")
                    await respond(answer, 403, *refusal)
                    return
                cluster = match["cluster"] if match.groupdict().get("path") else None
                user = await _admit(scope, answer, cluster)
                if user is not None and not self._counts.has_room_for(user.username):
                    refusal = status_body(429, "TooManyRequests", TOO_MANY_STREAMS)
                    await respond(answer, 429, *refusal, headers={"retry-after": "10"})
                    return
                if user is not None and await _may_stream(user, stream, match, answer):
                    handler: Handler = import_string(stream.handler)
                    handling = handler(scope, receive, answer, match, user)
                    subject = match.groupdict().get("cluster")
                    credentials = _credentials(headers, cluster, user, subject)
                    await self._run(handling, answer, credentials)
                    if answer.status == 403:
                        await asyncio.to_thread(record_refusal_of, scope, user, request_id)
            except Exception as error:
                if not is_database_unavailable(error):
                    raise
                log.warning("a stream ends because the database is unavailable: %s", error)
                await answer.give_up()

    async def _run(
        self, handling: Awaitable[None], answer: _Answer, credentials: Credentials
    ) -> None:
        with self._counts.count(credentials.user):
            await self._run_counted(handling, answer, credentials)

    async def _run_counted(
        self, handling: Awaitable[None], answer: _Answer, credentials: Credentials
    ) -> None:
        task = asyncio.ensure_future(handling)
        self._running.add(task)
        try:
            with self._checks.cover(credentials, task):
                await task
        except asyncio.CancelledError:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await answer.finish()
        finally:
            self._running.discard(task)


class _Answer:
    """Sends a response with the request id; can end an incomplete one."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self._begun = False
        self._open = False
        #: The status of the response; 0 before it.
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *message.get("headers", ()),
                (b"x-request-id", self._request_id.encode()),
            ]
            self._begun = self._open = True
            self.status = message["status"]
        elif not message.get("more_body", False):
            self._open = False
        await self._send(message)

    async def finish(self) -> None:
        if self._open:
            await self({"type": "http.response.body", "body": b"", "more_body": False})

    async def give_up(self) -> None:
        """Send an error, or end the response properly if it has started: the client reconnects."""
        if self._begun:
            await self.finish()
            return
        refusal = DatabaseUnavailable()
        body, kind = status_body(refusal.code, refusal.reason, refusal.message)
        await respond(self, 503, body, kind, headers={"retry-after": "1"})


async def _admit(scope: Scope, send: Send, cluster: str | None) -> User | None:
    """The user of the request; None if the request was rejected.

    `cluster` is the one whose Kubernetes API is requested, whose service accounts are users, too.
    """
    headers = header_map(scope)
    host = split_domain_port(headers.get("host", ""))[0]
    if not validate_host(host, settings.ALLOWED_HOSTS):
        await respond(
            send, 400, *status_body(400, "BadRequest", f"the host {host!r} is not served")
        )
        return None
    user = await sync_to_async(_authenticate, thread_sensitive=False)(headers, cluster)
    if user is None:
        request_id = acceptable_request_id(headers.get("x-request-id"))
        await asyncio.to_thread(record_invalid_token_of, scope, request_id)
        body, kind = status_body(401, "Unauthorized", "Unauthorized")
        await respond(send, 401, body, kind, headers={"www-authenticate": "Bearer"})
    return user


def _authenticate(headers: dict[str, str], cluster: str | None) -> User | None:
    close_old_connections()
    try:
        token = headers.get("authorization", "").partition(" ")[2].strip()
        if cluster is not None and service_tokens.is_service_token(token):
            return service_tokens.verify(find_cluster(cluster), token)
        return authenticate(headers)
    except (InvalidCredentials, NotFound, service_tokens.InvalidToken):
        return None
    finally:
        close_old_connections()


async def _may_stream(user: User, stream: StreamRoute, match: re.Match[str], send: Send) -> bool:
    """Whether the user may open the stream; if not, it has been refused."""

    def check() -> None:
        close_old_connections()
        try:
            gate.check(user, f"stream:{stream.handler}", "GET", match.groupdict())
        finally:
            close_old_connections()

    try:
        await sync_to_async(check, thread_sensitive=False)()
    except ApiError as refusal:
        body, kind = status_body(refusal.code, refusal.reason, refusal.message)
        await respond(send, refusal.code, body, kind)
        return False
    return True


def _credentials(
    headers: dict[str, str], cluster: str | None, user: User, subject: str | None
) -> Credentials:
    authorization, cookie = headers.get("authorization", ""), headers.get("cookie", "")
    return Credentials(authorization, cookie, cluster, user.get_username(), subject)


def _is_valid(credentials: Credentials) -> bool:
    """Whether the same user is still authenticated, and still sees the cluster."""
    headers = {"authorization": credentials.authorization, "cookie": credentials.cookie}
    user = _authenticate(headers, credentials.cluster)
    if user is None or user.get_username() != credentials.user:
        return False
    # service accounts are not stored: they exist in their cluster only
    return credentials.subject is None or user.pk is None or _sees(user, credentials.subject)


def _sees(user: User, cluster: str) -> bool:
    close_old_connections()
    try:
        return role_of(user, cluster) is not None
    finally:
        close_old_connections()
