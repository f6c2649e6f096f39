"""Database connections of an event loop, for statements that do not wait for a thread.

They execute prepared statements on libpq itself: psycopg's cursors cost as much processor time for
each statement as all other work for an object.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from weakref import WeakSet

import psycopg
from django.db import connection
from psycopg import pq
from psycopg.errors import error_from_result

#: The rows of a result, each column as PostgreSQL's text.
Rows = list[tuple[bytes | None, ...]]
Outcome = Rows | Exception
OnOutcome = Callable[[Outcome], None]

_SUCCESS: Final = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with the parameters $1, $2 …, and for each whether its value is in binary format."""

    sql: bytes
    binary: tuple[bool, ...]


def settle(done: asyncio.Future[Rows], outcome: Outcome) -> None:
    """Complete a future, unless it was cancelled."""
    if done.done():
        return
    if isinstance(outcome, Exception):
        done.set_exception(outcome)
    else:
        done.set_result(outcome)


class Channel:
    """One connection: executes one statement at a time, each of them prepared once."""

    def __init__(self, database: psycopg.AsyncConnection[Any]) -> None:
        self._database = database
        self._pgconn = database.pgconn
        self._socket = self._pgconn.socket
        self._loop = asyncio.get_running_loop()
        self._names: dict[bytes, bytes] = {}
        self._on_outcome: OnOutcome | None = None
        self._result: pq.abc.PGresult | None = None
        self.closed = False
        #: called with the payload of each notification, and after the connection was lost
        self._on_notification: Callable[[str], None] | None = None
        self._on_loss: Callable[[], None] = lambda: None
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._loop.add_reader(self._socket, self._read)

    def execute(
        self, statement: Statement, values: Sequence[bytes | None], on_outcome: OnOutcome
    ) -> None:
        """Send a statement; `on_outcome` is called once, from the event loop."""
        name = self._names.get(statement.sql)
        if name is None:
            name = b"s%d" % len(self._names)
            self._names[statement.sql] = name

            def run(prepared: Outcome) -> None:
                if isinstance(prepared, Exception):
                    del self._names[statement.sql]
                    on_outcome(prepared)
                else:
                    self.execute(statement, values, on_outcome)

            self._send(lambda: self._pgconn.send_prepare(name, statement.sql), run)
        else:
            formats = [int(binary) for binary in statement.binary]
            self._send(lambda: self._pgconn.send_query_prepared(name, values, formats), on_outcome)

    def query(self, statement: Statement, values: Sequence[bytes | None]) -> asyncio.Future[Rows]:
        """The rows of a statement; no other one is under way."""
        done: asyncio.Future[Rows] = self._loop.create_future()
        self.execute(statement, values, partial(settle, done))
        return done

    def listen(self, on_notification: Callable[[str], None], on_loss: Callable[[], None]) -> None:
        """Call `on_notification` with the payload of each notification that arrives.

        `on_loss` is called when the connection is lost.
        """
        self._on_notification, self._on_loss = on_notification, on_loss

    def is_usable(self) -> bool:
        """Whether a statement can be sent; asked while none is under way.

        The database sends nothing to an idle connection, unless that listens, except that it ends
        it. The event loop may not have read that yet, and the statement would fail without having
        been executed.
        """
        if not self.closed and self._poll.poll(0):
            self.close()
        return not self.closed

    def close(self) -> None:
        """End the connection; a statement that is under way fails."""
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._pgconn.finish()
            self._on_loss()
            self._finish(psycopg.OperationalError("the connection is closed"))

    def _send(self, send: Callable[[], None], on_outcome: OnOutcome) -> None:
        self._on_outcome = on_outcome
        self._result = None
        try:
            send()
            self._flush()
        except psycopg.Error as error:
            self._fail(error)

    def _flush(self) -> None:
        """Send what is left; later, if the socket is full."""
        if self._pgconn.flush():
            self._loop.add_writer(self._socket, self._write)

    def _write(self) -> None:
        self._loop.remove_writer(self._socket)
        try:
            self._flush()
        except psycopg.Error as error:
            self._fail(error)

    def _read(self) -> None:
        if self._on_outcome is None and self._on_notification is None:
            self.close()
            return
        try:
            self._pgconn.consume_input()
            if self._on_notification is not None:
                self._take_notifications(self._on_notification)
            while self._on_outcome is not None and not self._pgconn.is_busy():
                result = self._pgconn.get_result()
                if result is None:
                    self._finish(self._outcome())
                    return
                self._result = result
        except psycopg.Error as error:
            self._fail(error)

    def _take_notifications(self, take: Callable[[str], None]) -> None:
        while (notification := self._pgconn.notifies()) is not None:
            take(notification.extra.decode())

    def _outcome(self) -> Outcome:
        result = self._result
        if result is None:
            return psycopg.OperationalError("the database sent no result")
        if result.status not in _SUCCESS:
            return error_from_result(result)
        columns = range(result.nfields)
        return [
            tuple(result.get_value(row, column) for column in columns)
            for row in range(result.ntuples)
        ]

    def _fail(self, error: psycopg.Error) -> None:
        """The connection is lost."""
        on_outcome, self._on_outcome = self._on_outcome, None
        self.close()
        if on_outcome is not None:
            on_outcome(error)

    def _finish(self, outcome: Outcome) -> None:
        on_outcome, self._on_outcome = self._on_outcome, None
        if on_outcome is not None:
            on_outcome(outcome)


