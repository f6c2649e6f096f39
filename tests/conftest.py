"""The database of the tests: the embedded PostgreSQL, started when a test first asks for it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import conninfo_to_dict

from apps.cluster.log.announce import announcer
from schedweb.embedded.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for this test run alone, empty at first."""
    # Not below pytest's own folder, which is closed to the database's user under root.
    data = Path(tempfile.mkdtemp(prefix="schedweb-pg-"))
    data.chmod(0o755)
    server = Postgres(data, log=data / "postgres.log", throwaway=True)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(data)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres: Postgres) -> None:
    """Point Django at the server, before pytest-django makes the test database in it."""
    address = conninfo_to_dict(postgres.url)
    settings.DATABASES["default"].update(
        HOST=address["host"], USER=address["user"], NAME=address["dbname"]
    )


@pytest.fixture(scope="session", autouse=True)
def emptied_tables() -> None:
    """Let the end of a test empty the tables whose rows refuse it: without their triggers.

    On the class: a test with a browser has a connection of its own.
    """
    operations = type(connection.ops)
    empty = operations.execute_sql_flush

    def execute_sql_flush(self: Any, statements: list[str]) -> None:
        empty(self, ["SET LOCAL session_replication_role = replica", *statements])

    operations.execute_sql_flush = execute_sql_flush


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    """Let the announcer finish what the test committed before the tables are emptied."""
    announcer.flush(10.0)
