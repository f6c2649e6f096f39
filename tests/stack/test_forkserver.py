"""The processes of a site are forks of one that has loaded everything, and can do without it."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.faults.recovery import Probe, Struck
from tests.faults.run import read_token
from tests.stack.running_site import RunningSite, alive, children_of, wait_until

pytestmark = pytest.mark.stack

SERVER = r"schedweb\.forkserver"
WORKER = r"schedweb\.worker worker-1"


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    with tempfile.TemporaryDirectory(prefix="forks-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        running = RunningSite(
            Path(folder), SCHEDWEB_WORKERS="2", SCHEDWEB_ADMIN_PASSWORD="correct horse battery"
        )
        running.start()
        yield running
        running.close()


@pytest.fixture(scope="module")
def probe(site: RunningSite) -> Iterator[Probe]:
    """Pods that are created one after another, and bound while the site works."""
    running = Probe(site, read_token(site))
    running.start()
    yield running
    running.stop()


def find(site: RunningSite, pattern: str) -> int | None:
    """The process with this command line; None if there is none, or several."""
    found = [pid for pid, line in site.processes().items() if re.search(pattern, line)]
    return found[0] if len(found) == 1 else None


def loaded_server(site: RunningSite) -> int:
    """The fork server, once it can fork."""
    log = site.data / "log" / "fork-server.log"
    starts = 1 + site.output.count("fork-server exited")
    wait_until(lambda: log.read_text().count("loaded everything") == starts, seconds=120)
    return site.process(SERVER)


def replaced(site: RunningSite, pattern: str, killed: int) -> Callable[[], bool]:
    return lambda: find(site, pattern) not in (None, killed)


def recovers(probe: Probe) -> bool:
    """Whether a pod that is created from now on is bound."""
    fault = Struck("", time.monotonic(), time.monotonic())
    probe.wait(fault)
    return probe.recovery(fault) is not None


def processor_seconds(pid: int) -> float:
    """What a process has computed since it began."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_workers_have_names_of_their_own(site: RunningSite) -> None:
    with psycopg.connect(site.database_url) as connection:
        found = connection.execute(
            "SELECT count(*) FROM controlplane_heartbeat JOIN pgmq.meta ON queue_name = name"
        ).fetchone()
    assert found == (2,)


def test_a_process_that_starts_again_loads_nothing(site: RunningSite, probe: Probe) -> None:
    """Seconds of processor time without the fork server, and what a machine has least of."""
    for pattern in (WORKER, r"schedweb\.front", r"schedweb\.beat"):
        killed = site.process(pattern)
        os.kill(killed, signal.SIGKILL)
        wait_until(replaced(site, pattern, killed))
        assert recovers(probe)
        assert processor_seconds(site.process(pattern)) < 1.0, pattern


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_processes_start_without_a_fork_server_that_died_or_hangs(
    site: RunningSite, probe: Probe, number: signal.Signals
) -> None:
    server, worker = loaded_server(site), site.process(WORKER)
    os.kill(server, number)
    os.kill(worker, signal.SIGKILL)
    wait_until(replaced(site, WORKER, worker))
    assert recovers(probe)
    wait_until(replaced(site, SERVER, server), seconds=60)
    assert not alive(server)


def test_one_that_hangs_while_nothing_starts_is_replaced(site: RunningSite) -> None:
    server, others = loaded_server(site), {WORKER, r"schedweb\.front", r"schedweb\.beat"}
    before, said = {pattern: site.process(pattern) for pattern in others}, len(site.output)
    os.kill(server, signal.SIGSTOP)
    wait_until(replaced(site, SERVER, server), seconds=60)
    assert "fork-server was stopped by a signal; killing it" in site.output[said:]
    assert before == {pattern: site.process(pattern) for pattern in others}


def test_descendants_that_outlive_their_parent_leave_no_zombie(
    site: RunningSite, probe: Probe
) -> None:
    """The connections of a database that was killed become children of the supervisor."""
    os.kill(site.process("bin/postgres -D"), signal.SIGKILL)
    assert recovers(probe)
    wait_until(lambda: all(alive(pid) for pid in children_of(site.pid)))
