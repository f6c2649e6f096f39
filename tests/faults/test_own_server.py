"""A PostgreSQL beside the site, as somebody runs it who stops it whenever they want."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from schedweb.embedded.postgres import Postgres
from tests import migrated
from tests.faults.load import Watcher
from tests.faults.recovery import CLUSTER, Probe, Struck
from tests.faults.run import read_token
from tests.stack.running_site import RunningSite, wait_until

pytestmark = pytest.mark.stack

#: On a busy machine; alone it takes a few seconds.
SHUTDOWN_SECONDS, RECOVERY_SECONDS = 20.0, 30.0


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Postgres]:
    data = folder / "server"
    data.mkdir(mode=0o755)
    migrated.copy_to(data)
    server = Postgres(data, log=data / "postgres.log", throwaway=True)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def site(folder: Path, server: Postgres) -> Iterator[RunningSite]:
    data = folder / "site"
    data.mkdir(mode=0o755)
    site = RunningSite(
        data, SCHEDWEB_DATABASE_URL=server.url, SCHEDWEB_ADMIN_PASSWORD="correct horse battery"
    )
    site.start()
    yield site
    site.end(signal.SIGTERM)
    site.close()


def test_a_server_that_waits_for_its_clients_to_leave_is_left(
    site: RunningSite, server: Postgres
) -> None:
    """SIGTERM, while somebody watches and somebody else's program of the same role is connected."""
    token = read_token(site)
    with ExitStack() as stack:
        probe = Probe(site, token)
        watcher = Watcher(site, token, CLUSTER)
        for thread in (probe, watcher):
            thread.start()
            stack.callback(thread.join)
            stack.callback(thread.stop)
        wait_until(lambda: len(watcher.versions) > 5, seconds=60)
        other = stack.enter_context(psycopg.connect(server.url, application_name="psql"))
        assert server.pid is not None
        os.kill(server.pid, signal.SIGTERM)
        mine = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'schedweb'"
        other.autocommit = True
        wait_until(lambda: other.execute(mine).fetchone() == (0,), seconds=SHUTDOWN_SECONDS)
        assert server.poll() is None, "the server waits for the other client"
        other.close()
        wait_until(lambda: server.poll() is not None, seconds=SHUTDOWN_SECONDS)
        assert server.poll() == 0
        server.launch()
        started = Struck("start", time.monotonic(), time.monotonic())
        wait_until(lambda: probe.recovery(started) is not None, seconds=RECOVERY_SECONDS)
        seen = len(watcher.versions)
        wait_until(lambda: len(watcher.versions) > seen, seconds=RECOVERY_SECONDS)
        assert not watcher.errors
    wait_until(lambda: site.get("/readyz")[0] == 200, seconds=RECOVERY_SECONDS)
