"""``make soak``: causes faults at random, then runs a long time with little load.

    python -m tests.faults.soak [--seed N] [--minutes N | --kills N | --runs N] [--pods N] [--apart]
                                [--workers N] [--broker embedded|valkey|both] [--quiet MINUTES]

Prints its actions and results; exits with 1 on any error, and prints the command that repeats the
run. The same seed selects the same faults; their times depend on the machine.
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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.faults import quiet
from tests.faults.broker import NAMES, Broker, find_free_port, find_program
from tests.faults.chaos import BROKER_FAULTS, CLOCK_FAULTS, DISK_FAULTS, FAULTS, Chaos
from tests.faults.clock import Clock
from tests.faults.disk import SmallDisk
from tests.faults.events import Events
from tests.faults.load import Client
from tests.faults.recovery import CLUSTER, Probe, Times, summarize
from tests.faults.run import check_cluster, read_token, run
from tests.faults.upgrades import kill_upgrades
from tests.stack.running_site import RunningSite

CLUSTERS = 3
#: Maximum number of faults in one run.
FAULTS_IN_A_RUN = 12
#: Time in which a run creates its pods if its faults come one after another.
SECONDS_APART = 60.0
#: Size of the disk that is filled, in MiB.
DISK = 3000


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
    if options.kills is None or options.kills or options.runs:
        failed += cause_faults(options, broker, kind)
        if broker is None:
            failed += kill_upgrades(options.seed, say)
    if options.quiet:
        with _site(options, broker) as (site, _, _):
            failed += quiet.soak(site, 60 * options.quiet, say)
    return failed


@contextmanager
def _site(
    options: argparse.Namespace, broker: Broker | None
) -> Iterator[tuple[RunningSite, SmallDisk | None, Clock | None]]:
    """A running site, with a small disk and a clock of its own where the machine allows it."""
    folder = Path(tempfile.mkdtemp(prefix="schedweb-soak-"))
    folder.chmod(0o755)
    disk = SmallDisk(folder / "disk", DISK)
    small = disk.mount()
    variables = dict(zip(("SCHEDWEB_PORT", "SCHEDWEB_TLS_PORT"), _ports(), strict=True))
    variables |= {"SCHEDWEB_WORKERS": str(options.workers), "SCHEDWEB_ADMIN_PASSWORD": "soak"}
    if broker is not None:
        variables["SCHEDWEB_BROKER_URL"] = broker.url
    clock = Clock(folder)
    if has_clock := clock.build():
        variables |= clock.variables()
    data = folder / "disk" / "data"
    data.mkdir(parents=True)
    site = RunningSite(data, **variables)
    say(f"data and logs are in {data}")
    try:
        site.start()
        yield site, disk if small else None, clock if has_clock else None
    finally:
        site.end(signal.SIGTERM)
        site.close()
        if small:
            shutil.copytree(data / "log", folder / "log", dirs_exist_ok=True)
            disk.unmount()


def _ports() -> tuple[str, str]:
    return str(find_free_port()), str(find_free_port())


def cause_faults(options: argparse.Namespace, broker: Broker | None, kind: str) -> int:
    """Run until enough faults have occurred; returns the number of errors."""
    until = time.monotonic() + 60 * options.minutes / (2 if options.broker == "both" else 1)
    errors = faults = number = 0
    times: Times = defaultdict(list)
    outages: list[float | None] = []
    with _site(options, broker) as (site, disk, clock):
        token = read_token(site)
        events = Events(site, token, clock)
        probe = Probe(site, token)
        probe.start()
        selected = FAULTS + (BROKER_FAULTS if broker else ())
        selected += (DISK_FAULTS if disk else ()) + (CLOCK_FAULTS if clock else ())
        for missing, there in (("a small disk", disk), ("C compiler for a clock", clock)):
            if there is None:
                say(f"!!! NOT TESTED on {kind}: this machine has no {missing} !!!")
        try:
            while not _is_done(options, number, faults, until):
                seed = options.seed + number
                number += 1
                count = FAULTS_IN_A_RUN
                if options.kills is not None:
                    count = min(count, options.kills - faults)
                chaos = Chaos(
                    site,
                    seed,
                    selected,
                    broker.processes if broker else dict,
                    say,
                    events=events.functions(),
                    disk=disk,
                )
                recover = probe.wait if options.apart else lambda _: None
                strike = partial(chaos.strike_along, count=count, recover=recover)
                found = _run_once(chaos, strike, events, token, options, number, kind)
                faults += chaos.done
                for struck in chaos.struck:
                    times[struck.name].append(probe.recovery(struck))
                outages += probe.outages(chaos.struck)
                if found:
                    say(f"repeat it with: {_command(options, seed, kind)}")
                errors += len(found)
            probe.stop()
            for text in check_cluster(site, CLUSTER):
                errors += 1
                say(f"    ERROR: {text}")
        finally:
            # also when the campaign is stopped early
            say(f"{kind}: {faults} faults in {number} runs, {errors} errors")
            for line in summarize(times, outages):
                say(line)
    return errors


def _is_done(options: argparse.Namespace, number: int, faults: int, until: float) -> bool:
    if options.runs:
        return bool(number >= options.runs)
    if options.kills is not None:
        return bool(faults >= options.kills)
    return time.monotonic() > until


def _run_once(
    chaos: Chaos,
    strike: Callable[[Callable[[], float]], None],
    events: Events,
    token: str,
    options: argparse.Namespace,
    number: int,
    kind: str,
) -> list[str]:
    """One run with new clusters; returns its errors."""
    clusters = _create_clusters(Client(chaos.site, token), number, options.pods)
    outcome = run(
        chaos.site,
        token,
        clusters,
        strike,
        seed=chaos.seed,
        settle=chaos.settle,
        seconds=SECONDS_APART if options.apart else 0.0,
    )
    found = [*chaos.errors, *outcome.errors, *events.check()]
    say(
        f"run {number} on {kind}, seed {chaos.seed}: {outcome.pods} pods in "
        f"{outcome.seconds:.0f} s, {chaos.done} faults; client failures {dict(outcome.failures)}, "
        f"{outcome.reconnects} watches reconnected"
    )
    for text in found:
        say(f"    ERROR: {text}")
    if not found:
        _delete_clusters(Client(chaos.site, token), clusters)
    return found


def _command(options: argparse.Namespace, seed: int, kind: str) -> str:
    return (
        f"python -m tests.faults.soak --seed {seed} --runs 1 --pods {options.pods} "
        f"--workers {options.workers} --broker {kind} --quiet 0"
        f"{' --apart' if options.apart else ''}"
    )


def _delete_clusters(client: Client, clusters: Iterable[str]) -> None:
    for name in clusters:
        client.send("DELETE", f"/api/v1/clusters/{name}?with_history=true")
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
    kills = environ.get("SOAK_KILLS")
    parser.add_argument("--minutes", type=float, default=float(environ.get("SOAK_MINUTES") or 60))
    parser.add_argument("--kills", type=int, default=int(kills) if kills else None)
    parser.add_argument("--runs", type=int, default=number("RUNS", 0))
    parser.add_argument("--pods", type=int, default=number("PODS", 5000))
    parser.add_argument(
        "--apart", action="store_true", help="cause a fault when the site has recovered"
    )
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
