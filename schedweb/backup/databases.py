"""Databases on the site's server: one to restore into, and its place in the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection
from psycopg import sql

from schedweb.backup.archive import BackupError

Connection = psycopg.Connection[tuple[object, ...]]


def site_name() -> str:
    """The name of the site's database."""
    return str(connection.settings_dict["NAME"])


def connect(name: str) -> Connection:
    """A connection of its own, with autocommit, to a database on the site's server."""
    parameters = connection.get_connection_params()
    parameters = {
        key: value
        for key, value in parameters.items()
        if key not in ("dbname", "cursor_factory", "context", "prepare_threshold")
    }
    return psycopg.connect(dbname=name, autocommit=True, **parameters)


@contextmanager
def scratch_database() -> Iterator[str]:
    """A new empty database beside the site's, dropped at the end unless it was renamed."""
    name = f"{site_name()}_restore"
    with connect("postgres") as server:
        # an earlier restore was killed
        _drop(server, name)
        try:
            server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        except psycopg.errors.InsufficientPrivilege as error:
            raise BackupError(
                "the site's database user may not create a database to restore into; as an "
                f'administrator, run: ALTER ROLE "{server.info.user}" CREATEDB;'
            ) from error
        try:
            yield name
        finally:
            _drop(server, name)


@contextmanager
def using(name: str) -> Iterator[None]:
    """Let Django's connection be one to this database."""
    site = site_name()
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = site


def replace_with(name: str) -> None:
    """Let the database *name* take the place of the site's, in one transaction."""
    site = site_name()
    connection.close()
    old = f"{site}_replaced"
    with connect("postgres") as server:
        _drop(server, old)
        rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
        try:
            with server.transaction():
                for before, after in ((site, old), (name, site)):
                    server.execute(rename.format(sql.Identifier(before), sql.Identifier(after)))
        except psycopg.errors.ObjectInUse as error:
            raise BackupError(f"{_RUNNING}. Nothing was changed.") from error
        _drop(server, old)


#: A connection that was just closed ends a moment later.
_PATIENCE_SECONDS = 2.0
_RUNNING = "the site is running: stop it before you restore it (a single cluster needs no stop)"


def refuse_running_site() -> None:
    """Raise BackupError if another process stays connected to the site's database."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while _count_others():
        if time.monotonic() > deadline:
            raise BackupError(f"{_RUNNING}. Nothing was changed.")
        time.sleep(0.1)


def _count_others() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        row = cursor.fetchone()
    return row[0] if row is not None else 0


def _drop(server: Connection, name: str) -> None:
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
    server.execute(drop.format(sql.Identifier(name)))
