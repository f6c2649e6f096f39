"""``make soak``: kills and stops at random moments, and a long quiet time, on both brokers.

    python -m tests.faults.soak [--seed N] [--kills N] [--pods N] [--workers N]
                                [--broker embedded|valkey|both] [--quiet MINUTES]

Prints what it does and what it finds; the exit code is 1 when anything was wrong. The same seed
draws the same faults; when they strike depends on the machine.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from tests.faults import quiet
from tests.faults.broker import NAMES, Broker, free_port, program
from tests.faults.chaos import BROKER_FAULTS, FAULTS, Chaos
from tests.faults.load import Client
from tests.faults.run import run, token_of
from tests.stack.running_site import RunningSite

CLUSTERS = 3
#: Faults in one run, at most; enough runs follow.
FAULTS_IN_A_RUN = 12


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    say(f"seed {options.seed}, {options.workers} workers, {options.pods} pods in a run")
    failed = 0
    for kind in ("embedded", "valkey") if options.broker == "both" else (options.broker,):
        failed += _on_broker(kind, options)
        # once is enough, on the first of them
        options.quiet = 0
    say("everything held" if not failed else f"{failed} times something did not hold")
    return 1 if failed else 0


def _on_broker(kind: str, options: argparse.Namespace) -> int:
    """All parts on one broker; how often something was wrong."""
    if kind == "embedded":
        return _parts(kind, options, None)
    found = program()
    if found is None:
        say(f"!!! NOT TESTED on Valkey: none of {', '.join(NAMES)} is installed !!!")
        return 1
    say(f"the broker is {found}")
    with tempfile.TemporaryDirectory(prefix="schedweb-broker-") as folder:
        broker = Broker(found, Path(folder))
        broker.start()
        try:
            return _parts(kind, options, broker)
        finally:
            broker.stop()


def _parts(kind: str, options: argparse.Namespace, broker: Broker | None) -> int:
    failed = 0
    if options.kills:
        failed += _with_house(options, broker, lambda house: kills(house, options, broker, kind))
    if options.quiet:
        failed += _with_house(
            options, broker, lambda house: quiet.soak(house, 60 * options.quiet, say)
        )
    return failed


def _with_house(
    options: argparse.Namespace, broker: Broker | None, part: Callable[[RunningSite], int]
) -> int:
    folder = tempfile.mkdtemp(prefix="schedweb-soak-")
    Path(folder).chmod(0o755)
    ports = [str(free_port()) for _ in range(2)]
    variables = {"SCHEDWEB_PORT": ports[0], "SCHEDWEB_TLS_PORT": ports[1]}
    variables |= {"SCHEDWEB_WORKERS": str(options.workers), "SCHEDWEB_ADMIN_PASSWORD": "soak"}
    if broker is not None:
        variables["SCHEDWEB_BROKER_URL"] = broker.url
    house = RunningSite(Path(folder), **variables)
    say(f"data and logs are in {folder}")
    try:
        house.start()
        failed = part(house)
    finally:
        house.end(signal.SIGTERM)
        house.close()
    if not failed:
        shutil.rmtree(folder)
    return failed


def kills(house: RunningSite, options: argparse.Namespace, broker: Broker | None, kind: str) -> int:
    """Runs until enough faults have struck; how often something was wrong."""
    token = token_of(house)
    faults = FAULTS + (BROKER_FAULTS if broker else ())
    others = broker.processes if broker else dict[int, str]
    chaos = Chaos(house, options.seed, faults, others, say)
    wrong: list[str] = []
    number = 0
    while chaos.done < options.kills:
        number += 1
        clusters = _make_clusters(Client(house, token), number, options.pods)
        count = min(FAULTS_IN_A_RUN, options.kills - chaos.done)
        outcome = run(
            house,
            token,
            clusters,
            partial(chaos.strike_along, count=count),
            seed=options.seed + number,
            settle=chaos.settle,
        )
        found = [*chaos.wrong, *outcome.wrong]
        chaos.wrong.clear()
        wrong += found
        say(
            f"run {number} on {kind}: {outcome.pods} pods in {outcome.seconds:.0f} s, "
            f"{chaos.done} faults so far; clients met {dict(outcome.met)}, "
            f"watches began again {outcome.reconnects} times"
        )
        for text in found:
            say(f"    WRONG: {text}")
        if not found:
            _delete_clusters(Client(house, token), clusters)
    return len(wrong)


def _delete_clusters(client: Client, clusters: Iterable[str]) -> None:
    for name in clusters:
        client.ask("DELETE", f"/api/v1/clusters/{name}")
    client.close()


def _make_clusters(client: Client, number: int, pods: int) -> dict[str, int]:
    """Clusters of different sizes, and how many pods each of them will get."""
    shares = [pods * (place + 1) // (CLUSTERS * (CLUSTERS + 1) // 2) for place in range(CLUSTERS)]
    shares[-1] += pods - sum(shares)
    clusters = {f"soak-{number}-{place}": share for place, share in enumerate(shares)}
    for name, share in clusters.items():
        client.create_cluster(name, nodes=10 + share // 60)
    client.close()
    return clusters


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak")
    environ = os.environ

    def number(name: str, default: int) -> int:
        return int(environ.get(f"SOAK_{name}") or default)

    parser.add_argument("--seed", type=int, default=number("SEED", random.randrange(10**6)))
    parser.add_argument("--kills", type=int, default=number("KILLS", 50))
    parser.add_argument("--pods", type=int, default=number("PODS", 5000))
    parser.add_argument("--workers", type=int, default=number("WORKERS", 3))
    parser.add_argument(
        "--quiet", type=float, default=float(environ.get("SOAK_QUIET") or 10), metavar="MINUTES"
    )
    parser.add_argument(
        "--broker",
        choices=("embedded", "valkey", "both"),
        default=environ.get("SOAK_BROKER") or "both",
    )
    return parser.parse_args()


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
