"""A long run with little load: memory, processor time and backlog must not grow."""

from __future__ import annotations

import os
import re
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.faults.load import Client
from tests.faults.run import read_token
from tests.stack.running_site import RunningSite

CLUSTERS = 100
#: Number of clusters in which a pod is created and one deleted, and the interval.
BUSY, EVERY_SECONDS = 3, 2.0
PODS_AT_ONCE = 30
SAMPLE_SECONDS = 10.0

#: Allowed growth from the first to the last third of the run.
LARGER_MEMORY, LARGER_CPU, CPU_NOISE = 1.05, 1.25, 0.03
MEMORY_NOISE = 6 * 2**20
#: Maximum number of waiting messages.
LONGEST_BACKLOG = 60

_PARTS = {"web": r"schedweb\.front", "worker": r"schedweb\.worker", "beat": r"schedweb\.beat"}
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Sample:
    """The resource usage of the processes at one time."""

    at: float
    #: bytes of private memory, by process
    memory: dict[str, int]
    #: CPU seconds since the start, by part; for the database including ended processes
    cpu: dict[str, float]
    backlog: int
    transactions: int
    connections: int


def soak(site: RunningSite, seconds: float, say: Callable[[str], None]) -> int:
    """Measure a site with many quiet clusters; returns the number of violations."""
    token = read_token(site)
    client = Client(site, token)
    for number in range(CLUSTERS):
        client.create_cluster(f"quiet-{number}", nodes=5)
    client.close()
    done = threading.Event()
    busy = [
        threading.Thread(target=_keep_busy, args=(site, token, f"quiet-{number}", done))
        for number in range(BUSY)
    ]
    for thread in busy:
        thread.start()
    say(f"{CLUSTERS} clusters, {BUSY} of them with a new pod every {EVERY_SECONDS:.0f} s")
    # the engines of all clusters are built in the meantime
    time.sleep(min(120.0, seconds / 4))
    samples = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        samples.append(_sample(site))
        time.sleep(min(SAMPLE_SECONDS, seconds / 12))
    done.set()
    for thread in busy:
        thread.join()
    return _judge(samples, say)


def _keep_busy(site: RunningSite, token: str, cluster: str, done: threading.Event) -> None:
    client = Client(site, token)
    path = f"/k8s/{cluster}/api/v1/namespaces/default/pods"
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}
    number = 0
    while not done.wait(EVERY_SECONDS):
        body = {"metadata": {"name": f"p{number}"}, "spec": {"containers": [container]}}
        client.send("POST", path, body)
        if number >= PODS_AT_ONCE:
            options = {"gracePeriodSeconds": 0}
            client.send("DELETE", f"{path}/p{number - PODS_AT_ONCE}", options)
        number += 1
    client.close()


def _sample(site: RunningSite) -> Sample:
    processes = site.processes()
    memory: dict[str, int] = {}
    cpu = dict.fromkeys(("web", "worker", "beat", "database"), 0.0)
    for pid, line in processes.items():
        part = next((p for p, pattern in _PARTS.items() if re.search(pattern, line)), "")
        if part:
            memory[f"{part} {pid}"] = _private_bytes(pid)
            cpu[part] += _cpu_seconds(pid)
        elif "bin/postgres -D" in line:
            cpu["database"] += _cpu_seconds(pid, ended=True)
        elif line.startswith("postgres:"):
            cpu["database"] += _cpu_seconds(pid)
    return Sample(time.monotonic(), memory, cpu, *_database(site))


def _database(site: RunningSite) -> tuple[int, int, int]:
    """Waiting messages, transactions since the start, connections."""
    with psycopg.connect(site.database_url, autocommit=True) as database:

        def ask(statement: str) -> Any:
            return database.execute(statement.encode()).fetchall()[0][0]

        transactions = ask("SELECT xact_commit FROM pg_stat_database WHERE datname = 'schedweb'")
        connections = ask("SELECT count(*) FROM pg_stat_activity WHERE datname = 'schedweb'")
        queues = "SELECT coalesce(sum(queue_length), 0)::int FROM pgmq.metrics_all()"
        broker = site.environment.get("SCHEDWEB_BROKER_URL")
        backlog = _backlog(broker) if broker else ask(queues)
    return backlog, transactions, connections


def _backlog(url: str) -> int:
    import redis

    with redis.Redis.from_url(url) as server:
        names = [b"schedweb", *server.scan_iter("loop_*", _type="list")]
        return sum(server.llen(name) for name in names) + server.hlen("unacked")


def _judge(samples: list[Sample], say: Callable[[str], None]) -> int:
    third = max(2, len(samples) // 3)
    first, last = samples[:third], samples[-third:]
    errors = []
    for name in samples[-1].memory:
        before, after = (
            statistics.median(sample.memory.get(name, 0) for sample in part)
            for part in (first, last)
        )
        say(f"memory of {name}: {before / 2**20:.0f} MB, then {after / 2**20:.0f} MB")
        if after > before * LARGER_MEMORY + MEMORY_NOISE:
            errors.append(f"the memory of {name} has grown")
    for name in samples[-1].cpu:
        before, after = _share(first, name), _share(last, name)
        say(f"processor of {name}: {before:.1%} of one, then {after:.1%}")
        if after > before * LARGER_CPU + CPU_NOISE:
            errors.append(f"the processor time of {name} has grown")
    backlog = max(sample.backlog for sample in samples)
    a, b = samples[0], samples[-1]
    rate = (b.transactions - a.transactions) / (b.at - a.at)
    say(
        f"messages waiting: {backlog} at most; transactions of the database: {rate:.0f}/s; "
        f"connections: {a.connections}, then {b.connections}"
    )
    if backlog > LONGEST_BACKLOG:
        errors.append("the backlog of messages is too long")
    if b.connections > a.connections + 10:
        errors.append("the number of database connections has grown")
    if set(a.memory) != set(b.memory):
        errors.append("a process has ended")
    for text in errors:
        say(f"    ERROR: {text}")
    return len(errors)


def _share(samples: list[Sample], name: str) -> float:
    """Processor time of a part per second."""
    first, last = samples[0], samples[-1]
    return (last.cpu[name] - first.cpu[name]) / (last.at - first.at)


def _private_bytes(pid: int) -> int:
    resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
    return (int(resident) - int(shared)) * _PAGE


def _cpu_seconds(pid: int, *, ended: bool = False) -> float:
    """User and system time; with `ended`, including child processes that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11 : 15 if ended else 13]) / _TICK
