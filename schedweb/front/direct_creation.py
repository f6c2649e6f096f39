"""Creations that need no task: the connection submits them and answers them in its callbacks.

Most of a POST's time in this process was uvicorn's: a task, two messages, and three rounds of the
event loop. When a request is complete, all that its creation needs is usually in memory. The object
is sent to the database at once then, and the response is written when it is on disk. All other
requests, and those that are refused, take the way of the application.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache, partial
from typing import Any, Final, cast

from django.conf import settings
from django.http.request import split_domain_port
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from apps.api import creation
from apps.api.creation_routes import Route, route_of
from apps.api.creator import Created, Submission
from apps.cluster import storage
from schedweb.front.asgi import Scope
from schedweb.front.cluster_roots import SERVER_NAME, cluster_of, site_names
from schedweb.front.creation import SUBMITTED, headers_of, is_served, request_id_of
from schedweb.front.joined_writes import JoinedWrites, JoiningProtocol

_CREATED: Final = STATUS_LINE[201]


class DirectProtocol(JoiningProtocol):
    """Answers creations itself."""

    #: A creation whose body is still being received: its cycle, the application, and its route.
    _held: tuple[RequestResponseCycle, Any, Route] | None = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        route = _route_of(cycle)
        if route is None:
            super()._start_asgi_task(cycle, app)
            return
        self._held = (cycle, app, route)
        if not cycle.more_body:
            self._submit(*self._held)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self._held is not None:
            self._submit(*self._held)

    def connection_lost(self, exc: Exception | None) -> None:
        self._held = None
        super().connection_lost(exc)

    def _submit(self, cycle: RequestResponseCycle, app: Any, route: Route) -> None:
        self._held = None
        request_id = request_id_of(dict(reversed(_scope(cycle)["headers"])))
        submission = creation.submit(route, bytes(cycle.body), request_id)
        if submission is None:
            super()._start_asgi_task(cycle, app)
            return
        finish = partial(self._finish, cycle, app, submission, request_id)
        submission.version.add_done_callback(finish)

    def _finish(
        self,
        cycle: RequestResponseCycle,
        app: Any,
        submission: Submission,
        request_id: str,
        version: asyncio.Future[int],
    ) -> None:
        if version.cancelled() or version.exception() is not None:
            _scope(cycle)[SUBMITTED] = (submission, request_id)
            super()._start_asgi_task(cycle, app)
        elif not cycle.disconnected:
            _answer(cycle, submission.created(version.result(), []), request_id)


def _scope(cycle: RequestResponseCycle) -> Scope:
    return cast(Scope, cycle.scope)


def _route_of(cycle: RequestResponseCycle) -> Route | None:
    """The creation that a request asks for; None if the application has to handle the request."""
    scope = _scope(cycle)
    if scope["method"] != "POST" or not scope["path"].startswith("/k8s/"):
        return None
    if cycle.waiting_for_100_continue or cycle.flow.write_paused or scope.get(SERVER_NAME):
        return None
    headers = dict(reversed(scope["headers"]))
    if not _names_site(headers.get(b"host", b"")) or storage.shortage():
        return None
    return route_of(scope, headers)


@lru_cache(maxsize=100)
def _names_site(host: bytes) -> bool:
    """Whether requests to this host are for the site, and not for a cluster's own name."""
    name = split_domain_port(host.decode("latin-1"))[0]
    return is_served(host) and cluster_of(name, site_names(settings.ALLOWED_HOSTS)) is None


def _answer(cycle: RequestResponseCycle, created: Created, request_id: str) -> None:
    """Write the whole response, and let the connection go on."""
    pieces = [_CREATED]
    for name, value in (*cycle.default_headers, *headers_of(created, request_id)):
        pieces += (name, b": ", value, b"\r\n")
    pieces += (b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n", created.text)
    cycle.response_started = cycle.response_complete = True
    cast(JoinedWrites, cycle.transport).write_whole(b"".join(pieces))
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
