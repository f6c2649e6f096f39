"""kombu's transport for pgmq, with queues that are declared once.

The transport this builds on makes a queue anew for every process that sends to it or reads it,
together with its trigger, which needs the table for itself: processes that start at the same
time deadlock. It also listens for every queue it only sends to, on a connection that nobody reads.
Here a queue is made under one lock and only where there is none, and only its readers listen.
"""

from __future__ import annotations

from typing import Any

import psycopg
from kombu.transport import pgmq as upstream

from schedweb.pgmq import make_queue


class Channel(upstream.Channel):
    """A channel that makes missing queues, also under a reader whose queue was dropped."""

    @property
    def pgmq(self) -> Any:
        if self.connection is None:
            # closed by another thread, which found the server gone; kombu knows what to do then
            raise psycopg.OperationalError("the channel is closed")
        return self.connection._get_pgmq_client()

    def _new_queue(self, queue: str, **options: Any) -> None:
        with self.pgmq.pool.connection() as connection:
            make_queue(connection, self._queue_name(queue))

    def _maybe_enable_notify(self, queue: str, queue_name: str | None = None) -> None:
        """Called when a consumer begins to read."""
        self.connection._register_notify_queue(self._queue_name(queue))

    def _receive_messages(self, queue: str, *args: Any, **options: Any) -> list[Any]:
        try:
            messages: list[Any] = super()._receive_messages(queue, *args, **options)
        except psycopg.errors.UndefinedTable:
            # this process was silent for so long that it was taken for dead
            self._new_queue(queue)
            return []
        return messages


class Transport(upstream.Transport):
    Channel = Channel
