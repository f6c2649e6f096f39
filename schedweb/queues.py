"""kombu's transport for pgmq, with queues that are declared once.

The base transport creates a queue again in every process that sends to it or reads it, together
with its trigger, which needs an exclusive table lock: processes that start at the same time
deadlock. It also listens for queues to which it only sends, on a connection that is never read.
Here a queue is created under one lock and only if it does not exist, and only its readers listen.
"""

from __future__ import annotations

from typing import Any

import psycopg
from kombu.transport import pgmq as upstream

from schedweb.pgmq import create_queue


class Channel(upstream.Channel):
    """A channel that creates missing queues, also for a reader whose queue was dropped."""

    @property
    def pgmq(self) -> Any:
        if self.connection is None:
            # closed by another thread after the server went down; kombu handles this error
            raise psycopg.OperationalError("the channel is closed")
        return self.connection._get_pgmq_client()

    def _new_queue(self, queue: str, **options: Any) -> None:
        with self.pgmq.pool.connection() as connection:
            create_queue(connection, self._queue_name(queue))

    def _maybe_enable_notify(self, queue: str, queue_name: str | None = None) -> None:
        """Called when a consumer starts to read."""
        self.connection._register_notify_queue(self._queue_name(queue))

    def _receive_messages(self, queue: str, *args: Any, **options: Any) -> list[Any]:
        try:
            messages: list[Any] = super()._receive_messages(queue, *args, **options)
        except psycopg.errors.UndefinedTable:
            # the heartbeat of this process was so old that its queue was dropped
            self._new_queue(queue)
            return []
        return messages


class PgmqTransport(upstream.Transport):
    Channel = Channel
