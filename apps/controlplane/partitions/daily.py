"""Tables of what was recorded: divided by the day of recording, their rows never changed.

The id of a row begins with the day on which the database wrote it: `261121000000042` is the 42nd
row since the count began, written on 2026-11-21 (UTC, by the database's clock: a cluster's own may
be set by hand). So an id alone leads to its partition, ids order rows as they were recorded, and
a link by id stays good for as long as the row is kept. Rows of before the division have small ids.

A trigger refuses UPDATE, DELETE and TRUNCATE. Only who acts as `RETENTION_ROLE` may delete (and
nobody may update): a role that cannot log in and that this site's database user is a member of.
docs/ledger.md says what that protects from, and from what it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

#: Every table that is divided so. A new one: make it with `partitioning.divided_by_days` and enter
#: it here; its model has `id` and `cluster`.
TABLES = ("controlplane_schedulingdecision", "controlplane_queuemove")

RETENTION_ROLE = "schedweb_retention"
#: An id is the day as YYMMDD times this, plus a count; JavaScript's integers hold that until 2090.
ROWS_OF_A_DAY = 10**9
#: Partitions are made for today and so many days more.
DAYS_AHEAD = 2
#: Whoever needs a table for himself waits so long for those who read it, and else tries later:
#: while he waits, everybody else waits behind him.
LOCK_TIMEOUT = "2s"

#: what a partition has from its table when it is made; being attached gives it the indexes
COPIED = "INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE"
#: suffix of the partition of rows from before the division, and of days that have none
FIRST, REST = "first", "rest"


def first_id(day: date) -> int:
    """The least id of a row that is recorded on `day`."""
    return int(f"{day:%y%m%d}") * ROWS_OF_A_DAY


def recorded_on(row_id: int) -> date | None:
    """The day a row was recorded on, by its id; None for rows of before the division."""
    days = row_id // ROWS_OF_A_DAY
    return datetime.strptime(f"{days:06}", "%y%m%d").date() if days else None


def today() -> date:
    """The database's day (UTC), by which rows are divided."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT (now() AT TIME ZONE 'UTC')::date")
        row = cursor.fetchone()
    assert row is not None
    day: date = row[0]
    return day


@contextmanager
def as_retention() -> Iterator[CursorWrapper]:
    """A transaction in which recorded rows may be deleted; not to be used inside another one."""
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        act_as_retention(cursor)
        yield cursor


def act_as_retention(cursor: CursorWrapper) -> None:
    """Delete recorded rows until the transaction ends, or `act_as_oneself`."""
    cursor.execute(f"SET LOCAL ROLE {RETENTION_ROLE}")


def act_as_oneself(cursor: CursorWrapper) -> None:
    cursor.execute("SET LOCAL ROLE NONE")


def prepare_all() -> list[str]:
    """`prepare_days` for every table."""
    return [name for table in TABLES for name in prepare_days(table)]


def prepare_days(table: str) -> list[str]:
    """Make the partitions of today and the next days; returns the names of the new ones.

    Rows of a day that had none are moved into it.
    """
    start = today()
    wanted = {start + timedelta(days=n) for n in range(DAYS_AHEAD + 1)}
    wanted |= _stray_days(table)
    made = []
    for day in sorted(wanted - set(days(table))):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            # two workers at once take turns; the second finds the day made
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [table])
            if day not in days(table):
                made.append(add_day(cursor, table, day))
    return made


def drop_days(table: str, expired: date | None = None) -> list[str]:
    """Drop the partitions of past days that hold no row; returns their names.

    Days before `expired` are dropped with the rows they hold.
    """
    ended = [day for day in days(table) if day < today()]
    names: list[date | str] = [FIRST, *ended] if _exists(name_of(table, FIRST)) else [*ended]
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
    """The days that have a partition, in order."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT right(c.relname, 6) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "WHERE i.inhparent = %s::regclass AND c.relname ~ '_[0-9]{6}$'",
            [table],
        )
        found = [datetime.strptime(day, "%y%m%d").date() for (day,) in cursor.fetchall()]
    return sorted(found)


def name_of(table: str, part: date | str) -> str:
    """The partition of a day, or FIRST, or REST."""
    return f"{table}_{part:%y%m%d}" if isinstance(part, date) else f"{table}_{part}"


def add_day(cursor: CursorWrapper, table: str, day: date) -> str:
    """Make the partition of a day, with the day's rows that had to go elsewhere so far."""
    name, rest = name_of(table, day), name_of(table, REST)
    span = [first_id(day), first_id(day + timedelta(days=1))]
    cursor.execute(f"LOCK TABLE {rest} IN ACCESS EXCLUSIVE MODE")
    cursor.execute(f"CREATE TABLE {name} (LIKE {table} {COPIED})")
    strays = f"FROM {rest} WHERE id >= %s AND id < %s"
    cursor.execute(f"INSERT INTO {name} SELECT * {strays}", span)
    if cursor.rowcount:
        act_as_retention(cursor)
        cursor.execute(f"DELETE {strays}", span)
        act_as_oneself(cursor)
    cursor.execute(
        f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({span[0]}) TO ({span[1]})"
    )
    refuse_truncate(cursor, name)
    return name


def refuse_truncate(cursor: CursorWrapper, table: str) -> None:
    """PostgreSQL gives a partition the triggers of its table for rows, but not this one."""
    cursor.execute(
        f"CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION schedweb_refuse_change()"
    )


def _stray_days(table: str) -> set[date]:
    """Days whose rows came when they had no partition: nobody had made one ahead."""
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
