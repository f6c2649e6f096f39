"""Prepared statements that do not wait for each other: one round trip for any number of them.

    with exchange() as sent:
        sent.begin()
        sent.send("UPDATE … WHERE id = $1", [7])
        sent.flush()                                    # the server starts
        found = sent.send("SELECT … WHERE id = $1", [7])
        sent.commit()
        sent.send_afterwards("SELECT pg_notify($1, $2)", ["schedweb", "7 12"])
        sent.receive()
    found.rows

The statements are executed on Django's connection with libpq's own calls: psycopg's cursors take
longer for a statement with many arrays than the server.
"""

from __future__ import annotations

import logging
import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg
from django.db import connection, transaction
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import InvalidSqlStatementName, error_from_result

from apps.cluster.arrays import DUMPERS

log = logging.getLogger(__name__)

_OK: Final = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)
_BEGIN: Final = "BEGIN"
_COMMIT: Final = "COMMIT"
_ROLLBACK: Final = b"ROLLBACK"
#: A statement before others that are planned once for all values, which takes longer than to find a
#: few rows. They find rows by their indexes even if the tables are small then. It has an effect
#: until the end of the transaction, or of what is sent without one.
KEEP_PLAN: Final = (
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', true), "
    "set_config('enable_seqscan', 'off', true)"
)
#: The type of parameters in binary format.
_TYPES: Final[dict[type, int]] = {
    bytes: 17,
    **{array: dumper.oid for array, dumper in DUMPERS.items()},
}

#: Never used twice: the server may still know a statement whose name was forgotten here.
_numbers: Final = count()
#: The names of the statements that a connection has prepared.
_prepared: WeakKeyDictionary[psycopg.Connection[Any], dict[str, bytes]] = WeakKeyDictionary()


