"""All ways to write at the same time, in a random order: none waits in a circle."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from apps.administration.clusters.forking import fork_cluster
from apps.administration.clusters.lifecycle import create_cluster, delete_cluster, pause, resume
from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.cluster.writes import Create, Delete, Update, Write
from apps.cluster.writing import store
from apps.cluster.writing.copying import copy_objects
from apps.cluster.writing.group_commit import StaleState
from apps.engine.loop.engines import Engines
from apps.engine.profiles import revisions
from apps.studies.past.past_version import PastVersion
from tests.cluster.writing.ways import ACTOR, Creations, OneStatement
from tests.engine.driving import pod

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = 8
NAMESPACES = ("default", "other")
#: Few objects, so that the ways meet; those of the last kinds lock the cluster's counter early.
NAMES = ("a", "b", "c", "d")
BODIES: Mapping[str, Mapping[str, Any]] = {
    "Pod": pod("x"),
    "ConfigMap": {"data": {}},
    "Secret": {"data": {}},
    "Service": {"spec": {"ports": [{"port": 80}]}},
    "ResourceQuota": {"spec": {"hard": {"pods": "9", "configmaps": "9"}}},
}


def draw_write(draw: random.Random) -> Write:
    kind = kinds.by_name(draw.choice(list(BODIES)))
    namespace, name = draw.choice(NAMESPACES), draw.choice(NAMES)
    choice = draw.random()
    if choice < 0.4:
        body = {**BODIES[kind.name], "metadata": {"name": name}}
        return Create(kind, body, namespace)
    if choice < 0.8:
        labels = {"draw": str(draw.randrange(10**6))}

        def label(body: dict[str, Any]) -> dict[str, Any]:
            return {**body, "metadata": {**body["metadata"], "labels": labels}}

        return Update(kind, namespace, name, label)
    return Delete(kind, namespace, name, {"gracePeriodSeconds": 0})


class Ways:
    """One step of each way, which may be refused."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._engines = Engines()

    def write_many(self, draw: random.Random) -> None:
        writes = [draw_write(draw) for _ in range(draw.randint(2, 6))]
        store.write(self._cluster, writes, actor=ACTOR, collect_refusals=True)

    def write_one(self, draw: random.Random) -> None:
        OneStatement(self._cluster).write_all([draw_write(draw)])

    def create(self, draw: random.Random) -> None:
        kind = kinds.by_name(draw.choice(("Pod", "ConfigMap", "Secret")))
        names = [f"{draw.choice(NAMES)}-{draw.randrange(100)}" for _ in range(4)]
        bodies = [{**BODIES[kind.name], "metadata": {"name": name}} for name in names]
        Creations(self._cluster).write_all([Create(kind, body, "default") for body in bodies])

    def schedule(self, draw: random.Random) -> None:
        self._engines.run(self._cluster.pk)

    def copy(self, draw: random.Random) -> None:
        copy = Cluster.objects.create(name=f"copy-{draw.randrange(10**9)}", paused=True)
        with transaction.atomic():
            copy_objects(self._cluster, copy, actor=ACTOR, progress=lambda done, total: None)
        delete_cluster(copy, with_history=draw.random() < 0.5)

    def fork(self, draw: random.Random) -> None:
        cluster = Cluster.objects.get(pk=self._cluster.pk)
        moment = PastVersion(cluster.resource_version, cluster.now())
        fork = fork_cluster(cluster, moment, f"fork-{draw.randrange(10**9)}", user="tests")
        delete_cluster(fork)

    def change_cluster(self, draw: random.Random) -> None:
        cluster = Cluster.objects.get(pk=self._cluster.pk)
        revisions.activate(cluster, 1)
        pause(cluster)
        resume(cluster)


def deadlocks() -> int:
    """How many the database has ever ended."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def leave() -> None:
    """End this thread's connection after it has reported its deadlocks."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
    connection.close()


def run_together(ways: Mapping[str, Callable[[random.Random], None]], seed: int) -> list[str]:
    """`STEPS` steps of each way, all at the same time; the errors."""
    errors: list[str] = []

    def walk(name: str) -> None:
        draw = random.Random(f"{seed} {name}")
        try:
            for _ in range(STEPS):
                try:
                    ways[name](draw)
                except (ApiError, StaleState):
                    # of what was another step's meanwhile
                    continue
        except Exception as error:
            errors.append(f"{name}: {error!r}")
        finally:
            leave()

    threads = [threading.Thread(target=walk, args=(name,)) for name in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_the_ways_to_write_never_wait_for_each_other_in_a_circle() -> None:
    seed = random.randrange(10**6)
    cluster = create_cluster("lab", user="tests", nodes=3)
    body = {"metadata": {"name": "other"}}
    store.create(cluster, kinds.by_name("Namespace"), body, actor=ACTOR)
    ways = Ways(cluster)
    before = deadlocks()
    errors = run_together(
        {name: getattr(ways, name) for name in vars(Ways) if not name.startswith("_")},
        seed,
    )
    assert (errors, deadlocks() - before) == ([], 0), f"seed {seed}"


def test_a_circle_would_be_counted() -> None:
    cluster = create_cluster("lab", user="tests", nodes=2)
    before = deadlocks()
    first_locked, second_locked = threading.Event(), threading.Event()

    def lock(names: list[str], own: threading.Event, other: threading.Event) -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL deadlock_timeout = '10ms'")
                for name in names:
                    node = "SELECT FROM cluster_node WHERE cluster_id = %s AND name = %s FOR UPDATE"
                    cursor.execute(node, [cluster.pk, name])
                    own.set()
                    assert other.wait(10)
        except OperationalError:
            pass
        finally:
            leave()

    names = ["node-0", "node-1"]
    threads = [
        threading.Thread(target=lock, args=(names, first_locked, second_locked)),
        threading.Thread(target=lock, args=(names[::-1], second_locked, first_locked)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert deadlocks() > before
