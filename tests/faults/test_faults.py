"""Processes are killed and stopped while pods are created: nothing is lost or done twice."""

from __future__ import annotations

import os
import random
import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.broker import find_free_port
from tests.faults.chaos import PROCESSES, Chaos, Fault
from tests.faults.invariants import find_violations
from tests.faults.load import Client, Poster
from tests.faults.run import read_token, run, wait_until_quiet
from tests.stack.running_site import RunningSite, wait_until

pytestmark = pytest.mark.stack

PODS = {"left": 150, "right": 350}
KILLS = (
    *(Fault(name, signal.SIGKILL, 1) for name in ("worker", "beat", "web", "database")),
    # stopped during its work; the database would wait for its clients to leave
    *(Fault(name, signal.SIGTERM, 1) for name in ("worker", "database")),
)


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        site = RunningSite(
            Path(folder),
            SCHEDWEB_ADMIN_PASSWORD="correct horse battery",
            SCHEDWEB_WORKERS="2",
            SCHEDWEB_PORT=str(find_free_port()),
        )
        site.start()
        yield site
        site.end(signal.SIGTERM)
        site.close()


def query(site: RunningSite, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(site.database_url) as database:
        return database.execute(statement.encode()).fetchall()


def holders(site: RunningSite) -> dict[str, tuple[str, int]]:
    """Which worker holds the leases of the test's clusters, and under which epoch."""
    at_work = query(
        site,
        "SELECT name, holder, epoch FROM controlplane_looplease l "
        "JOIN cluster_cluster c ON c.id = l.cluster_id "
        "WHERE name LIKE 'spread-%' AND expires_at > clock_timestamp()",
    )
    return {name: (holder, epoch) for name, holder, epoch in at_work}


def find_silent_worker(site: RunningSite) -> str:
    """The worker with the oldest heartbeat."""
    return str(
        query(
            site,
            "SELECT name FROM controlplane_heartbeat WHERE name LIKE 'loop\\_%' "
            "ORDER BY at LIMIT 1",
        )[0][0]
    )


def fill_paused(site: RunningSite, token: str, names: list[str], pods: int) -> list[Poster]:
    """Create paused clusters with pending pods, then resume them."""
    client = Client(site, token)
    for name in names:
        client.create_cluster(name, nodes=5 + pods // 50, paused=True)
    posters = [Poster(site, token, name, pods, seed) for seed, name in enumerate(names)]
    for poster in posters:
        poster.start()
    for poster in posters:
        poster.join()
    for name in names:
        assert client.send("POST", f"/api/v1/clusters/{name}/resume") == 200
    client.close()
    return posters


def test_a_worker_that_was_stopped_beyond_its_lease_cannot_write(
    site: RunningSite,
) -> None:
    """Six busy clusters are spread over two workers; one of them is stopped."""
    names = [f"spread-{number}" for number in range(6)]
    posters = fill_paused(site, read_token(site), names, pods=250)
    wait_until(lambda: len({holder for holder, _ in holders(site).values()}) == 2, seconds=60)
    stopped = next(
        pid for pid, line in site.processes().items() if re.search(PROCESSES["worker"], line)
    )
    # the supervisor would kill it before long
    os.kill(site.pid, signal.SIGSTOP)
    os.kill(stopped, signal.SIGSTOP)
    before = holders(site)
    try:
        # the other worker does all the work
        assert wait_until_quiet(site, names) == []
        loser = find_silent_worker(site)
        assert {holder for holder, _ in before.values()} >= {loser}
        taken_over = [name for name, (holder, _) in before.items() if holder == loser]
        after = {
            name: (holder, epoch)
            for name, holder, epoch in query(
                site,
                "SELECT name, holder, epoch FROM controlplane_looplease l "
                "JOIN cluster_cluster c ON c.id = l.cluster_id",
            )
        }
        for name in taken_over:
            assert after[name][0] != loser
            assert after[name][1] > before[name][1]
    finally:
        os.kill(stopped, signal.SIGCONT)
        os.kill(site.pid, signal.SIGCONT)
    # it is at work again, and wrote nothing that belongs to the other one
    wait_until(lambda: find_silent_worker(site) != loser, seconds=60)
    for poster in posters:
        assert find_violations(site.database_url, poster.cluster, poster.pods) == []


def test_workers_that_hang_are_killed(site: RunningSite) -> None:
    """Nobody is left who could take over; the supervisor says why it kills them."""
    token = read_token(site)
    client = Client(site, token)
    client.create_cluster("hanging", nodes=2)
    poster = Poster(site, token, "hanging", 1, seed=1)
    workers = [
        pid for pid, line in site.processes().items() if re.search(PROCESSES["worker"], line)
    ]
    said = len(site.output)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    poster.run()
    assert wait_until_quiet(site, ["hanging"]) == []
    assert not {*workers} & {*site.processes()}
    for number in (1, 2):
        why = f"worker-{number} was stopped by a signal; killing it"
        assert why in site.output[said:]
    assert find_violations(site.database_url, "hanging", poster.pods) == []
    client.close()


def test_the_password_of_the_first_user_is_in_no_process(site: RunningSite) -> None:
    for pid, line in site.processes().items():
        # backends of the database come and go
        with suppress(ProcessLookupError, FileNotFoundError):
            assert b"correct horse" not in Path(f"/proc/{pid}/environ").read_bytes(), line


def test_kill_9_of_each_part_loses_nothing_and_does_nothing_twice(
    site: RunningSite, capsys: pytest.CaptureFixture[str]
) -> None:
    """Order and times are random; the seed is printed."""
    seed = random.randrange(10**6)
    token = read_token(site)
    client = Client(site, token)
    for name, pods in PODS.items():
        client.create_cluster(name, nodes=5 + pods // 50)
    client.close()
    said: list[str] = []
    chaos = Chaos(site, seed, KILLS, say=said.append)

    strike = partial(chaos.strike_along, count=len(KILLS))
    outcome = run(site, token, PODS, strike, seed=seed, settle=chaos.settle)
    with capsys.disabled():
        print(f" [seed {seed}, {outcome.seconds:.0f} s: {'; '.join(said)}]", end="")
    assert chaos.done == len(KILLS)
    assert outcome.errors == []


def test_a_site_that_lost_all_processes_at_once_restarts_with_all_data(site: RunningSite) -> None:
    """Kill -9 of the supervisor: the kernel ends all other processes with it."""
    token = read_token(site)
    client = Client(site, token)
    client.create_cluster("all", nodes=5)
    client.close()

    def strike(progress: Callable[[], float]) -> None:
        wait_until(lambda: progress() > 0.4, seconds=60)
        site.end(signal.SIGKILL)
        site.start()

    outcome = run(site, token, {"all": 150}, strike, seed=1)
    assert outcome.errors == []
    assert outcome.failures, "no client had a failure"
