"""``make soak``: causes faults at random, then runs a long time with little load.

    python -m tests.faults.soak [--seed N] [--minutes N | --kills N | --runs N] [--pods N] [--apart]
                                [--workers N] [--site embedded|valkey|postgresql|all]
                                [--only FAULT] [--quiet MINUTES]

Prints its actions and results; exits with 1 on any error, and prints the command that repeats the
run. The same seed selects the same faults; their times depend on the machine. Writes the results as
a table and a plot into var/soak.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psycopg

from tests.faults import quiet, report
from tests.faults.broker import NAMES, Broker, find_free_port, find_program
from tests.faults.chaos import (
    BROKER_FAULTS,
    CLOCK_FAULTS,
    DISK_FAULTS,
    FAULTS,
    SERVER_FAULTS,
    Chaos,
    Fault,
)
from tests.faults.clock import Clock
from tests.faults.database import Pair
from tests.faults.disk import SmallDisk
from tests.faults.events import Events
from tests.faults.load import Client
from tests.faults.recovery import CLUSTER, Probe, Struck
from tests.faults.report import Campaign
from tests.faults.run import check_cluster, read_token, run
from tests.faults.upgrades import kill_upgrades
from tests.stack.running_site import ROOT, RunningSite

CLUSTERS = 3
#: Maximum number of faults in one run.
FAULTS_IN_A_RUN = 12
#: Time in which a run creates its pods if its faults come one after another.
SECONDS_APART = 60.0
#: How long the workers of a site may take to start on a busy machine.
WHOLE_SECONDS = 120.0
_WORKERS = (
    "SELECT count(*) FROM controlplane_heartbeat WHERE name LIKE 'loop\\_%' "
    "AND at > clock_timestamp() - interval '3 s'"
)
#: Size of the disk that is filled, in MiB.
DISK = 3000
#: What a site may run on.
KINDS = ("embedded", "valkey", "postgresql")
RESULTS = ROOT / "var" / "soak"


@dataclass
class Beside:
    """What runs beside the site, with the variables by which the site finds it."""

    variables: dict[str, str] = field(default_factory=dict)
    processes: Callable[[], dict[int, str]] = dict
    faults: tuple[Fault, ...] = ()
    fail_over: Callable[[], None] = lambda: None


def main() -> int:
    options = _parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    say(f"seed {options.seed}, {options.workers} workers, {options.pods} pods in a run")
    failed = 0
    campaigns: list[Campaign] = []
    for kind in KINDS if options.site == "all" else (options.site,):
        failed += _run_on(kind, options, campaigns)
        # only on the first kind
        options.quiet = 0
    if campaigns:
        say(f"the report is {report.write(campaigns, RESULTS)}")
    say("no errors" if not failed else f"{failed} errors")
    return 1 if failed else 0


def _run_on(kind: str, options: argparse.Namespace, campaigns: list[Campaign]) -> int:
    """Run all parts on a site of this kind; returns the number of errors."""
    failed = 0
    with _beside(kind) as beside:
        if beside is None:
            return 1
        if options.kills is None or options.kills or options.runs:
            campaigns.append(Campaign(kind))
            failed += cause_faults(options, beside, campaigns[-1])
            if kind == "embedded" and not options.only:
                failed += kill_upgrades(options.seed, say)
        if options.quiet:
            with _site(options, beside) as (site, _, _):
                failed += quiet.soak(site, 60 * options.quiet, say)
    return failed


@contextmanager
def _beside(kind: str) -> Iterator[Beside | None]:
    """What a site of this kind needs beside it; None if it is not installed."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="schedweb-beside-")))
        folder.chmod(0o755)
        if kind == "valkey":
            path = find_program()
            if path is None:
                say(f"!!! NOT TESTED on Valkey: none of {', '.join(NAMES)} is installed !!!")
                yield None
                return
            say(f"the broker is {path}")
            broker = Broker(path, folder)
            stack.callback(broker.stop)
            broker.start()
            variables = {"SCHEDWEB_BROKER_URL": broker.url}
            yield Beside(variables, broker.processes, BROKER_FAULTS)
        elif kind == "postgresql":
            servers = Pair(folder)
            stack.callback(servers.stop)
            servers.start()
            yield Beside(
                {"SCHEDWEB_DATABASE_URL": servers.url},
                servers.processes,
                fail_over=servers.fail_over,
            )
        else:
            yield Beside()


