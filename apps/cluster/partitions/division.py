"""For migrations: turns an ordinary table into one partitioned by day, and keeps its rows.

    operations = [CreateModel(name="QueueMove", ...),
                  RunPython(divide_by_days("controlplane_queuemove"), RunPython.noop)]

The model must have a BigAutoField `id` as primary key and no other unique constraint. Its indexes
are kept, and indexes of later migrations apply to every partition.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import Error, connection
from django.db.backends.utils import CursorWrapper

from apps.cluster.partitions import daily
from apps.cluster.partitions.daily import (
    FIRST,
    REST,
    RETENTION_ROLE,
    ROWS_OF_A_DAY,
    partition_name,
)

_REFUSE = f"""
CREATE OR REPLACE FUNCTION schedweb_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'UPDATE' AND current_user = '{RETENTION_ROLE}' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% refused: rows of % stay as they were recorded', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege',
        HINT = 'Retention removes them by age and count; see docs/ledger.md.';
END $$
"""


_DAY = "to_char(now() AT TIME ZONE 'UTC', 'YYMMDD')::bigint"
_LATEST_DAY = (
    f"to_char(now() AT TIME ZONE 'UTC' + interval '{daily.DAYS_AHEAD} d', 'YYMMDD')::bigint"
)


class RoleMissing(Exception):
    """The retention role does not exist, and this user may not create it."""


def divide_by_days(table: str) -> Callable[[Any, Any], None]:
    """For RunPython: partition this table by day; its rows keep their ids."""

    def divide(apps: Any, schema_editor: Any) -> None:
        with schema_editor.connection.cursor() as cursor:
            create_retention_role(cursor)
            cursor.execute(_REFUSE)
            _divide(cursor, table)

    return divide


def keep_days_in_order(table: str) -> Callable[[Any, Any], None]:
    """For RunPython: ids keep increasing when the database's clock is set back.

    The day in an id is then the last one, for clocks that were `DAYS_AHEAD` ahead at most: ids have
    no day much later than that of their recording, by which retention counts.
    """

    def keep(apps: Any, schema_editor: Any) -> None:
        with schema_editor.connection.cursor() as cursor:
            last = f"{table}_day"
            cursor.execute(f"CREATE SEQUENCE {last} OWNED BY {table}.id")
            cursor.execute(f"SELECT setval('{last}', {_DAY})")
            cursor.execute(
                f"ALTER TABLE {table} ALTER COLUMN id SET DEFAULT "
                f"CASE WHEN pg_sequence_last_value('{last}') BETWEEN {_DAY} AND {_LATEST_DAY} "
                f"THEN pg_sequence_last_value('{last}') ELSE setval('{last}', {_DAY}) END "
                f"* {ROWS_OF_A_DAY} + nextval('{table}_number')"
            )

    return keep


def create_retention_role(cursor: CursorWrapper) -> None:
    """Create the role and become a member of it; RoleMissing if that is not allowed.

    Roles belong to the whole server, so another site's database may have created it.
    """
    cursor.execute("SAVEPOINT make_role")
    try:
        cursor.execute("SELECT FROM pg_roles WHERE rolname = %s", [RETENTION_ROLE])
        if not cursor.rowcount:
            cursor.execute(f"CREATE ROLE {RETENTION_ROLE} NOLOGIN")
        cursor.execute("SELECT pg_has_role(current_user, %s, 'MEMBER')", [RETENTION_ROLE])
        row = cursor.fetchone()
        if row is None or not row[0]:
            cursor.execute(f"GRANT {RETENTION_ROLE} TO CURRENT_USER")
    except Error as refusal:
        cursor.execute("ROLLBACK TO SAVEPOINT make_role")
        user = connection.settings_dict["USER"]
        raise RoleMissing(
            f"this database user may not create the role {RETENTION_ROLE}. As an administrator, "
            f'run: CREATE ROLE {RETENTION_ROLE} NOLOGIN; GRANT {RETENTION_ROLE} TO "{user}";'
        ) from refusal
    cursor.execute("RELEASE SAVEPOINT make_role")


def _divide(cursor: CursorWrapper, table: str) -> None:
    first = partition_name(table, FIRST)
    cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    indexes = _set_aside(cursor, table, first)
    cursor.execute(f"CREATE TABLE {table} (LIKE {first} {daily.COPIED}) PARTITION BY RANGE (id)")
    cursor.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (id)")
    for definition in indexes:
        cursor.execute(definition)
    _number_by_day(cursor, table)
    _keep_or_drop(cursor, table, first)
    cursor.execute(f"CREATE TABLE {partition_name(table, REST)} PARTITION OF {table} DEFAULT")
    _protect(cursor, table)
    today = daily.today()
    for day in range(daily.DAYS_AHEAD + 1):
        daily.add_day(cursor, table, today + timedelta(days=day))


def _set_aside(cursor: CursorWrapper, table: str, first: str) -> list[str]:
    """Rename the table and its indexes; returns the definitions of the indexes."""
    cursor.execute(
        "SELECT indexname, indexdef, indexname IN (SELECT conname FROM pg_constraint "
        "WHERE conrelid = %s::regclass AND contype = 'p') FROM pg_indexes "
        "WHERE schemaname = current_schema() AND tablename = %s",
        [table, table],
    )
    indexes = cursor.fetchall()
    for name, _, _ in indexes:
        cursor.execute(f'ALTER INDEX "{name}" RENAME TO "{name}_{FIRST}"')
    cursor.execute(f"ALTER TABLE {table} ALTER COLUMN id DROP IDENTITY IF EXISTS")
    cursor.execute(f"ALTER TABLE {table} RENAME TO {first}")
    return [definition for _, definition, is_primary in indexes if not is_primary]


def _number_by_day(cursor: CursorWrapper, table: str) -> None:
    # the day before the count keeps ids unique when the count wraps around
    cursor.execute(
        f"CREATE SEQUENCE {table}_number MAXVALUE {ROWS_OF_A_DAY - 1} CYCLE OWNED BY {table}.id"
    )
    cursor.execute(
        f"ALTER TABLE {table} ALTER COLUMN id SET DEFAULT "
        f"{_DAY} * {ROWS_OF_A_DAY} + nextval('{table}_number')"
    )


def _keep_or_drop(cursor: CursorWrapper, table: str, first: str) -> None:
    """The existing rows become the first partition, unless there are none."""
    cursor.execute(f"SELECT EXISTS (SELECT FROM {first})")
    row = cursor.fetchone()
    if row is None or not row[0]:
        cursor.execute(f"DROP TABLE {first}")
        return
    cursor.execute(
        f"ALTER TABLE {table} ATTACH PARTITION {first} "
        f"FOR VALUES FROM (MINVALUE) TO ({ROWS_OF_A_DAY})"
    )
    daily.refuse_truncate(cursor, first)


def _protect(cursor: CursorWrapper, table: str) -> None:
    cursor.execute(
        f"CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION schedweb_refuse_change()"
    )
    for name in (table, partition_name(table, REST)):
        daily.refuse_truncate(cursor, name)
        cursor.execute(f"GRANT SELECT, DELETE, TRUNCATE ON {name} TO {RETENTION_ROLE}")
