"""``make soak``: kills and stops processes at random, then runs a long time with little load.

    python -m tests.faults.soak [--seed N] [--kills N] [--pods N] [--workers N]
                                [--broker embedded|valkey|both] [--quiet MINUTES]

Prints its actions and results; exits with 1 on any error. The same seed selects the same faults;
their times depend on the machine.
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
from tests.faults.broker import NAMES, Broker, find_free_port, find_program
from tests.faults.chaos import BROKER_FAULTS, FAULTS, Chaos
from tests.faults.load import Client
from tests.faults.run import read_token, run
from tests.stack.running_site import RunningSite

CLUSTERS = 3
#: Maximum number of faults in one run.
FAULTS_IN_A_RUN = 12


def main() -> int:
    options = _parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    say(f"seed {options.seed}, {options.workers} workers, {options.pods} pods in a run")
    failed = 0
    for kind in ("embedded", "valkey") if options.broker == "both" else (options.broker,):
        failed += _run_on_broker(kind, options)
        # only on the first broker
        options.quiet = 0
    say("no errors" if not failed else f"{failed} errors")
    return 1 if failed else 0


def _run_on_broker(kind: str, options: argparse.Namespace) -> int:
    """Run all parts on one broker; returns the number of errors."""
    if kind == "embedded":
        return _run_parts(kind, options, None)
    path = find_program()
    if path is None:
        say(f"!!! NOT TESTED on Valkey: none of {', '.join(NAMES)} is installed !!!")
        return 1
    say(f"the broker is {path}")
    with tempfile.TemporaryDirectory(prefix="schedweb-broker-") as folder:
        broker = Broker(path, Path(folder))
        broker.start()
        try:
            return _run_parts(kind, options, broker)
        finally:
            broker.stop()


def _run_parts(kind: str, options: argparse.Namespace, broker: Broker | None) -> int:
    failed = 0
    if options.kills:
        failed += _run_on_site(
            options, broker, lambda site: cause_faults(site, options, broker, kind)
        )
    if options.quiet:
        failed += _run_on_site(
            options, broker, lambda site: quiet.soak(site, 60 * options.quiet, say)
        )
    return failed


def _run_on_site(
    options: argparse.Namespace, broker: Broker | None, part: Callable[[RunningSite], int]
) -> int:
    folder = tempfile.mkdtemp(prefix="schedweb-soak-")
    Path(folder).chmod(0o755)
    ports = [str(find_free_port()) for _ in range(2)]
    variables = {"SCHEDWEB_PORT": ports[0], "SCHEDWEB_TLS_PORT": ports[1]}
    variables |= {"SCHEDWEB_WORKERS": str(options.workers), "SCHEDWEB_ADMIN_PASSWORD": "soak"}
    if broker is not None:
        variables["SCHEDWEB_BROKER_URL"] = broker.url
    site = RunningSite(Path(folder), **variables)
    say(f"data and logs are in {folder}")
    try:
        site.start()
        failed = part(site)
    finally:
        site.end(signal.SIGTERM)
        site.close()
    if not failed:
        shutil.rmtree(folder)
    return failed


def cause_faults(
    site: RunningSite, options: argparse.Namespace, broker: Broker | None, kind: str
) -> int:
    """Run until enough faults have occurred; returns the number of errors."""
    token = read_token(site)
    faults = FAULTS + (BROKER_FAULTS if broker else ())
    others = broker.processes if broker else dict[int, str]
    chaos = Chaos(site, options.seed, faults, others, say)
    errors: list[str] = []
    number = 0
    while chaos.done < options.kills:
        number += 1
        clusters = _create_clusters(Client(site, token), number, options.pods)
        count = min(FAULTS_IN_A_RUN, options.kills - chaos.done)
        outcome = run(
            site,
            token,
            clusters,
            partial(chaos.strike_along, count=count),
            seed=options.seed + number,
            settle=chaos.settle,
        )
        found = [*chaos.errors, *outcome.errors]
        chaos.errors.clear()
        errors += found
        say(
            f"run {number} on {kind}: {outcome.pods} pods in {outcome.seconds:.0f} s, "
            f"{chaos.done} faults so far; client failures {dict(outcome.failures)}, "
            f"{outcome.reconnects} watches reconnected"
        )
        for text in found:
            say(f"    ERROR: {text}")
        if not found:
            _delete_clusters(Client(site, token), clusters)
    return len(errors)


def _delete_clusters(client: Client, clusters: Iterable[str]) -> None:
    for name in clusters:
        client.send("DELETE", f"/api/v1/clusters/{name}")
    client.close()


def _create_clusters(client: Client, number: int, pods: int) -> dict[str, int]:
    """Create clusters of different sizes; returns the number of pods for each."""
    shares = [pods * (place + 1) // (CLUSTERS * (CLUSTERS + 1) // 2) for place in range(CLUSTERS)]
    shares[-1] += pods - sum(shares)
    clusters = {f"soak-{number}-{place}": share for place, share in enumerate(shares)}
    for name, share in clusters.items():
        client.create_cluster(name, nodes=10 + share // 60)
    client.close()
    return clusters


def _parse_options() -> argparse.Namespace:
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
