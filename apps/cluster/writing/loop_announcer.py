"""Announces changes from an event loop, without a thread."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from apps.cluster.log.announce import CHANNEL, announcer, payload
from apps.cluster.writing.connections import Channel, Connections, Outcome, Statement
from apps.cluster.writing.parameters import array

log = logging.getLogger(__name__)

_NOTIFY: Final = Statement(
    f"SELECT pg_notify('{CHANNEL}', payload) FROM unnest($1::text[]) AS d(payload)".encode(),
    (True,),
)


class LoopAnnouncer:
    """Sends one NOTIFY for all changes that were committed while the one before was sent."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        #: Its own, so that the others keep the statements of creations prepared.
        self._channel: Channel | None = None
        self._versions: dict[int, int] = {}
        self._due: set[int] = set()
        self._busy = False
        self._idle: list[asyncio.Future[None]] = []

    async def flush(self) -> None:
        """Wait until all changes so far are announced."""
        if self._busy:
            self._idle.append(asyncio.get_running_loop().create_future())
            await self._idle[-1]

    def announce(self, cluster_id: int, version: int, due: bool) -> None:
        """Announce that `cluster_id` is at `version`; with `due`, wake its loop.

        It is sent after what the event loop is about to run, the responses to the clients.
        """
        if due:
            announcer.wake(cluster_id)
            self._due.add(cluster_id)
        self._versions[cluster_id] = max(version, self._versions.get(cluster_id, 0))
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().call_soon(self._start)

    def _start(self) -> None:
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
            elif self._versions:
                self._send(channel)
            else:
                self._rest()

        channel.execute(_NOTIFY, [array("text", payloads)], receive)

    def _fail(self, error: Exception) -> None:
        """Readers find the changes when they poll the log."""
        log.warning("could not announce a change: %s", error)
        self._versions, self._due = {}, set()
        self._rest()

    def _rest(self) -> None:
        self._busy = False
        for waiting in self._idle:
            if not waiting.done():
                waiting.set_result(None)
        self._idle.clear()
