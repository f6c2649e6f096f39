"""Parts are killed and stopped while pods come in: nothing is lost, and nothing happens twice."""

from __future__ import annotations

import os
import random
import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.broker import free_port
from tests.faults.chaos import PROCESSES, Chaos, Fault
from tests.faults.invariants import violations
from tests.faults.load import Client, Poster
from tests.faults.run import run, token_of, wait_until_quiet
from tests.stack.running_site import RunningSite, wait_until

pytestmark = pytest.mark.stack

PODS = {"left": 150, "right": 350}
KILLS = (
    *(Fault(name, signal.SIGKILL, 1) for name in ("worker", "beat", "web", "database")),
    # told to go, in the middle of its work
    Fault("worker", signal.SIGTERM, 1),
)


@pytest.fixture(scope="module")
def house() -> Iterator[RunningSite]:
    with tempfile.TemporaryDirectory(prefix="schedweb-faults-") as folder:
        Path(folder).chmod(0o755)
        house = RunningSite(
            Path(folder),
            SCHEDWEB_ADMIN_PASSWORD="correct horse battery",
            SCHEDWEB_WORKERS="2",
            SCHEDWEB_PORT=str(free_port()),
        )
        house.start()
        yield house
        house.end(signal.SIGTERM)
        house.close()


def rows(house: RunningSite, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(house.database_url) as database:
        return database.execute(statement.encode()).fetchall()


def holders(house: RunningSite) -> dict[str, tuple[str, int]]:
    """Who is at work in the test's clusters just now, and under which epoch."""
    at_work = rows(
        house,
        "SELECT name, holder, epoch FROM controlplane_looplease l "
        "JOIN cluster_cluster c ON c.id = l.cluster_id "
        "WHERE name LIKE 'spread-%' AND expires_at > clock_timestamp()",
    )
    return {name: (holder, epoch) for name, holder, epoch in at_work}


def silent(house: RunningSite) -> str:
    """The worker that has shown no life for longer than any other."""
    return str(
        rows(
            house,
            "SELECT name FROM controlplane_heartbeat WHERE name LIKE 'loop\\_%' "
            "ORDER BY at LIMIT 1",
        )[0][0]
    )


def fill_paused(house: RunningSite, token: str, names: list[str], pods: int) -> list[Poster]:
    """Paused clusters with pods that wait."""
    client = Client(house, token)
    for name in names:
        client.create_cluster(name, nodes=5 + pods // 50, paused=True)
    posters = [Poster(house, token, name, pods, seed) for seed, name in enumerate(names)]
    for poster in posters:
        poster.start()
    for poster in posters:
        poster.join()
    for name in names:
        assert client.ask("POST", f"/api/v1/clusters/{name}/resume") == 200
    client.close()
    return posters


def test_a_worker_that_was_stopped_beyond_its_lease_comes_back_too_late_to_write(
    house: RunningSite,
) -> None:
    """Six busy clusters are spread over two workers; one of them is stopped at work."""
    names = [f"spread-{number}" for number in range(6)]
    posters = fill_paused(house, token_of(house), names, pods=250)
    wait_until(lambda: len({holder for holder, _ in holders(house).values()}) == 2, seconds=60)
    stopped = next(
        pid for pid, line in house.processes().items() if re.search(PROCESSES["worker"], line)
    )
    os.kill(stopped, signal.SIGSTOP)
    before = holders(house)
    try:
        # the other one does it all
        assert wait_until_quiet(house, names) == []
        loser = silent(house)
        assert {holder for holder, _ in before.values()} >= {loser}
        taken_over = [name for name, (holder, _) in before.items() if holder == loser]
        after = {
            name: (holder, epoch)
            for name, holder, epoch in rows(
                house,
                "SELECT name, holder, epoch FROM controlplane_looplease l "
                "JOIN cluster_cluster c ON c.id = l.cluster_id",
            )
        }
        for name in taken_over:
            assert after[name][0] != loser
            assert after[name][1] > before[name][1]
    finally:
        os.kill(stopped, signal.SIGCONT)
    refused = re.compile(r"lease lost: cluster|idle-in-transaction timeout")
    logs = [house.data / "log" / f"worker-{number}.log" for number in (1, 2)]
    wait_until(lambda: any(refused.search(log.read_text()) for log in logs), seconds=60)
    for poster in posters:
        assert violations(house.database_url, poster.cluster, poster.pods) == []


def test_kill_9_of_each_part_loses_nothing_and_does_nothing_twice(
    house: RunningSite, capsys: pytest.CaptureFixture[str]
) -> None:
    """Order and moments are drawn, the seed is printed."""
    seed = random.randrange(10**6)
    token = token_of(house)
    client = Client(house, token)
    for name, pods in PODS.items():
        client.create_cluster(name, nodes=5 + pods // 50)
    client.close()
    said: list[str] = []
    chaos = Chaos(house, seed, KILLS, say=said.append)

    strike = partial(chaos.strike_along, count=len(KILLS))
    outcome = run(house, token, PODS, strike, seed=seed, settle=chaos.settle)
    with capsys.disabled():
        print(f" [seed {seed}, {outcome.seconds:.0f} s: {'; '.join(said)}]", end="")
    assert chaos.done == len(KILLS)
    assert outcome.wrong == []


def test_a_house_that_lost_every_process_at_once_comes_up_with_all_it_had(
    house: RunningSite,
) -> None:
    """Kill -9 of the supervisor: the kernel ends all the others with it."""
    token = token_of(house)
    client = Client(house, token)
    client.create_cluster("all", nodes=5)
    client.close()

    def strike(progress: Callable[[], float]) -> None:
        wait_until(lambda: progress() > 0.4, seconds=60)
        house.end(signal.SIGKILL)
        house.start()

    outcome = run(house, token, {"all": 150}, strike, seed=1)
    assert outcome.wrong == []
    assert outcome.met, "no client noticed"
