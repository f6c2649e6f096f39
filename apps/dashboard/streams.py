"""The event stream of a live page: which kinds of objects changed, so that its regions reload.

Each event is named after a topic, the plural of a kind ("pods") or CONTROL; its data and id are
the cluster's version. Changes within half a second are sent together. The page requests the changes
after the version it was rendered from (`?after=`), so it misses none.

`site` serves the pages about all clusters: one topic, SITE, for a change of any cluster. Its
position is `site_stamp`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import close_old_connections, connection

from apps.cluster import kinds
from apps.cluster.access.reach import reach_of
from apps.cluster.log import listen
from apps.cluster.log.listen import Subscription, listener
from apps.cluster.models import Cluster

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: The topic of changes outside the change log, such as the queue. Sent with every announcement,
#: because announcements may be merged.
CONTROL = "control"
#: The topic of changes of any cluster.
SITE = "site"
#: The last event of a stream whose cluster was deleted.
DELETED = "deleted"
TOPICS = tuple(kind.plural for kind in kinds.ALL)

#: Changes are collected this long; the pages of a busy cluster reload no more often.
_COLLECT_SECONDS = 0.5
#: The pages about all clusters reload no more often.
_SITE_SECONDS = 1.5
#: A comment is sent after this time without events, which detects closed connections.
_SILENCE_SECONDS = 15.0
#: A page that is more versions behind than this reloads every region.
_FAR_BEHIND = 50_000

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


_STAMP = """
    SELECT coalesce(sum(resource_version), 0), count(*), count(*) FILTER (WHERE paused),
        (SELECT coalesce(max(id), 0) FROM controlplane_operation),
        (SELECT count(*) FROM controlplane_operation WHERE finished_at IS NOT NULL)
    FROM cluster_cluster
"""
#: For users who do not see every cluster. Operations that create a cluster are in it, too: their
#: number says nothing about whose they are.
_STAMP_OF_SOME = _STAMP + "WHERE id = ANY(%s)"


@dataclass(frozen=True, slots=True)
class TopicChanges:
    """The newest version of the log, and the topics that changed since a position."""

    version: int
    topics: frozenset[str]


async def live(
    scope: MutableMapping[str, Any],
    receive: Receive,
    send: Send,
    match: re.Match[str],
    user: User,
) -> None:
    """Stream the changes of the cluster that `match` names, until the client disconnects."""
    known = await _in_thread(_find_cluster, match["cluster"])
    if known is None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        return
    cluster_id, version = known
    await _run_stream(
        _stream_cluster(cluster_id, _read_start_version(scope, version), send), receive, send
    )


async def site(
    scope: MutableMapping[str, Any],
    receive: Receive,
    send: Send,
    match: re.Match[str],
    user: User,
) -> None:
    """Stream that any cluster changed, until the client disconnects."""
    await _run_stream(_stream_site(_read_position(scope), user, send), receive, send)


async def _run_stream(stream: Awaitable[None], receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    streaming = asyncio.ensure_future(stream)
    disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))
    try:
        await asyncio.wait({streaming, disconnect}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (streaming, disconnect):
            task.cancel()
        await asyncio.gather(streaming, disconnect, return_exceptions=True)
    if not streaming.cancelled():
        streaming.result()


async def _stream_cluster(cluster_id: int, position: int, send: Send) -> None:
    """Send the changes after `position`, until the cluster is deleted."""
    async with listener().subscribe(cluster_id) as subscription:
        await _send_text(send, "retry: 1000\n\n")
        changed = False
        while True:
            changes = await _in_thread(_find_changed_topics, cluster_id, position)
            if changes is None:
                await _send_text(send, f"event: {DELETED}\ndata: {position}\n\n", more=False)
                return
            position = changes.version
            topics = changes.topics | {CONTROL} if changed or changes.topics else changes.topics
            if topics:
                await _send_topics(send, topics, position)
                await asyncio.sleep(_COLLECT_SECONDS)
            changed = await _wait_for_announcement(subscription, send)


async def _stream_site(seen: str, user: User, send: Send) -> None:
    """Send an event for every change; one at once if the page is outdated."""
    async with listener().subscribe(listen.SITE) as subscription:
        await _send_text(send, "retry: 1000\n\n")
        changed = await _in_thread(site_stamp, user) != seen
        while True:
            if changed:
                stamp = await _in_thread(site_stamp, user)
                await _send_text(send, f"id: {stamp}\nevent: {SITE}\ndata: {stamp}\n\n")
                await asyncio.sleep(_SITE_SECONDS)
            changed = await _wait_for_announcement(subscription, send)


def site_stamp(user: User) -> str:
    """A text that differs after a cluster that the user sees was created, updated or deleted, and
    after an operation was.
    """
    seen = reach_of(user).ids
    with connection.cursor() as cursor:
        if seen is None:
            cursor.execute(_STAMP)
        else:
            cursor.execute(_STAMP_OF_SOME, [list(seen)])
        return "-".join(str(number) for number in cursor.fetchone())


async def _wait_for_announcement(subscription: Subscription, send: Send) -> bool:
    """True for an announcement; False after a timeout, or if the listener has just connected.

    The caller reads the log in both cases: a process may end between a change and its announcement.
    """
    version = await subscription.wait(timeout=_SILENCE_SECONDS)
    if version is None:
        await _send_text(send, ": keep-alive\n\n")
        return False
    return version > 0


async def _send_topics(send: Send, topics: Collection[str], version: int) -> None:
    events = [f"id: {version}\nevent: {topic}\ndata: {version}\n\n" for topic in sorted(topics)]
    await _send_text(send, "".join(events))


async def _send_text(send: Send, text: str, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": more})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _read_start_version(scope: MutableMapping[str, Any], version: int) -> int:
    """The version that the page was rendered from; at most `version`."""
    requested = _read_position(scope)
    return (
        min(int(requested), version) if requested.isascii() and requested.isdecimal() else version
    )


def _read_position(scope: MutableMapping[str, Any]) -> str:
    query: bytes = scope["query_string"]
    return parse_qs(query.decode("latin-1")).get("after", [""])[0]


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that queries the database, in a thread of its own."""

    def call() -> Any:
        try:
            return function(*arguments)
        finally:
            close_old_connections()

    return await sync_to_async(call, thread_sensitive=False)()


def _find_cluster(name: str) -> tuple[int, int] | None:
    rows = Cluster.objects.filter(name=name).values_list("pk", "resource_version")
    return rows.first()


def _find_changed_topics(cluster_id: int, position: int) -> TopicChanges | None:
    """The changes after `position`; None if there is no such cluster."""
    version = Cluster.objects.filter(pk=cluster_id).values_list("resource_version", flat=True)
    newest = version.first()
    if newest is None:
        return None
    if newest - position > _FAR_BEHIND:
        return TopicChanges(newest, frozenset((*TOPICS, CONTROL)))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT kind FROM cluster_change "
            "WHERE cluster_id = %s AND version > %s AND version <= %s",
            [cluster_id, position, newest],
        )
        changed = [row[0] for row in cursor.fetchall()]
    return TopicChanges(newest, frozenset(kinds.by_key(kind).plural for kind in changed))
