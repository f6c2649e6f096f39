"""`make bench-pages`: the response time of every page and main list on a large site.

Creates a cluster of 5,000 nodes and 20,000 pods with 100,000 rows in its ledger in a temporary
PostgreSQL. `--decided` pods are scheduled, with their events and changes; the others are created on
their nodes. The rows of the ledger are those of the scheduled pods, repeated under other names.
Then a logged-in client requests each page from one web process of the real stack, over one
connection. Queries are counted separately, in this process. The CPU time (web and database
together) is more reliable than the wall clock on a shared machine.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

from bench.ledger import database

#: limit for the median of every page
TARGET_MS = 200
_BATCH = 1000
#: uid of the ReplicaSet whose pods run
_RUN = "5f0c6e4e-4b8e-4f7e-9b0a-2d1f6c3a7e11"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--decided", type=int, default=1500, help="pods to schedule")
    parser.add_argument("--ledger", type=int, default=100_000, help="rows of the ledger")
    parser.add_argument("--times", type=int, default=15, help="requests of each page")
    parser.add_argument("--only", default="", help="pages whose name matches this expression")
    options = parser.parse_args()
    os.environ["SCHEDWEB_VERBOSITY"] = "0"
    with database():
        cluster = build(options.nodes, options.pods, options.decided, options.ledger)
        from bench import addresses

        paths = {**addresses.pages(cluster), **addresses.lists(cluster)}
        chosen = {name: path for name, path in paths.items() if re.search(options.only, name)}
        with web() as port:
            measure(chosen, port, options.times)


def build(nodes: int, pods: int, decided: int, ledger: int) -> Any:
    """Create the cluster; prints each step with its time."""
    from django.contrib.auth.models import User

    from apps.administration.clusters import lifecycle
    from apps.cluster.models import Cluster, Node
    from apps.cluster.writes import Actor
    from apps.engine.loop.engines import Engines
    from bench import addresses
    from schedweb import broker

    actor = Actor(User.objects.create_superuser("bench").username)
    broker.install()
    cluster = lifecycle.create_cluster("large", user="bench", nodes=nodes, zones=5, paused=True)
    print_step(f"{nodes} nodes")
    names = list(Node.objects.filter(cluster=cluster).values_list("name", flat=True))
    create_pods(cluster, [running_pod(n, names[n % nodes]) for n in range(pods - decided)], actor)
    print_step(f"{pods - decided} pods on nodes")
    create_pods(cluster, [pending_pod(number) for number in range(decided)], actor)
    Cluster.objects.filter(pk=cluster.pk).update(paused=False, controllers=False, kubelet=False)
    engines = Engines()
    while engines.run(cluster.pk):
        pass
    Cluster.objects.filter(pk=cluster.pk).update(paused=True)
    print_step(f"{decided} pods scheduled")
    addresses.furnish(cluster, actor)
    repeat_ledger(cluster, ledger)
    finish(cluster)
    print_step(f"{ledger} rows in the ledger")
    return cluster


def create_pods(cluster: Any, bodies: list[dict[str, Any]], actor: Any) -> None:
    from apps.cluster import kinds
    from apps.cluster.writes import Create
    from apps.cluster.writing import store

    for start in range(0, len(bodies), _BATCH):
        batch = [Create(kinds.POD, b, "default") for b in bodies[start : start + _BATCH]]
        store.write(cluster, batch, actor=actor)


def running_pod(number: int, node: str) -> dict[str, Any]:
    """A running pod of a ReplicaSet, which a drain of its node moves."""
    body = pod(f"run-{number:05}", "100m")
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "run", "controller": True}
    body["metadata"]["ownerReferences"] = [{**owner, "uid": _RUN}]
    body["spec"]["nodeName"] = node
    return body


def pending_pod(number: int) -> dict[str, Any]:
    """One of twenty pods fits on no node, one is gated; the others are bound."""
    body = pod(f"app-{number:05}", "900" if number % 20 == 7 else "250m")
    if number % 20 == 9:
        body["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
    return body


def pod(name: str, cpu: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    container = {"name": "main", "image": "example/main:1", "resources": resources}
    labels = {"app": name.split("-")[0], "shard": name[-2:]}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [container]}}


def repeat_ledger(cluster: Any, wanted: int) -> None:
    """Repeat rows of the ledger for other pods and earlier times, up to this number."""
    from django.db import connection

    from apps.engine.models import SchedulingDecision

    table = SchedulingDecision._meta.db_table
    changed = {
        "pod_uid": "gen_random_uuid()",
        "name": "d.name || '-' || turn",
        "at": "d.at - turn * interval '1 minute'",
    }
    names = [f.column for f in SchedulingDecision._meta.concrete_fields if f.column != "id"]
    values = ", ".join(changed.get(name, f"d.{name}") for name in names)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        turns = wanted // max(1, cursor.fetchone()[0])
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table} d, "
            "generate_series(1, %s) turn WHERE d.cluster_id = %s ORDER BY turn, d.id",
            [max(0, turns - 1), cluster.pk],
        )


def finish(cluster: Any) -> None:
    """Mark bound pods as running, and update the statistics of the database."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE cluster_pod SET phase = 'Running', "
            "body = jsonb_set(body, '{status,phase}', '\"Running\"') "
            "WHERE cluster_id = %s AND node_name <> ''",
            [cluster.pk],
        )
        cursor.execute("VACUUM ANALYZE")


