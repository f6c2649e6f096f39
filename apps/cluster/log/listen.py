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
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakKeyDictionary

import psycopg

from apps.cluster.arrays import array
from apps.cluster.connections import Channel, Statement, connect
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

_LISTEN: Final = Statement(f"LISTEN {CHANNEL}".encode(), ())
_VERSIONS: Final = Statement(
    b"SELECT id, resource_version FROM cluster_cluster WHERE id = ANY($1::bigint[]) OR $2::bool",
    (True, False),
)


#: Called with a version, and the id of a cluster to be scheduled; returns at once.
OnChange = Callable[[int, int | None], None]


class Subscription:
    """The pending notification of one stream about one cluster."""

    def __init__(self, cluster_id: int, on_change: OnChange | None = None) -> None:
        self.cluster_id = cluster_id
        self._on_change = on_change
        self._version = 0
        self._event = asyncio.Event()

    def notify(self, version: int, due: int | None = None) -> None:
        """Called by the listener; wakes the stream. `due`: the id of a cluster to be scheduled."""
        self._version = max(self._version, version)
        self._event.set()
        if self._on_change is not None:
            self._on_change(version, due)

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


class Listener:
    """The process's LISTEN connection, open while there are subscriptions."""

    def __init__(self) -> None:
        self._subscriptions: dict[int, set[Subscription]] = {}
        self._feeds: dict[int, ChangeFeed] = {}
        #: cluster id -> highest version announced to its subscribers
        self._announced: dict[int, int] = {}
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        #: what was announced for feeds: cluster id -> the highest version, and whether it is due
        self._received: dict[int, tuple[int, bool]] = {}
        self._woken = asyncio.Event()

    @asynccontextmanager
    async def subscribe(
        self, cluster_id: int, on_change: OnChange | None = None
    ) -> AsyncIterator[Subscription]:
        """Subscribe to one cluster, after waiting until the connection listens.

        `on_change` is called with each notification, as `Subscription.notify` is.
        """
        subscription = Subscription(cluster_id, on_change)
        self._subscriptions.setdefault(cluster_id, set()).add(subscription)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="listener")
        try:
            await self._listening.wait()
            yield subscription
        finally:
            self._unsubscribe(subscription)

    async def close(self) -> None:
        """Close the connection; subscribers get no more announcements."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        # one that has just been cancelled without subscriptions
        await asyncio.sleep(0)

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
        """Pass on what is announced, until the connection is lost (psycopg.Error)."""
        channel = await connect()
        try:
            self._received.clear()
            channel.listen(self._receive, self._wake)
            await channel.query(_LISTEN, [])
            self._listening.set()
            for cluster_id in list(self._subscriptions):
                await self._announce(channel, cluster_id, 0)
            while True:
                await self._pass_on(channel)
                await self._poll_versions(channel)
        finally:
            channel.close()

    async def _pass_on(self, channel: Channel) -> None:
        """Pass on announcements until the next poll."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(_LOOK_SECONDS, self._wake)
        poll_at = loop.time() + _LOOK_SECONDS
        try:
            while loop.time() < poll_at:
                self._woken.clear()
                if not self._received:
                    await self._woken.wait()
                received, self._received = self._received, {}
                for cluster_id, (version, due) in received.items():
                    await self._announce(channel, cluster_id, version, due=due)
                if channel.closed:
                    raise psycopg.OperationalError("the connection is closed")
        finally:
            timer.cancel()

    def _receive(self, text: str) -> None:
        """Notify the subscribers at once, unless the feed of the cluster has to read first."""
        announcement = _parse(text)
        if announcement is None:
            return
        cluster_id, version, due = announcement
        if cluster_id in self._feeds:
            highest, was_due = self._received.get(cluster_id, (0, False))
            self._received[cluster_id] = max(highest, version), was_due or due
            self._woken.set()
        else:
            self._notify(cluster_id, version, due=due)

    def _wake(self) -> None:
        self._woken.set()

    async def _poll_versions(self, channel: Channel) -> None:
        """Find commits of a process that exited before it could announce them."""
        subscribed = array("int8", list(self._subscriptions))
        everything = b"t" if SITE in self._subscriptions else b"f"
        for cluster_id, version in await channel.query(_VERSIONS, [subscribed, everything]):
            key, at = int(cluster_id or 0), int(version or 0)
            if at > self._announced.get(key, 0):
                await self._announce(channel, key, at)

    async def _announce(
        self, channel: Channel, cluster_id: int, version: int, *, due: bool = False
    ) -> None:
        """Read what the feed of the cluster lacks, and notify the subscribers."""
        feed = self._feeds.get(cluster_id)
        while feed is not None and feed.position < (version or sys.maxsize):
            changes = await read_changes(channel, cluster_id, feed.position, limit=_FEED_BATCH)
            feed.extend(changes)
            if len(changes) < _FEED_BATCH:
                break
        self._notify(cluster_id, version, due=due)

    def _notify(self, cluster_id: int, version: int, *, due: bool = False) -> None:
        self._announced[cluster_id] = max(version, self._announced.get(cluster_id, 0))
        for key in {cluster_id, SITE}:
            for subscription in self._subscriptions.get(key, ()):
                subscription.notify(version, cluster_id if due else None)


def _parse(payload: str) -> tuple[int, int, bool] | None:
    """A cluster's id, its version, and whether it became due; None for anything else.

    Other clients of the database can send anything.
    """
    match payload.split(" "):
        case [cluster, version, *due] if (
            cluster.isdecimal() and version.isdecimal() and due in ([], ["due"])
        ):
            return int(cluster), int(version), bool(due)
    log.warning("unexpected message on %s: %r", CHANNEL, payload)
    return None


_listeners: WeakKeyDictionary[asyncio.AbstractEventLoop, Listener] = WeakKeyDictionary()


def listener() -> Listener:
    """The listener of the running event loop."""
    loop = asyncio.get_running_loop()
    return _listeners.setdefault(loop, Listener())


async def close_listener() -> None:
    """Close the connection of the running event loop."""
    listener = _listeners.pop(asyncio.get_running_loop(), None)
    if listener is not None:
        await listener.close()
