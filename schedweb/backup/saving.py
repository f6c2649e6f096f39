"""Writes a backup from one snapshot of the database, while the site runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from psycopg import sql

from apps.cluster.errors import NotFound
from schedweb.backup import tables
from schedweb.backup.archive import FILES, Manifest, Table, Writer, create
from schedweb.backup.databases import Connection
from schedweb.backup.tables import AnyCursor


def save_site(connection: Connection, data: Path, path: Path) -> Manifest:
    """Write the whole database, and the keys in the data folder, to *path*."""
    with create(path) as writer, _snapshot(connection) as cursor:
        all_tables = tables.list_tables(cursor)
        conditions: dict[str, sql.Composable] = dict.fromkeys(all_tables, sql.SQL("true"))
        manifest = _write(writer, cursor, all_tables, conditions)
        for pattern in FILES:
            for file in sorted(data.glob(pattern)):
                writer.add_file(file.relative_to(data), file.read_bytes())
        writer.finish(manifest)
    return manifest


def save_cluster(connection: Connection, name: str, path: Path) -> Manifest:
    """Write one cluster with its history to *path*. Raises NotFound."""
    with create(path) as writer, _snapshot(connection) as cursor:
        cursor.execute("SELECT id FROM cluster_cluster WHERE name = %s", [name])
        row = cursor.fetchone()
        if row is None:
            raise NotFound("clusters", name)
        conditions = {}
        all_tables = tables.list_tables(cursor)
        for table, columns in all_tables.items():
            condition = tables.of_cluster(table, columns, row[0])
            if condition is not None:
                conditions[table] = condition
        manifest = _write(writer, cursor, all_tables, conditions)
        manifest.cluster, manifest.cluster_id = name, row[0]
        writer.finish(manifest)
    return manifest


@contextmanager
def _snapshot(connection: Connection) -> Iterator[AnyCursor]:
    """A transaction that sees one state of all tables, and in which none is dropped."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SET LOCAL lock_timeout = '30s'")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '10min'")
        names = map(sql.Identifier, tables.list_tables(cursor))
        cursor.execute(
            sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(sql.SQL(", ").join(names))
        )
        yield cursor


def _write(
    writer: Writer,
    cursor: AnyCursor,
    all_tables: dict[str, Table],
    conditions: dict[str, sql.Composable],
) -> Manifest:
    """Write these rows of these tables; returns the manifest of a site."""
    cursor.execute("SELECT app, name FROM django_migrations ORDER BY id")
    applied = cursor.fetchall()
    saved = {name: all_tables[name] for name in conditions}
    for name, condition in conditions.items():
        with cursor.copy(tables.copy_out(name, saved[name], condition)) as rows:
            writer.add_table(name, rows)
        saved[name].rows = cursor.rowcount
    return Manifest(
        version=settings.VERSION,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        cluster=None,
        cluster_id=None,
        migrations=applied,
        days=tables.list_days(cursor),
        # after the rows, because sequences do not belong to the snapshot
        sequences=tables.list_sequences(cursor),
        tables=saved,
    )
