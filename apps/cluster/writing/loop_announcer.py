"""Announces changes from an event loop, without a thread."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from apps.cluster.arrays import array
from apps.cluster.connections import Channel, Connections, Outcome, Statement
from apps.cluster.log.announce import CHANNEL, announcer, payload

log = logging.getLogger(__name__)

#: Seconds between announcements while changes follow each other.
INTERVAL: Final = 0.005
#: The same while several changes share an announcement: each one wakes every process of the site.
BUSY_INTERVAL: Final = 0.02

_NOTIFY: Final = Statement(
    f"SELECT pg_notify('{CHANNEL}', payload) FROM unnest($1::text[]) AS d(payload)".encode(),
    (True,),
)


class LoopAnnouncer:
    """Sends one NOTIFY for all changes since the one before; at most one per interval.

    A change after a pause, or one that wakes the loop, is announced at once: after what the event
    loop is about to run, the responses to the clients.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        #: Its own, so that the others keep the statements of creations prepared.
        self._channel: Channel | None = None
        self._versions: dict[int, int] = {}
        self._due: set[int] = set()
        #: since the last announcement
        self._changes = 0
        self._sending = False
        self._scheduled: asyncio.Handle | None = None
        #: The next NOTIFY that wakes no loop, on the clock of the event loop.
        self._next_at = 0.0
        self._idle: list[asyncio.Future[None]] = []

    async def flush(self) -> None:
        """Announce all changes so far, and wait until that is done."""
        self._next_at = 0.0
        if self._scheduled is not None:
            self._schedule()
        if self._sending or self._scheduled is not None:
            self._idle.append(asyncio.get_running_loop().create_future())
            await self._idle[-1]

    def announce(self, cluster_id: int, version: int, due: bool) -> None:
        """Announce that `cluster_id` is at `version`; with `due`, wake its loop."""
        if due:
            announcer.wake(cluster_id)
            self._due.add(cluster_id)
        self._versions[cluster_id] = max(version, self._versions.get(cluster_id, 0))
        self._changes += 1
        if not self._sending and (due or self._scheduled is None):
            self._schedule()

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        if self._scheduled is not None:
            self._scheduled.cancel()
        if self._due or self._next_at <= loop.time():
            self._scheduled = loop.call_soon(self._start)
        else:
            self._scheduled = loop.call_at(self._next_at, self._start)

    def _start(self) -> None:
        self._scheduled, self._sending = None, True
        interval = BUSY_INTERVAL if self._changes > 1 else INTERVAL
        self._next_at = asyncio.get_running_loop().time() + interval
        self._changes = 0
        if self._channel is None or not self._channel.is_usable():
            self._connections.with_new_channel(self._send, self._fail)
        else:
            self._send(self._channel)

    def _send(self, channel: Channel) -> None:
        self._channel = channel
        payloads = [payload(key, at, key in self._due) for key, at in self._versions.items()]
        self._versions, self._due = {}, set()

        def receive(outcome: Outcome) -> None:
            if isinstance(outcome, Exception):
                self._fail(outcome)
            else:
                self._rest()

        channel.execute(_NOTIFY, [array("text", payloads)], receive)

    def _fail(self, error: Exception) -> None:
        """Readers find the changes when they poll the log."""
        log.warning("could not announce a change: %s", error)
        self._versions, self._due = {}, set()
        self._rest()

    def _rest(self) -> None:
        self._sending = False
        if self._versions:
            self._schedule()
            return
        for waiting in self._idle:
            if not waiting.done():
                waiting.set_result(None)
        self._idle.clear()