class Connections:
    """The channels of an event loop, opened when none is free."""

    def __init__(self, connect: Callable[[], Awaitable[Channel]]) -> None:
        self._connect = connect
        self._free: list[Channel] = []
        self._open: WeakSet[Channel] = WeakSet()
        self._opening: set[asyncio.Task[None]] = set()

    def with_channel(
        self, use: Callable[[Channel], None], on_error: Callable[[Exception], None]
    ) -> None:
        """Call `use` with a channel: at once if one is free."""
        while self._free:
            channel = self._free.pop()
            if channel.is_usable():
                use(channel)
                return
        self.with_new_channel(use, on_error)

    def with_new_channel(
        self, use: Callable[[Channel], None], on_error: Callable[[Exception], None]
    ) -> None:
        """Call `use` with a channel that was opened for it."""

        async def open_and_use() -> None:
            try:
                channel = await self._connect()
            except Exception as error:
                on_error(error)
            else:
                self._open.add(channel)
                use(channel)

        task = asyncio.ensure_future(open_and_use())
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def execute(self, statement: Statement, values: Sequence[bytes | None]) -> asyncio.Future[Rows]:
        """The rows of a statement."""
        done: asyncio.Future[Rows] = asyncio.get_running_loop().create_future()
        finish = partial(settle, done)

        def use(channel: Channel) -> None:
            def receive(outcome: Outcome) -> None:
                self.give_back(channel)
                finish(outcome)

            channel.execute(statement, values, receive)

        self.with_channel(use, finish)
        return done

    def give_back(self, channel: Channel) -> None:
        """A channel that has no statement under way."""
        if not channel.closed:
            self._free.append(channel)

    async def close(self) -> None:
        """Close all channels, those that are being opened, too; statements under way fail."""
        self._free.clear()
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)
        for channel in list(self._open):
            channel.close()


#: One plan for all values: planning a statement that reads a few rows of the log takes longer than
#: reading them. It finds rows by their indexes, in their order, even if the tables are small when
#: it is made.
_KEEP_PLANS: Final = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
        "enable_sort": "off",
        "jit": "off",
    }.items()
)


async def connect() -> Channel:
    """A channel to the database that Django uses."""
    parameters = connection.get_connection_params()
    for option in ("cursor_factory", "context"):
        parameters.pop(option, None)
    parameters["options"] = f"{parameters.get('options', '')} {_KEEP_PLANS}".strip()
    return Channel(await psycopg.AsyncConnection.connect(**parameters, autocommit=True))
