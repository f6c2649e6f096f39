"""Receives announcements: one LISTEN connection per process, shared by all its streams.

    async with listener().subscribe(cluster.pk) as subscription:
        while True:
            version = await subscription.wait(timeout=10)   # None: nothing for 10 s

Notifications are level-triggered: all announcements since the last call count as one, and its
version may be older than the latest in the log. A reader remembers the last version it has seen and
reads the log after it, or takes the changes from the `feed` of the cluster, which this connection
fills before it notifies the readers. When the connection was lost and reconnects, every subscriber
is notified, because an announcement may have been missed; one query per second finds changes that
were not announced.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db import connection

from apps.cluster.log.announce import CHANNEL
from apps.cluster.log.changelog import read_changes
from apps.cluster.log.feed import ChangeFeed

log = logging.getLogger(__name__)

#: Instead of a cluster's id: changes of any cluster, and of the site.
SITE = 0

_RETRY_SECONDS = 1.0
#: How often the versions are polled, because an announcement can be lost.
_LOOK_SECONDS = 1.0
#: Number of changes that a feed reads at once.
_FEED_BATCH = 500

Connection = psycopg.AsyncConnection[Any]


class Subscription:
    """The pending notification of one stream about one cluster."""

    def __init__(self, cluster_id: int) -> None:
        self.cluster_id = cluster_id
        self._version = 0
        self._due: set[int] = set()
        self._event = asyncio.Event()

    def notify(self, version: int, due: int | None = None) -> None:
        """Called by the listener; wakes the stream. `due`: the id of a cluster to be scheduled."""
        self._version = max(self._version, version)
        if due is not None:
            self._due.add(due)
        self._event.set()

    async def wait(self, timeout: float) -> int | None:
        """The highest announced version (0: unknown, look at the log), or None after `timeout` s.

        Returns at once if there was an announcement since the last call, even if its version is not
        higher: then something else changed, such as the queue.
        """
        try:
            async with asyncio.timeout(timeout):
                await self._event.wait()
        except TimeoutError:
            return None
        self._event.clear()
        return self._version

    def take_due(self) -> set[int]:
        """The clusters that became due since the last call, as far as it was announced."""
        due, self._due = self._due, set()
        return due


class Listener:
    """The process's LISTEN connection, open while there are subscriptions."""

    def __init__(self) -> None:
        self._subscriptions: dict[int, set[Subscription]] = {}
        self._feeds: dict[int, ChangeFeed] = {}
        #: cluster id -> highest version announced to its subscribers
        self._announced: dict[int, int] = {}
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def subscribe(self, cluster_id: int) -> AsyncIterator[Subscription]:
        """Subscribe to one cluster, after waiting until the connection listens."""
        subscription = Subscription(cluster_id)
        self._subscriptions.setdefault(cluster_id, set()).add(subscription)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="listener")
        try:
            await self._listening.wait()
            yield subscription
        finally:
            self._unsubscribe(subscription)

    def feed(self, cluster_id: int, version: int) -> ChangeFeed:
        """The feed of a cluster that is subscribed to; a new one begins after `version`.

        It holds every change that is announced from now on.
        """
        assert cluster_id in self._subscriptions
        return self._feeds.setdefault(cluster_id, ChangeFeed(version))

    def _unsubscribe(self, subscription: Subscription) -> None:
        others = self._subscriptions[subscription.cluster_id]
        others.discard(subscription)
        if not others:
            del self._subscriptions[subscription.cluster_id]
            self._announced.pop(subscription.cluster_id, None)
            self._feeds.pop(subscription.cluster_id, None)
        if not self._subscriptions and self._task is not None:
            self._task.cancel()
            self._task = None
            self._listening.clear()

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except psycopg.Error as error:
                self._listening.clear()
                log.warning("the LISTEN connection was lost: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)

    async def _listen(self) -> None:
        async with await _connect() as listening:
            await listening.execute(f"LISTEN {CHANNEL}")
            self._listening.set()
            for cluster_id in list(self._subscriptions):
                await self._announce(listening, cluster_id, 0)
            poll_at = time.monotonic()
            while True:
                notifies = listening.notifies(timeout=_LOOK_SECONDS, stop_after=1)
                received = [notify.payload async for notify in notifies]
                for cluster_id, (version, due) in _merge(received).items():
                    await self._announce(listening, cluster_id, version, due=due)
                if time.monotonic() >= poll_at:
                    await self._poll_versions(listening)
                    poll_at = time.monotonic() + _LOOK_SECONDS

    async def _poll_versions(self, listening: Connection) -> None:
        """Find commits of a process that exited before it could announce them."""
        cursor = await listening.execute(
            "SELECT id, resource_version FROM cluster_cluster WHERE id = ANY(%s) OR %s",
            [list(self._subscriptions), SITE in self._subscriptions],
        )
        for cluster_id, version in await cursor.fetchall():
            if version > self._announced.get(cluster_id, 0):
                await self._announce(listening, cluster_id, version)

    async def _announce(
        self, listening: Connection, cluster_id: int, version: int, *, due: bool = False
    ) -> None:
        """Read what the feed of the cluster lacks, and notify the subscribers."""
        feed = self._feeds.get(cluster_id)
        while feed is not None and feed.position < (version or sys.maxsize):
            changes = await read_changes(listening, cluster_id, feed.position, limit=_FEED_BATCH)
            feed.extend(changes)
            if len(changes) < _FEED_BATCH:
                break
        self._notify(cluster_id, version, due=due)

    def _notify(self, cluster_id: int, version: int, *, due: bool = False) -> None:
        self._announced[cluster_id] = max(version, self._announced.get(cluster_id, 0))
        for key in {cluster_id, SITE}:
            for subscription in self._subscriptions.get(key, ()):
                subscription.notify(version, cluster_id if due else None)


def _merge(payloads: Iterable[str]) -> dict[int, tuple[int, bool]]:
    """The highest version of each cluster, and whether it became due.

    Other clients of the database can send anything.
    """
    merged: dict[int, tuple[int, bool]] = {}
    for payload in payloads:
        match payload.split(" "):
            case [cluster, version, *due] if (
                cluster.isdecimal() and version.isdecimal() and due in ([], ["due"])
            ):
                highest, was_due = merged.get(int(cluster), (0, False))
                merged[int(cluster)] = max(highest, int(version)), was_due or bool(due)
            case _:
                log.warning("unexpected message on %s: %r", CHANNEL, payload)
    return merged


_listeners: WeakKeyDictionary[asyncio.AbstractEventLoop, Listener] = WeakKeyDictionary()


def listener() -> Listener:
    """The listener of the running event loop."""
    loop = asyncio.get_running_loop()
    return _listeners.setdefault(loop, Listener())


async def _connect() -> Connection:
    """A connection of its own, outside the pool, to the database Django uses."""
    parameters = connection.get_connection_params()
    parameters.pop("cursor_factory")
    listening = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
    # it repeats two statements
    listening.prepare_threshold = 0
    return listening
