"""Append-only tables of recorded history, partitioned by the day of recording.

The id of a row starts with the day on which the database wrote it: `261121000000042` is row 42 of
the sequence, written on 2026-11-21 (UTC, by the database's clock, as a cluster's own clock may be
manual). An id therefore determines the partition, ids are in the order of recording, and a link by
id is valid as long as the row is retained. Rows from before the partitioning have small ids.

A trigger rejects UPDATE, DELETE and TRUNCATE. Only `RETENTION_ROLE` can delete rows, and no role
can update them. The role cannot log in; this site's database user is a member of it.
docs/ledger.md describes what this protects against.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

#: All partitioned tables. To add one, create it with `division.divided_by_days` and list it here;
#: its model needs `id` and `cluster`.
TABLES = ("controlplane_schedulingdecision", "controlplane_queuemove")

RETENTION_ROLE = "schedweb_retention"
#: An id is the day as YYMMDD times this, plus a number; exact in JavaScript until 2090.
ROWS_OF_A_DAY = 10**9
#: Partitions are created for today and this many days ahead.
DAYS_AHEAD = 2
#: How long an exclusive lock waits for readers before it is retried later: other statements queue
#: behind a waiting lock.
LOCK_TIMEOUT = "2s"

#: What a new partition copies from its table; indexes are created when it is attached.
COPIED = "INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE"
#: Suffixes of the partition for rows from before the partitioning, and the default partition.
FIRST, REST = "first", "rest"


def first_id(day: date) -> int:
    """The smallest id of a row recorded on `day`."""
    return int(f"{day:%y%m%d}") * ROWS_OF_A_DAY


def recorded_on(row_id: int) -> date | None:
    """The day on which a row was recorded, from its id; None for rows before the partitioning."""
    days = row_id // ROWS_OF_A_DAY
    return datetime.strptime(f"{days:06}", "%y%m%d").date() if days else None


def today() -> date:
    """The current day of the database's clock (UTC)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT (now() AT TIME ZONE 'UTC')::date")
        row = cursor.fetchone()
    assert row is not None
    day: date = row[0]
    return day


@contextmanager
def as_retention() -> Iterator[CursorWrapper]:
    """A transaction that can delete recorded rows; must not be nested in another one."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        act_as_retention(cursor)
        yield cursor


def act_as_retention(cursor: CursorWrapper) -> None:
    """Allow the deletion of recorded rows until the transaction ends, or `reset_role`."""
    cursor.execute(f"SET LOCAL ROLE {RETENTION_ROLE}")


def reset_role(cursor: CursorWrapper) -> None:
    """End `act_as_retention`."""
    cursor.execute("SET LOCAL ROLE NONE")


def prepare_all() -> list[str]:
    """`prepare_days` for every table."""
    return [name for table in TABLES for name in prepare_days(table)]


def prepare_days(table: str) -> list[str]:
    """Create the partitions of today and the next days; returns the names of the new ones.

    Rows in the default partition are moved into the new partition of their day.
    """
    start = today()
    needed = {start + timedelta(days=n) for n in range(DAYS_AHEAD + 1)}
    needed |= _find_stray_days(table)
    created = []
    for day in sorted(needed - set(days(table))):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            # of two concurrent workers, the second finds the partition created
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [table])
            if day not in days(table):
                created.append(add_day(cursor, table, day))
    return created


def drop_days(table: str, expired: date | None = None) -> list[str]:
    """Drop the empty partitions of past days; returns their names.

    Partitions of days before `expired` are dropped with their rows.
    """
    past = [day for day in days(table) if day < today()]
    names: list[date | str] = [FIRST, *past] if _exists(name_of(table, FIRST)) else [*past]
    dropped = []
    for part in names:
        is_expired = expired is not None and (isinstance(part, str) or part < expired)
        name = name_of(table, part)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            cursor.execute(f"SELECT EXISTS (SELECT FROM {name})")
            row = cursor.fetchone()
            if is_expired or (row is not None and not row[0]):
                cursor.execute(f"DROP TABLE {name}")
                dropped.append(name)
    return dropped


def days(table: str) -> list[date]:
    """The days with a partition, in order."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT right(c.relname, 6) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "WHERE i.inhparent = %s::regclass AND c.relname ~ '_[0-9]{6}$'",
            [table],
        )
        found = [datetime.strptime(day, "%y%m%d").date() for (day,) in cursor.fetchall()]
    return sorted(found)


def name_of(table: str, part: date | str) -> str:
    """The name of the partition of a day, of FIRST, or of REST."""
    return f"{table}_{part:%y%m%d}" if isinstance(part, date) else f"{table}_{part}"


def add_day(cursor: CursorWrapper, table: str, day: date) -> str:
    """Create the partition of a day, and move the day's rows into it from the default partition."""
    name, rest = name_of(table, day), name_of(table, REST)
    span = [first_id(day), first_id(day + timedelta(days=1))]
    cursor.execute(f"LOCK TABLE {rest} IN ACCESS EXCLUSIVE MODE")
    cursor.execute(f"CREATE TABLE {name} (LIKE {table} {COPIED})")
    strays = f"FROM {rest} WHERE id >= %s AND id < %s"
    cursor.execute(f"INSERT INTO {name} SELECT * {strays}", span)
    if cursor.rowcount:
        act_as_retention(cursor)
        cursor.execute(f"DELETE {strays}", span)
        reset_role(cursor)
    cursor.execute(
        f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({span[0]}) TO ({span[1]})"
    )
    refuse_truncate(cursor, name)
    return name


def refuse_truncate(cursor: CursorWrapper, table: str) -> None:
    """Add the TRUNCATE trigger; partitions inherit row triggers, but not this one."""
    cursor.execute(
        f"CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION schedweb_refuse_change()"
    )


def _find_stray_days(table: str) -> set[date]:
    """Days with rows in the default partition, because their partition did not exist."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT min(id) FROM {name_of(table, REST)} "
            f"WHERE id >= {ROWS_OF_A_DAY} GROUP BY id / {ROWS_OF_A_DAY}"
        )
        found = [recorded_on(row_id) for (row_id,) in cursor.fetchall()]
    return {day for day in found if day is not None}


def _exists(name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
        row = cursor.fetchone()
    return row is not None and bool(row[0])
