"""Database connections of an event loop, for statements that do not wait for a thread."""

from __future__ import annotations

import select
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
from django.db import connection

Database = psycopg.AsyncConnection[Any]


class Connections:
    """Database connections of the event loop, opened when none is free."""

    def __init__(self, connect: Callable[[], Awaitable[Database]]) -> None:
        self._connect = connect
        self._free: list[Database] = []

    def take(self) -> _Taken:
        """A connection for the time of an `async with`; one that raised is not used again."""
        return _Taken(self._free, self._connect)

    async def close(self) -> None:
        """Close those that are free."""
        while self._free:
            await self._free.pop().close()


class _Taken:
    def __init__(self, free: list[Database], connect: Callable[[], Awaitable[Database]]) -> None:
        self._free = free
        self._connect = connect
        self._database: Database | None = None

    async def __aenter__(self) -> Database:
        while self._free:
            candidate = self._free.pop()
            if not _was_closed(candidate):
                self._database = candidate
                return candidate
            await candidate.close()
        self._database = await self._connect()
        return self._database

    async def __aexit__(self, *raised: object) -> None:
        assert self._database is not None
        if raised[0] is None and not self._database.closed:
            self._free.append(self._database)
        else:
            await self._database.close()


def _was_closed(database: Database) -> bool:
    """Whether the server has ended a connection that nobody used: it then has something to say."""
    if database.closed:
        return True
    poll = select.poll()
    poll.register(database.pgconn.socket, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(0))


async def connect() -> Database:
    """A connection to the database that Django uses; every statement of it is prepared."""
    parameters = connection.get_connection_params()
    for option in ("cursor_factory", "context"):
        parameters.pop(option, None)
    database = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
    database.prepare_threshold = 0
    return database
