"""The database of the tests: the embedded PostgreSQL, started when a test first asks for it."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.db import connection
from django.test import TransactionTestCase
from psycopg.conninfo import conninfo_to_dict
from xdist.scheduler.loadscope import LoadScopeScheduling

from apps.cluster.log.announce import announcer
from schedweb.embedded.postgres import Postgres
from tests import durations, migrated

#: The URL of a running server; without it, each test run starts its own.
SERVER = os.environ.get("TESTS_POSTGRES", "")

# An example may take as long as the machine needs.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server: one for this test run alone, empty at first, by default."""
    if SERVER:
        yield SERVER
        return
    # Not below pytest's own folder, which is closed to the database's user under root.
    data = Path(tempfile.mkdtemp(prefix="schedweb-pg-"))
    data.chmod(0o755)
    migrated.copy_to(data)
    server = Postgres(data, log=data / "postgres.log", throwaway=True)
    server.start()
    migrated.keep_as_template(server.url)
    settings.DATABASES["default"]["TEST"]["TEMPLATE"] = migrated.TEMPLATE
    yield server.url
    server.stop()
    shutil.rmtree(data)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(postgres: str) -> None:
    """Point Django at the server, before pytest-django makes the test database in it."""
    address = conninfo_to_dict(postgres)
    settings.DATABASES["default"].update(
        HOST=address["host"], USER=address["user"], NAME=address["dbname"]
    )


# Rows of the installed apps, the same for all tests.
LASTING_TABLES = {"auth_permission", "django_content_type"}

# Without triggers: those of some tables refuse it. A table that has grown is truncated, because
# deleted rows stay in its file and slow down later scans; to truncate a small one takes ten times
# as long.
EMPTY_TABLES = """
DO $$
DECLARE name text;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOREACH name IN ARRAY ARRAY%s LOOP
    IF (SELECT sum(pg_relation_size(relid)) FROM pg_partition_tree(name::regclass)) > 400000 THEN
      EXECUTE format('TRUNCATE %%I CASCADE', name);
    ELSE
      EXECUTE format('DELETE FROM %%I', name);
    END IF;
  END LOOP;
END $$
"""


@pytest.fixture(scope="session", autouse=True)
def emptied_tables() -> None:
    """Let the end of a test that commits delete its rows, in a tenth of the time of `flush`."""
    TransactionTestCase._fixture_teardown = lambda _: empty_tables()  # type: ignore[method-assign]


@pytest.fixture(scope="session", autouse=True)
def batches_end_by_their_size() -> None:
    """A slow machine makes the same batches of decisions as a fast one."""
    from apps.engine.loop import scheduling

    scheduling.BATCH_SECONDS = scheduling.CROWDED_SECONDS = 60.0


def empty_tables() -> None:
    """Delete the rows of all tables, the history of deleted clusters among them."""
    tables = connection.introspection.django_table_names(include_views=False)
    with connection.cursor() as cursor:
        cursor.execute(EMPTY_TABLES % [name for name in tables if name not in LASTING_TABLES])


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "write how long each file took to tests/durations.json, which orders the files"
    parser.addoption("--keep-durations", action="store_true", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what takes longest first, so that no process waits for another for long at the end."""
    if hasattr(config, "workerinput"):
        seconds = durations.estimate(item.nodeid for item in items)
        items.sort(key=lambda item: -seconds[durations.unit_of(item.nodeid)])


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what stays: a sixth of the processor time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    durations.measure(report.nodeid, report.duration)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("keep_durations") and not hasattr(session.config, "workerinput"):
        durations.keep()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """A process more than there are cores: tests of sites and pages wait for half of their time."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesToProcesses:
    config.option.loadscopereorder = False
    return FilesToProcesses(config, log)


class FilesToProcesses(LoadScopeScheduling):
    """Several processes share the tests (``pytest -n 2``): a unit belongs to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return durations.unit_of(nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown() -> None:
    """Let the announcer finish what the test committed before the tables are emptied."""
    announcer.flush(10.0)
