"""Connections of the pool: usable when a request gets them, without asking the database."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic

import pytest
from django.db import connection

from schedweb.postgresql.base import DatabaseWrapper

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pooled() -> Iterator[DatabaseWrapper]:
    """A database with a pool of one connection."""
    options = {**connection.settings_dict["OPTIONS"], "pool": {"min_size": 1, "max_size": 1}}
    found = DatabaseWrapper({**connection.settings_dict, "OPTIONS": options}, "pooled")
    yield found
    found.close()
    found.close_pool()


def process_id(database: DatabaseWrapper) -> int:
    with database.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def last_query(process: int) -> str | None:
    """What a process of the database has executed last; None if it has ended."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT query FROM pg_stat_activity WHERE pid = %s", [process])
        row = cursor.fetchone()
    return None if row is None else str(row[0])


def test_the_pool_asks_nothing_and_replaces_a_connection_that_has_ended(
    pooled: DatabaseWrapper,
) -> None:
    process = process_id(pooled)
    pooled.close()
    pooled.ensure_connection()
    assert last_query(process) == "SELECT pg_backend_pid()"
    pooled.close()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [process])
    until = monotonic() + 10
    while last_query(process) is not None:
        assert monotonic() < until
    assert process_id(pooled) != process
