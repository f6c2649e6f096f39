"""Statements that do not wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from apps.cluster import arrays, sql
from apps.cluster.exchange import exchange

pytestmark = pytest.mark.django_db(transaction=True)

INSERT = "INSERT INTO kept (n) VALUES ($1)"


@pytest.fixture(autouse=True)
def table() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept (n bigint PRIMARY KEY)")
    yield
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE kept")


def kept() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT n FROM kept ORDER BY n")
        return [row[0] for row in cursor.fetchall()]


def insert(*numbers: int) -> None:
    with exchange() as sent:
        sent.begin()
        for number in numbers:
            sent.send(INSERT, [number])
        sent.commit()
        sent.receive()


def test_answers_have_the_rows_of_their_statements() -> None:
    with exchange() as sent:
        numbers = sent.send("SELECT unnest($1)", [arrays.int8s([3, 4])])
        sent.flush()
        words = sent.send("SELECT $1::text, $2::bytea, $3::bigint", ["ü", b"\0\1", None])
        sent.receive()
    assert numbers.rows == [(3,), (4,)]
    ((text, data, missing),) = words.rows
    assert (text, bytes(data), missing) == ("ü", b"\0\1", None)


def test_a_failed_statement_undoes_its_transaction() -> None:
    insert(1)
    with pytest.raises(IntegrityError, match="kept_pkey"):
        insert(2, 1, 3)
    assert kept() == [1]
    insert(2, 3)
    assert kept() == [1, 2, 3]


def test_an_invalid_statement_is_named_and_can_be_corrected() -> None:
    with pytest.raises(Exception, match='relation "nowhere" does not exist'), exchange() as sent:
        sent.send("SELECT 1 FROM nowhere")
        sent.send(INSERT, [1])
        sent.receive()
    insert(1)
    assert kept() == [1]


def test_what_is_not_committed_is_rolled_back() -> None:
    with exchange() as sent:
        sent.begin()
        sent.send(INSERT, [1])
        sent.receive()
    with exchange() as sent:
        sent.begin()
        sent.send(INSERT, [2])
    assert kept() == []


def test_a_failure_afterwards_does_not_concern_the_transaction(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with exchange() as sent:
        sent.begin()
        sent.send(INSERT, [1])
        sent.commit()
        sent.send_afterwards("SELECT 1 / $1::int", [0])
        sent.receive()
    assert kept() == [1]
    assert "division by zero" in caplog.text


def test_statements_are_prepared_again_after_psycopg_has_dropped_them() -> None:
    insert(1)
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    insert(2)
    assert kept() == [1, 2]


def test_a_new_statement_before_dropped_ones_is_prepared_beside_them() -> None:
    known = [f"SELECT $1::int + {number}" for number in range(3)]
    with exchange() as sent:
        for sql in known:
            sent.send(sql, [1])
        sent.receive()
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    with exchange() as sent:
        answers = [sent.send(sql, [1]) for sql in ("SELECT $1::int", *known)]
        sent.receive()
    assert [answer.rows for answer in answers] == [[(1,)], [(1,)], [(2,)], [(3,)]]


def test_a_large_exchange_does_not_block() -> None:
    text = "x" * 1_000_000
    with exchange() as sent:
        answers = [sent.send("SELECT $1::text", [text]) for _ in range(20)]
        sent.receive()
    assert all(answer.rows == [(text,)] for answer in answers)


def test_a_lost_connection_is_an_operational_error_and_replaced() -> None:
    insert(1)
    with pytest.raises(OperationalError), exchange() as sent:
        sent.begin()
        sent.send(INSERT, [2])
        sent.send("SELECT pg_terminate_backend(pg_backend_pid())")
        sent.commit()
        sent.receive()
    insert(3)
    assert kept() == [1, 3]


@pytest.mark.parametrize("step", ["before", "sending", "receiving"])
def test_a_connection_is_replaced_wherever_it_breaks(step: str) -> None:
    insert(1)
    with pytest.raises(OperationalError), exchange() as sent:
        if step == "before":
            end_connection()
        sent.begin()
        for number in range(2, 1000):
            if step == "sending" and number == 500:
                sent.flush()
                end_connection()
            sent.send(INSERT, [number])
            sent.flush()
        if step == "receiving":
            end_connection()
        sent.commit()
        sent.receive()
    insert(1000)
    assert kept() == [1, 1000]


def end_connection() -> None:
    """End the connection of this thread from another one, as a server that is killed does."""
    assert connection.connection is not None
    pid = connection.connection.info.backend_pid
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    other.close()


def test_an_exchange_is_a_transaction_of_its_own() -> None:
    with (
        transaction.atomic(),
        pytest.raises(transaction.TransactionManagementError),
        exchange(),
    ):
        pass


def test_the_connection_may_have_streamed_rows_just_before() -> None:
    insert(*range(5))
    select = "SELECT n FROM kept ORDER BY n"
    with exchange() as sent:
        sent.send(select)
        sent.receive()
    streamed = list(sql.stream_rows("SELECT n FROM kept WHERE n < %s ORDER BY n", [3]))
    with exchange() as sent:
        found = sent.send(select)
        counted = sent.send("SELECT count(*) FROM kept")
        sent.receive()
    assert streamed == [(0,), (1,), (2,)]
    assert (found.rows, counted.rows) == ([(n,) for n in range(5)], [(5,)])
