"""A PostgreSQL beside the site, as somebody runs it who stops it whenever they want."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.faults.database import Pair
from tests.faults.invariants import find_violations
from tests.faults.load import Client, Poster, Watcher
from tests.faults.recovery import CLUSTER, Probe, Struck
from tests.faults.run import read_token, wait_until_quiet
from tests.stack.running_site import RunningSite, alive, wait_until

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
def servers(folder: Path) -> Iterator[Pair]:
    servers = Pair(folder, filled=True)
    servers.start()
    yield servers
    servers.stop()


@pytest.fixture(scope="module")
def site(folder: Path, servers: Pair) -> Iterator[RunningSite]:
    data = folder / "site"
    data.mkdir(mode=0o755)
    site = RunningSite(
        data, SCHEDWEB_DATABASE_URL=servers.url, SCHEDWEB_ADMIN_PASSWORD="correct horse battery"
    )
    site.start()
    yield site
    site.end(signal.SIGTERM)
    site.close()


@pytest.fixture(scope="module")
def token(site: RunningSite) -> str:
    return read_token(site)


@pytest.fixture(scope="module")
def probe(site: RunningSite, token: str) -> Iterator[Probe]:
    probe = Probe(site, token)
    probe.start()
    yield probe
    probe.stop()


@pytest.fixture
def watcher(site: RunningSite, token: str, probe: Probe) -> Iterator[Watcher]:
    """Somebody who watches the pods of the probe, and has seen some."""
    watcher = Watcher(site, token, CLUSTER)
    watcher.start()
    wait_until(lambda: len(watcher.versions) > 5, seconds=60)
    yield watcher
    watcher.stop()
    watcher.join()
    assert not watcher.errors


def wait_for_recovery(site: RunningSite, probe: Probe, watcher: Watcher) -> None:
    """Wait until pods are bound, watchers see it, and the site is ready."""
    now, seen = time.monotonic(), len(watcher.versions)
    since = Struck("", now, now)
    wait_until(lambda: probe.recovery(since) is not None, seconds=RECOVERY_SECONDS)
    wait_until(lambda: len(watcher.versions) > seen, seconds=RECOVERY_SECONDS)
    wait_until(lambda: site.get("/readyz")[0] == 200, seconds=RECOVERY_SECONDS)


def test_a_server_that_waits_for_its_clients_to_leave_is_left(
    site: RunningSite, servers: Pair, probe: Probe, watcher: Watcher
) -> None:
    """SIGTERM, while somebody watches and another program of the same role is connected."""
    with psycopg.connect(servers.primary.url, application_name="psql", autocommit=True) as other:
        pid = servers.primary.pid
        assert pid is not None
        os.kill(pid, signal.SIGTERM)
        mine = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'schedweb'"
        wait_until(lambda: other.execute(mine).fetchone() == (0,), seconds=SHUTDOWN_SECONDS)
        assert alive(pid), "the server waits for the other client"
    wait_until(lambda: not alive(pid), seconds=SHUTDOWN_SECONDS)
    wait_for_recovery(site, probe, watcher)


def test_the_standby_of_a_lost_server_takes_over_with_everything(
    site: RunningSite, servers: Pair, token: str, probe: Probe, watcher: Watcher
) -> None:
    client = Client(site, token)
    client.create_cluster("kept", nodes=5)
    client.close()
    poster = Poster(site, token, "kept", 100, seed=1, seconds=3)
    poster.start()
    wait_until(lambda: poster.accepted > 30, seconds=60)
    assert poster.accepted < len(poster.pods), "all pods were posted before"
    servers.fail_over()
    poster.join()
    wait_for_recovery(site, probe, watcher)
    assert wait_until_quiet(site, ["kept"]) == []
    assert find_violations(site.database_url, "kept", poster.pods) == []
