"""The stream of a live page: which kinds of things have changed, so that its regions refetch.

Each event is named after a topic, the plural of a kind ("pods") or CONTROL, and carries the
cluster's version as its data and id. Changes of half a second are told together. The page asks for
what came after the version it was rendered from (`?after=`), so nothing falls between the two.

Pages above the clusters hear of all of them: `site` streams one topic, SITE, whenever anything
happened anywhere. Its position is `site_stamp`.
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
from apps.cluster.log import listen
from apps.cluster.log.listen import Subscription, listener
from apps.cluster.models import Cluster

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

#: The topic of what is not in the change log, such as the queue; told with every news, since
#: news of several kinds may arrive as one.
CONTROL = "control"
#: The topic of what happens anywhere.
SITE = "site"
#: The last event of a stream whose cluster was deleted.
GONE = "gone"
TOPICS = tuple(kind.plural for kind in kinds.ALL)

#: Changes are collected this long; a busy cluster's pages refetch no oftener.
_COLLECT_SECONDS = 0.5
#: Pages of the whole site refetch no oftener.
_SITE_SECONDS = 1.5
#: A comment is sent after so much silence, so that proxies and dead clients are noticed.
_SILENCE_SECONDS = 15.0
#: A page further behind than this is told that everything changed.
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


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the log: where it ends, and what is in it that is new."""

    version: int
    topics: frozenset[str]


async def live(
    scope: MutableMapping[str, Any],
    receive: Receive,
    send: Send,
    match: re.Match[str],
    user: User,
) -> None:
    """Stream the changes of the cluster that `match` names, until the client leaves."""
    found = await _in_thread(_find, match["cluster"])
    if found is None:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        return
    cluster_id, version = found
    await _until_either_ends(_tell(cluster_id, _after(scope, version), send), receive, send)


async def site(
    scope: MutableMapping[str, Any],
    receive: Receive,
    send: Send,
    match: re.Match[str],
    user: User,
) -> None:
    """Stream that something happened, anywhere, until the client leaves."""
    await _until_either_ends(_tell_of_site(_asked(scope), send), receive, send)


async def _until_either_ends(stream: Awaitable[None], receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    telling = asyncio.ensure_future(stream)
    leaving = asyncio.ensure_future(_until_client_leaves(receive))
    try:
        await asyncio.wait({telling, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (telling, leaving):
            task.cancel()
        await asyncio.gather(telling, leaving, return_exceptions=True)
    if not telling.cancelled():
        telling.result()


async def _tell(cluster_id: int, position: int, send: Send) -> None:
    """Send what comes after `position`, for ever or until the cluster is deleted."""
    async with listener().subscribe(cluster_id) as subscription:
        await _send_text(send, "retry: 1000\n\n")
        news = False
        while True:
            look = await _in_thread(_look, cluster_id, position)
            if look is None:
                await _send_text(send, f"event: {GONE}\ndata: {position}\n\n", more=False)
                return
            position = look.version
            topics = look.topics | {CONTROL} if news or look.topics else look.topics
            if topics:
                await _send_topics(send, topics, position)
                await asyncio.sleep(_COLLECT_SECONDS)
            news = await _wait_for_news(subscription, send)


async def _tell_of_site(seen: str, send: Send) -> None:
    """One event whenever there is news, and at once for a page that is older than the site."""
    async with listener().subscribe(listen.SITE) as subscription:
        await _send_text(send, "retry: 1000\n\n")
        news = await _in_thread(site_stamp) != seen
        while True:
            if news:
                stamp = await _in_thread(site_stamp)
                await _send_text(send, f"id: {stamp}\nevent: {SITE}\ndata: {stamp}\n\n")
                await asyncio.sleep(_SITE_SECONDS)
            news = await _wait_for_news(subscription, send)


def site_stamp() -> str:
    """A text that is another one when a cluster or a task was made, changed or deleted."""
    with connection.cursor() as cursor:
        cursor.execute(_STAMP)
        return "-".join(str(number) for number in cursor.fetchone())


async def _wait_for_news(subscription: Subscription, send: Send) -> bool:
    """True for news; False after a long silence, or when the connection was just made.

    One looks at the log then as well: whoever changed something may have died before he told.
    """
    version = await subscription.wait(timeout=_SILENCE_SECONDS)
    if version is None:
        await _send_text(send, ": still here\n\n")
        return False
    return version > 0


async def _send_topics(send: Send, topics: Collection[str], version: int) -> None:
    events = [f"id: {version}\nevent: {topic}\ndata: {version}\n\n" for topic in sorted(topics)]
    await _send_text(send, "".join(events))


async def _send_text(send: Send, text: str, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": more})


async def _until_client_leaves(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _after(scope: MutableMapping[str, Any], version: int) -> int:
    """The version the page has seen; what it says beyond the present is not believed."""
    asked = _asked(scope)
    return min(int(asked), version) if asked.isascii() and asked.isdecimal() else version


def _asked(scope: MutableMapping[str, Any]) -> str:
    query: bytes = scope["query_string"]
    return parse_qs(query.decode("latin-1")).get("after", [""])[0]


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Ask the database through Django, off the event loop."""

    def ask() -> Any:
        try:
            return function(*arguments)
        finally:
            close_old_connections()

    return await sync_to_async(ask, thread_sensitive=False)()


def _find(name: str) -> tuple[int, int] | None:
    found = Cluster.objects.filter(name=name).values_list("pk", "resource_version")
    return found.first()


def _look(cluster_id: int, position: int) -> Look | None:
    """What is after `position`; None when there is no such cluster."""
    version = Cluster.objects.filter(pk=cluster_id).values_list("resource_version", flat=True)
    newest = version.first()
    if newest is None:
        return None
    if newest - position > _FAR_BEHIND:
        return Look(newest, frozenset((*TOPICS, CONTROL)))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT kind FROM cluster_change "
            "WHERE cluster_id = %s AND version > %s AND version <= %s",
            [cluster_id, position, newest],
        )
        changed = [row[0] for row in cursor.fetchall()]
    return Look(newest, frozenset(kinds.by_name(kind).plural for kind in changed))
