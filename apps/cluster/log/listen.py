"""Hearing of changes: one LISTEN connection a process, shared by all its streams.

    async with listener().subscribe(cluster.pk) as subscription:
        while True:
            version = await subscription.news(timeout=10)   # None: nothing for 10 s

News are level-triggered: whatever came since the last look is one piece of news, and its version
may be older than what the log holds by now. A reader remembers the last version it has seen and
reads the log after that. When the connection was lost and found again every subscriber gets news,
since something may have been missed; and each second one query finds what nobody announced.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db import connection

from apps.cluster.log.announce import CHANNEL

log = logging.getLogger(__name__)

#: In the place of a cluster's id: news of any cluster, and of what belongs to none.
SITE = 0

_RETRY_SECONDS = 1.0
#: How often the versions themselves are looked at, since an announcement can be lost.
_LOOK_SECONDS = 1.0


class Subscription:
    """What one stream has yet to hear about one cluster."""

    def __init__(self, cluster_id: int) -> None:
        self.cluster_id = cluster_id
        self._version = 0
        self._event = asyncio.Event()

    def tell(self, version: int) -> None:
        """Called by the listener; wakes the stream."""
        self._version = max(self._version, version)
        self._event.set()

    async def news(self, timeout: float) -> int | None:
        """The highest announced version (0: unknown, look at the log), or None after `timeout` s.

        Returns at once when there has been news since the last call, also with a version that is
        not higher: something beside the objects changed, such as the queue.
        """
        try:
            async with asyncio.timeout(timeout):
                await self._event.wait()
        except TimeoutError:
            return None
        self._event.clear()
        return self._version


class Listener:
    """The process's LISTEN connection, open while somebody subscribes."""

    def __init__(self) -> None:
        self._subscriptions: dict[int, set[Subscription]] = {}
        #: the highest version each cluster's subscribers have heard of
        self._told: dict[int, int] = {}
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def subscribe(self, cluster_id: int) -> AsyncIterator[Subscription]:
        """News of one cluster, none missed from here on; waits until the connection listens."""
        subscription = Subscription(cluster_id)
        self._subscriptions.setdefault(cluster_id, set()).add(subscription)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="listener")
        try:
            await self._listening.wait()
            yield subscription
        finally:
            self._forget(subscription)

    def _forget(self, subscription: Subscription) -> None:
        others = self._subscriptions[subscription.cluster_id]
        others.discard(subscription)
        if not others:
            del self._subscriptions[subscription.cluster_id]
            self._told.pop(subscription.cluster_id, None)
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
                log.warning("the connection that listens is lost: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)

    async def _listen(self) -> None:
        async with await _connect() as listening:
            await listening.execute(f"LISTEN {CHANNEL}")
            self._listening.set()
            for cluster_id in list(self._subscriptions):
                self._tell(cluster_id, 0)
            while True:
                async for notify in listening.notifies(timeout=_LOOK_SECONDS):
                    self._hear(notify.payload)
                await self._look(listening)

    def _hear(self, payload: str) -> None:
        """`<cluster id> <version>`; anybody who may connect can send something else."""
        cluster, _, version = payload.partition(" ")
        if cluster.isdecimal() and version.isdecimal():
            self._tell(int(cluster), int(version))
        else:
            log.warning("a message on %s that is none of ours: %r", CHANNEL, payload)

    async def _look(self, listening: psycopg.AsyncConnection[Any]) -> None:
        """Find what was committed by a process that died before it could announce it."""
        cursor = await listening.execute(
            "SELECT id, resource_version FROM cluster_cluster WHERE id = ANY(%s) OR %s",
            [list(self._subscriptions), SITE in self._subscriptions],
        )
        for cluster_id, version in await cursor.fetchall():
            if version > self._told.get(cluster_id, 0):
                self._tell(cluster_id, version)

    def _tell(self, cluster_id: int, version: int) -> None:
        self._told[cluster_id] = max(version, self._told.get(cluster_id, 0))
        for key in {cluster_id, SITE}:
            for subscription in self._subscriptions.get(key, ()):
                subscription.tell(version)


_listeners: WeakKeyDictionary[asyncio.AbstractEventLoop, Listener] = WeakKeyDictionary()


def listener() -> Listener:
    """The listener of the running event loop."""
    loop = asyncio.get_running_loop()
    return _listeners.setdefault(loop, Listener())


async def _connect() -> psycopg.AsyncConnection[Any]:
    """A connection of its own, outside the pool, to the database Django uses."""
    parameters = connection.get_connection_params()
    parameters.pop("cursor_factory")
    return await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
