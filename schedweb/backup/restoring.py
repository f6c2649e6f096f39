"""Reads a backup into an empty database: first the schema that it was written from, then its rows,
then the migrations since.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import psycopg
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from apps.cluster.partitions import daily
from schedweb.backup import tables
from schedweb.backup.archive import BackupError, Manifest, Reader
from schedweb.backup.tables import AnyCursor

_LISTED = 3
_DAY = re.compile(r"[0-9]{6}")


def refuse_newer(manifest: Manifest) -> None:
    """Raise BackupError if the backup has migrations that this version does not have."""
    loader = MigrationLoader(connection)
    known = set(loader.disk_migrations)
    for migration in loader.disk_migrations.values():
        known.update(migration.replaces)
    newer = [
        f"{app}.{name}"
        for app, name in manifest.migrations
        if app in loader.migrated_apps and (app, name) not in known
    ]
    if newer:
        more = f" and {len(newer) - _LISTED} more" if len(newer) > _LISTED else ""
        raise BackupError(
            f"a newer version of schedweb ({manifest.version}) wrote this backup: this version "
            f"does not have the migrations {', '.join(newer[:_LISTED])}{more}"
        )


def fill_database(backup: Reader) -> None:
    """Restore into the empty database of Django's connection, and upgrade it to this version."""
    manifest = backup.manifest
    migrate_to(manifest.migrations)
    connection.ensure_connection()
    with connection.connection.transaction(), connection.connection.cursor() as cursor:
        # COPY waits for the file and its decompression
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '10min'")
        _create_former_tables(cursor, manifest)
        _refuse_other_tables(cursor, manifest)
        _empty_tables(cursor)
        _create_days(cursor, manifest)
        for name, table in manifest.tables.items():
            # earlier versions saved the members of a cluster, without the users
            if manifest.cluster is None or name not in tables.OF_SITE:
                _fill_table(cursor, backup, name)
            if manifest.cluster is not None and "owner_id" in table.columns:
                cursor.execute(
                    sql.SQL("UPDATE {} SET owner_id = NULL").format(sql.Identifier(name))
                )
        for name, value in manifest.sequences.items():
            cursor.execute(
                "SELECT setval(c.oid, %s) FROM pg_class c WHERE c.relkind = 'S' "
                "AND c.relnamespace = current_schema()::regnamespace AND c.relname = %s",
                [value, name],
            )
    call_command("migrate", interactive=False, verbosity=0)


def migrate_to(applied: Sequence[tuple[str, str]]) -> None:
    """Migrate to the state in which these migrations are applied, of those that still exist."""
    executor = MigrationExecutor(connection)
    executor.loader, targets = find_targets(executor.loader, applied)
    executor.migrate(targets)


def find_targets(
    loader: MigrationLoader, applied: Sequence[tuple[str, str]]
) -> tuple[MigrationLoader, list[tuple[str, str]]]:
    """The migrations that lead to this state, and the loader that has them.

    `loader` is that of an empty database. If a migration replaces others, of which only some are
    applied, these lead to the state.
    """
    wanted = set(applied)
    joined = loader.replacements.items()
    if any(wanted & {*new.replaces} and not wanted >= {*new.replaces} for _, new in joined):
        loader = MigrationLoader(loader.connection, replace_migrations=False)
        wanted -= loader.replacements.keys()
    else:
        wanted |= {key for key, new in joined if wanted >= {*new.replaces}}
    graph = loader.graph
    wanted &= set(graph.nodes)
    followed = {parent.key for key in wanted for parent in graph.node_map[key].parents}
    return loader, sorted(key for key in wanted if key not in followed)


def _create_former_tables(cursor: AnyCursor, manifest: Manifest) -> None:
    """Create the tables of apps that this version lacks, which its migrations take rows from."""
    if "authtoken_token" in manifest.tables:
        cursor.execute(
            "CREATE TABLE authtoken_token (key varchar(40) PRIMARY KEY, "
            "created timestamptz NOT NULL, user_id integer NOT NULL)"
        )


def _refuse_other_tables(cursor: AnyCursor, manifest: Manifest) -> None:
    """Raise BackupError for tables that are not the site's, and days of tables without days."""
    other = manifest.tables.keys() - tables.list_tables(cursor).keys()
    other |= manifest.days.keys() - {*daily.TABLES, daily.AUDIT}
    if other:
        raise BackupError(f"the backup has a table that a site does not have: {min(other)[:100]!r}")
    for table, days in manifest.days.items():
        for day in days:
            if not _DAY.fullmatch(day):
                raise BackupError(f"the backup has an invalid day of {table}: {day[:100]!r}")


def _empty_tables(cursor: AnyCursor) -> None:
    """Delete rows that migrations have added; partitioned tables have none."""
    names = [
        name for name in tables.list_tables(cursor) if name not in (*daily.TABLES, daily.AUDIT)
    ]
    cursor.execute(sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(map(sql.Identifier, names))))


def _create_days(cursor: AnyCursor, manifest: Manifest) -> None:
    present = tables.list_days(cursor)
    with connection.cursor() as wrapped:
        for table, days in manifest.days.items():
            for day in sorted(set(days) - set(present.get(table, ()))):
                daily.add_day(wrapped, table, datetime.strptime(day, "%y%m%d").date())


def _fill_table(cursor: AnyCursor, backup: Reader, name: str) -> None:
    table = backup.manifest.tables[name]
    try:
        with cursor.copy(tables.copy_in(name, table)) as rows:
            left = table.rows
            for block in backup.read_table(name):
                # in the text format of COPY each row ends with the only line break in it
                left -= block.count(b"\n")
                if left < 0:
                    raise BackupError(f"the backup has more rows of {name} than its manifest says")
                rows.write(block)
    except psycopg.DataError as error:
        raise BackupError(f"the rows of {name} cannot be restored: {error}") from error
    if cursor.rowcount != table.rows:
        raise BackupError(f"the backup has {cursor.rowcount} rows of {name}, not {table.rows}")
