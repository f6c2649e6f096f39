"""kombu's transport for pgmq, with queues that are declared once.

The base transport creates a queue again in every process that sends to it or reads it, together
with its trigger, which needs an exclusive table lock: processes that start at the same time
deadlock. It also listens for queues to which it only sends, on a connection that is never read. And
of the database's URL it takes host, port, database, user and password only: not whether TLS is
required, nor which of several servers. Here a queue is created under one lock and only if it does
not exist, only its readers listen, and connections have all parameters.
"""

from __future__ import annotations

from typing import Any

import psycopg
from kombu.transport import pgmq as upstream
from pgmq import PGMQueue
from psycopg_pool import ConnectionPool

from schedweb.pgmq import RECONNECT_SECONDS, create_queue


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
    _pool: ConnectionPool[psycopg.Connection[Any]] | None = None

    @property
    def _options(self) -> dict[str, Any]:
        client: Any = self.client
        options: dict[str, Any] = client.transport_options
        return options

    def _create_pgmq_client(self) -> PGMQueue:
        options = self._options
        self._pool = ConnectionPool(
            options["conn_string"],
            min_size=1,
            max_size=options["pool_size"],
            timeout=options["pool_timeout"],
            reconnect_timeout=RECONNECT_SECONDS,
            open=True,
        )
        return PGMQueue(pool=self._pool, vt=options["visibility_timeout"], init_extension=False)

    def _get_notify_waiter(self) -> Any:
        if self._notify_waiter is None:
            self._notify_waiter = upstream._NotifyWaiter(self._options["conn_string"])
        return self._notify_waiter

    def close_connection(self, connection: Any) -> None:
        try:
            super().close_connection(connection)
        finally:
            if self._pool is not None:
                self._pool.close()
                self._pool = None