@contextmanager
def _site(
    options: argparse.Namespace, beside: Beside
) -> Iterator[tuple[RunningSite, SmallDisk | None, Clock | None]]:
    """A running site, with a small disk and a clock of its own where the machine allows it."""
    folder = Path(tempfile.mkdtemp(prefix="schedweb-soak-"))
    folder.chmod(0o755)
    disk = SmallDisk(folder / "disk", DISK)
    small = disk.mount()
    variables = dict(zip(("SCHEDWEB_PORT", "SCHEDWEB_TLS_PORT"), _ports(), strict=True))
    variables |= {"SCHEDWEB_WORKERS": str(options.workers), "SCHEDWEB_ADMIN_PASSWORD": "soak"}
    # as `make up`
    variables |= {"SCHEDWEB_WEB_PROCESSES": "2", **beside.variables}
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


def cause_faults(options: argparse.Namespace, beside: Beside, campaign: Campaign) -> int:
    """Run until enough faults have occurred; returns the number of errors."""
    share = len(KINDS) if options.site == "all" else 1
    until = time.monotonic() + 60 * options.minutes / share
    errors = faults = number = 0
    with _site(options, beside) as (site, disk, clock):
        token = read_token(site)
        probe = Probe(site, token)
        events = Events(site, token, clock, beside.fail_over)
        probe.start()
        # the disk and the clock of a database beside the site are not those of the site
        inside = "SCHEDWEB_DATABASE_URL" not in beside.variables
        selected = (FAULTS if inside else SERVER_FAULTS) + beside.faults
        selected += (DISK_FAULTS if disk and inside else ()) + (CLOCK_FAULTS if clock else ())
        if options.only:
            selected = tuple(each for each in selected if str(each) == options.only)
            assert selected, f"--only {options.only}: no such fault on {campaign.kind}"
        for missing, there in (("a small disk", disk), ("C compiler for a clock", clock)):
            if there is None:
                say(f"!!! NOT TESTED on {campaign.kind}: this machine has no {missing} !!!")
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
                    beside.processes,
                    say,
                    events=events.functions(),
                    disk=disk,
                )
                recover = partial(_recover, site, probe, options.workers)
                recover = recover if options.apart else lambda _: None
                strike = partial(chaos.strike_along, count=count, recover=recover)
                found = _run_once(chaos, strike, events, token, options, number, campaign.kind)
                faults += chaos.done
                for struck in chaos.struck:
                    campaign.recoveries[struck.name].append(probe.recovery(struck))
                campaign.outages += probe.outages(chaos.struck)
                campaign.count((struck.name for struck in chaos.struck), len(found))
                campaign.loads.append(os.getloadavg()[0] / (os.cpu_count() or 1))
                if found:
                    say(f"repeat it with: {_command(options, seed, campaign.kind)}")
                errors += len(found)
            probe.stop()
            for text in check_cluster(site, CLUSTER):
                errors += 1
                say(f"    ERROR: {text}")
        finally:
            # also when the campaign is stopped early
            say(f"{campaign.kind}: {faults} faults in {number} runs, {errors} errors")
            say(f"{campaign.conditions()}\n{campaign.table()}")
    return errors


def _recover(site: RunningSite, probe: Probe, workers: int, fault: Struck) -> None:
    """Wait until the site schedules again, and until all of its workers are back."""
    probe.wait(fault)
    deadline = time.monotonic() + WHOLE_SECONDS
    while time.monotonic() < deadline:
        try:
            with psycopg.connect(site.database_url, connect_timeout=5) as database:
                if database.execute(_WORKERS).fetchall()[0][0] >= workers:
                    return
        except (psycopg.OperationalError, OSError):
            # it is being started
            pass
        time.sleep(0.5)


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
        f"--workers {options.workers} --site {kind} --quiet 0"
        f"{' --apart' if options.apart else ''}"
        f"{f' --only {shlex.quote(options.only)}' if options.only else ''}"
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
    parser.add_argument("--only", metavar="FAULT", help='such as "SIGSTOP of worker"')
    parser.add_argument("--workers", type=int, default=number("WORKERS", 3))
    parser.add_argument(
        "--quiet", type=float, default=float(environ.get("SOAK_QUIET") or 10), metavar="MINUTES"
    )
    parser.add_argument(
        "--site",
        choices=(*KINDS, "all"),
        default=environ.get("SOAK_SITE") or "all",
    )
    return parser.parse_args()


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