@dataclass(slots=True)
class Answer:
    """The outcome of a statement, once `Exchange.receive` has returned."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass(slots=True)
class _Sent:
    sql: str
    parameters: Sequence[Any]
    answer: Answer
    #: whether the server was asked to prepare the statement first
    is_new: bool = False
    #: whether its failure is only logged
    is_optional: bool = False


class Exchange:
    """Statements that are under way on one connection.

    Those between `begin` and `commit` are one transaction: if one fails, none has an effect.
    """

    def __init__(self, database: psycopg.Connection[Any]) -> None:
        self._database = database
        self._pgconn = database.pgconn
        self._names = _prepared.setdefault(database, {})
        #: what was sent, in parts: an error skips the rest of its part
        self._parts: list[list[_Sent]] = [[]]

    def begin(self) -> None:
        """Start a transaction."""
        self.send(_BEGIN)

    def commit(self) -> None:
        """Commit the transaction."""
        self.send(_COMMIT)
        self._end_part()

    def send(self, sql: str, parameters: Sequence[Any] = ()) -> Answer:
        """Send a statement with parameters `$1`, `$2`, …, and return where its rows will be.

        `bytes` and the arrays of `arrays` are sent as they are, other values as text.
        """
        sent = _Sent(sql, parameters, Answer())
        self._send(sent)
        return sent.answer

    def flush(self) -> None:
        """Let the server start with what was sent, while the next statement is built."""
        # what the socket does not take is sent in `_wait`
        self._pgconn.flush()

    def send_afterwards(self, sql: str, parameters: Sequence[Any] = ()) -> Answer:
        """Send a statement that follows the transaction; its failure is only logged."""
        self._end_part()
        answer = self.send(sql, parameters)
        self._parts[-1][-1].is_optional = True
        self._end_part()
        return answer

    def receive(self) -> None:
        """Wait for all statements; raises the first error, as Django's cursors do.

        A transaction that has failed, or was not committed, is rolled back.
        """
        with connection.wrap_database_errors:
            try:
                self._receive()
            except InvalidSqlStatementName:
                # psycopg drops all statements of a connection after a rollback
                self._names.clear()
                self._send_again()
                self._receive()

    def close(self) -> None:
        """Wait for what is still under way, and roll it back."""
        if self._pgconn.pipeline_status != pq.PipelineStatus.OFF:
            try:
                self._receive()
            except psycopg.Error:
                connection.errors_occurred = True

    def _send(self, sent: _Sent) -> None:
        if self._pgconn.pipeline_status == pq.PipelineStatus.OFF:
            self._pgconn.enter_pipeline_mode()
        self._parts[-1].append(sent)
        values, formats, types = _encode(sent.parameters)
        name = self._names.get(sent.sql)
        sent.is_new = name is None
        if name is None:
            name = self._names[sent.sql] = b"exchange%d" % next(_numbers)
            self._pgconn.send_prepare(name, sent.sql.encode(), types)
        self._pgconn.send_query_prepared(name, values, formats)

    def _end_part(self) -> None:
        if self._parts[-1]:
            self._pgconn.pipeline_sync()
            self._parts.append([])

    def _send_again(self) -> None:
        """Send again what was not executed."""
        parts, self._parts = self._parts, [[]]
        for part in parts:
            for sent in part:
                self._send(sent)
            self._end_part()

    def _receive(self) -> None:
        """Read the results of all parts; the parts from the first failed one on remain."""
        self._end_part()
        self._pgconn.flush()
        parts, self._parts = self._parts[:-1], [[]]
        failed: psycopg.Error | None = None
        for place, part in enumerate(parts):
            error = self._read_part(part)
            if error is None or failed is not None:
                continue
            if part[0].is_optional:
                log.warning("%s failed: %s", part[0].sql, error)
            else:
                failed, self._parts = error, parts[place:]
        self._pgconn.exit_pipeline_mode()
        if self._pgconn.transaction_status != pq.TransactionStatus.IDLE:
            self._pgconn.exec_(_ROLLBACK)
        if failed is not None:
            raise failed

    def _read_part(self, part: Sequence[_Sent]) -> psycopg.Error | None:
        failed: psycopg.Error | None = None
        for sent in part:
            error = self._read_answer(sent)
            failed = failed or error
        # the synchronization point
        self._next_result()
        return failed

    def _read_answer(self, sent: _Sent) -> psycopg.Error | None:
        refused = self._read_result(None) if sent.is_new else None
        if refused is not None:
            self._names.pop(sent.sql, None)
        failed = self._read_result(sent.answer)
        return refused or failed

    def _read_result(self, answer: Answer | None) -> psycopg.Error | None:
        """One result, and the end of its command."""
        if answer is not None:
            # rows of an attempt that was interrupted
            answer.rows = []
        result = self._next_result()
        while result is not None and result.status == pq.ExecStatus.TUPLES_CHUNK:
            # a cursor has streamed rows: libpq divides the next result in a pipeline as well
            self._add_rows(answer, result)
            result = self._next_result()
        self._next_result()
        if result is None or result.status not in _OK:
            return _error_of(result)
        self._add_rows(answer, result)
        return None

    def _add_rows(self, answer: Answer | None, result: pq.abc.PGresult) -> None:
        if answer is not None and result.ntuples:
            transformer = Transformer.from_context(self._database)
            transformer.set_pgresult(result)
            answer.rows += transformer.load_rows(0, result.ntuples, tuple)

    def _next_result(self) -> pq.abc.PGresult | None:
        while self._pgconn.is_busy():
            self._wait()
        return self._pgconn.get_result()

    def _wait(self) -> None:
        """Wait until the server has sent something, or takes more."""
        poll = select.poll()
        unsent = self._pgconn.flush()
        poll.register(self._pgconn.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
        poll.poll()
        self._pgconn.consume_input()


@contextmanager
def exchange() -> Iterator[Exchange]:
    """Statements on the connection of this thread.

    Raises TransactionManagementError inside a transaction: an exchange is one of its own.
    What the block has sent is rolled back if it does not receive the outcome. A connection that
    breaks, wherever that is, is dropped, and the error is one of Django's.
    """
    if connection.in_atomic_block:
        raise transaction.TransactionManagementError("an exchange is a transaction of its own")
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    assert connection.connection is not None
    database = connection.connection
    opened = Exchange(database)
    try:
        with connection.wrap_database_errors:
            yield opened
    finally:
        opened.close()
        if database.closed:
            # the next statement opens another one
            connection.close()


def _encode(parameters: Sequence[Any]) -> tuple[list[bytes | None], list[int], list[int]]:
    """The values, their formats and their types; a type of 0 is inferred by the server."""
    values: list[bytes | None] = []
    formats, types = [], []
    for value in parameters:
        is_binary = isinstance(value, bytes)
        formats.append(int(is_binary))
        types.append(_TYPES.get(type(value), 0))
        if value is None or is_binary:
            values.append(value)
        else:
            values.append(str(value).encode())
    return values, formats, types


def _error_of(result: pq.abc.PGresult | None) -> psycopg.Error:
    if result is None:
        return psycopg.OperationalError("the database has closed the connection")
    if result.status == pq.ExecStatus.PIPELINE_ABORTED:
        return psycopg.OperationalError("a statement before has failed")
    return error_from_result(result)
