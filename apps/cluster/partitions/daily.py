"""Tables of records: partitioned by the day of recording, with rows that are never updated.

The id of a row starts with the day on which the database wrote it: `261121000000042` is row 42 of
the sequence, written on 2026-11-21 (UTC, by the database's clock, because a cluster's clock may be
set manually). If that clock is set back, by two days at most, the day in new ids stays the one of
the last row. An id alone determines its partition, rows are recorded in the order of ids, and a
link by id stays valid as long as the row is kept. Rows from before the partitioning have small ids.

A trigger rejects UPDATE, DELETE and TRUNCATE. Only `RETENTION_ROLE` may delete, and no role may
update: it cannot log in, and the site's database user is a member of it. docs/ledger.md describes
what this protects against and what not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

#: Such tables about clusters, whose models have `id` and `cluster`, and about the site. To add one,
#: create it with `division.divide_by_days` and list it here.
TABLES = ("controlplane_schedulingdecision", "controlplane_queuemove")
AUDIT = "people_auditentry"

RETENTION_ROLE = "schedweb_retention"
#: An id is the day as YYMMDD times this, plus a count; exact in JavaScript until 2090.
ROWS_OF_A_DAY = 10**9
#: Partitions are created for today and this many days ahead.
DAYS_AHEAD = 2
#: How long to wait for an exclusive lock on a table before trying again later: all other
#: transactions queue behind it.
LOCK_TIMEOUT = "2s"

#: what a partition copies from its table when it is created; attaching adds the indexes
COPIED = "INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE"
#: suffixes of the partitions for rows from before the partitioning, and for days without one
FIRST, REST = "first", "rest"


def first_id(day: date) -> int:
    """The smallest id of rows recorded on `day`."""
    return int(f"{day:%y%m%d}") * ROWS_OF_A_DAY


def recording_day(row_id: int) -> date | None:
    """The day of recording in a row's id; None for rows from before the partitioning."""
    number = row_id // ROWS_OF_A_DAY
    return datetime.strptime(f"{number:06}", "%y%m%d").date() if number else None


def today() -> date:
    """The current day of the database (UTC), by which rows are partitioned."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT (now() AT TIME ZONE 'UTC')::date")
        row = cursor.fetchone()
    assert row is not None
    day: date = row[0]
    return day


@contextmanager
def as_retention() -> Iterator[CursorWrapper]:
    """A transaction in which records may be deleted; must not be nested in another one."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        set_retention_role(cursor)
        yield cursor


def set_retention_role(cursor: CursorWrapper) -> None:
    """Allow deleting records until the end of the transaction, or `reset_role`."""
    cursor.execute(f"SET LOCAL ROLE {RETENTION_ROLE}")


def reset_role(cursor: CursorWrapper) -> None:
    cursor.execute("SET LOCAL ROLE NONE")


def prepare_all() -> list[str]:
    """`prepare_days` for every table."""
    return [name for table in (*TABLES, AUDIT) for name in prepare_days(table)]


def prepare_days(table: str) -> list[str]:
    """Create the partitions of today and the next days; returns the names of the new ones.

    Rows of a day that had no partition are moved into it.
    """
    start = today()
    wanted = {start + timedelta(days=n) for n in range(DAYS_AHEAD + 1)}
    wanted |= _stray_days(table)
    created = []
    for day in sorted(wanted - set(list_days(table))):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            # concurrent workers take turns; the second finds the partition
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [table])
            if day not in list_days(table):
                created.append(add_day(cursor, table, day))
    return created


def drop_days(table: str, expired: date | None = None) -> list[str]:
    """Drop the empty partitions of past days; returns their names.

    Days before `expired` are dropped with their rows.
    """
    ended = [day for day in list_days(table) if day < today()]
    names: list[date | str] = [FIRST, *ended] if _exists(partition_name(table, FIRST)) else [*ended]
    dropped = []
    for part in names:
        is_expired = expired is not None and (isinstance(part, str) or part < expired)
        name = partition_name(table, part)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            cursor.execute(f"SELECT EXISTS (SELECT FROM {name})")
            row = cursor.fetchone()
            if is_expired or (row is not None and not row[0]):
                cursor.execute(f"DROP TABLE {name}")
                dropped.append(name)
    return dropped


def list_days(table: str) -> list[date]:
    """The days with a partition, in order."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT right(c.relname, 6) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "WHERE i.inhparent = %s::regclass AND c.relname ~ '_[0-9]{6}$'",
            [table],
        )
        days = [datetime.strptime(day, "%y%m%d").date() for (day,) in cursor.fetchall()]
    return sorted(days)


def partition_name(table: str, part: date | str) -> str:
    """The name of the partition of a day, or of FIRST or REST."""
    return f"{table}_{part:%y%m%d}" if isinstance(part, date) else f"{table}_{part}"


def add_day(cursor: CursorWrapper, table: str, day: date) -> str:
    """Create the partition of a day, and move the day's rows from the default partition into it."""
    name, rest = partition_name(table, day), partition_name(table, REST)
    span = [first_id(day), first_id(day + timedelta(days=1))]
    cursor.execute(f"LOCK TABLE {rest} IN ACCESS EXCLUSIVE MODE")
    cursor.execute(f"CREATE TABLE {name} (LIKE {table} {COPIED})")
    strays = f"FROM {rest} WHERE id >= %s AND id < %s"
    cursor.execute(f"INSERT INTO {name} SELECT * {strays}", span)
    if cursor.rowcount:
        set_retention_role(cursor)
        cursor.execute(f"DELETE {strays}", span)
        reset_role(cursor)
    cursor.execute(
        f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({span[0]}) TO ({span[1]})"
    )
    refuse_truncate(cursor, name)
    return name


def refuse_truncate(cursor: CursorWrapper, table: str) -> None:
    """Add the statement trigger; PostgreSQL only copies row triggers to partitions."""
    cursor.execute(
        f"CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION schedweb_refuse_change()"
    )


def _stray_days(table: str) -> set[date]:
    """Days with rows in the default partition, because theirs was not created in advance."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT min(id) FROM {partition_name(table, REST)} "
            f"WHERE id >= {ROWS_OF_A_DAY} GROUP BY id / {ROWS_OF_A_DAY}"
        )
        days = [recording_day(row_id) for (row_id,) in cursor.fetchall()]
    return {day for day in days if day is not None}


def _exists(name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [name])
        row = cursor.fetchone()
    return row is not None and bool(row[0])