@contextmanager
def web() -> Iterator[int]:
    """Run a web process on the database of this process; yields its http port."""
    with socket.socket() as free, socket.socket() as free_tls:
        for each in (free, free_tls):
            each.bind(("127.0.0.1", 0))
        port, tls_port = (each.getsockname()[1] for each in (free, free_tls))
    ports = {"SCHEDWEB_PORT": str(port), "SCHEDWEB_TLS_PORT": str(tls_port)}
    environment = {**os.environ, **ports, "SCHEDWEB_CONNECTION_POOL": "1"}
    process = subprocess.Popen([sys.executable, "-m", "schedweb.front"], env=environment)
    try:
        until = time.monotonic() + 60
        while not is_responding(port):
            if process.poll() is not None or time.monotonic() > until:
                sys.exit("the web process did not start")
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def is_responding(port: int) -> bool:
    connection = http.client.HTTPConnection("localhost", port, timeout=5)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def measure(paths: dict[str, str], port: int, times: int) -> None:
    """Request each page, and print a table of the results, slowest first."""
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client()
    client.force_login(User.objects.get(username="bench"))
    cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    asked = http.client.HTTPConnection("localhost", port, timeout=120)
    rows = []
    for name, path in paths.items():
        with CaptureQueriesContext(connection) as queries:
            answered = client.get(path, headers={"Host": "localhost"})
            # a response that is streamed runs its queries while it is read
            answered.getvalue()
        if answered.status_code in (HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.FOUND):
            continue
        taken = []
        for turn in range(times + 1):
            if turn == 1:
                worked = processor_seconds()
            began = time.perf_counter()
            asked.request("GET", path, headers={"Cookie": cookie, "Host": "localhost"})
            response = asked.getresponse()
            size = len(response.read())
            taken.append((time.perf_counter() - began) * 1000)
        if response.status == HTTPStatus.BAD_REQUEST:
            print(f"{name} refuses what this cluster has too much of", file=sys.stderr)
            continue
        if response.status != 200:
            sys.exit(f"{name}: {path} returned {response.status}")
        first, *rest = taken
        p95 = statistics.quantiles(rest, n=20)[18]
        worked = (processor_seconds() - worked) * 1000 / times
        rows.append((statistics.median(rest), p95, first, worked, len(queries), size, name))
    print("\n| page | median ms | p95 ms | first ms | processor ms | queries | KB |")
    print("|---|---|---|---|---|---|---|")
    for median, p95, first, worked, count, size, name in sorted(rows, reverse=True):
        mark = " **slow**" if median > TARGET_MS else ""
        figures = f"{median:.0f}{mark} | {p95:.0f} | {first:.0f} | {worked:.0f} | {count}"
        figures += f" | {size / 1024:.0f}"
        print(f"| {name} | {figures} |")


def processor_seconds() -> float:
    """CPU time so far of the web process and the database: all child processes."""
    parents: dict[int, list[int]] = {}
    spent: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # the process has just ended
            continue
        parents.setdefault(int(fields[1]), []).append(int(folder.name))
        # the process itself, and its children that have ended
        spent[int(folder.name)] = sum(map(int, fields[11:15]))
    ours, total = [*parents.get(os.getpid(), [])], 0
    while ours:
        process = ours.pop()
        total += spent[process]
        ours += parents.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


_started = time.monotonic()


def print_step(what: str) -> None:
    print(f"{time.monotonic() - _started:6.1f} s  {what}", flush=True)


if __name__ == "__main__":
    main()
