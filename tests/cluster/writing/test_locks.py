"""Concurrent writes of the same objects: no update is lost, and none waits in a circle."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Update
from apps.cluster.writing import store

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = Actor("tests")
Body = dict[str, Any]


@pytest.fixture
def cluster() -> Cluster:
    """Two ConfigMaps; the one whose name is the second was created first."""
    cluster = create_cluster("lab", user="tests", paused=True)
    for name in ("z", "a"):
        body = {"metadata": {"name": name}, "data": {"count": "0"}}
        store.create(cluster, CONFIG_MAP, body, actor=ACTOR, namespace="default")
    return cluster


CONFIG_MAP = kinds.by_name("ConfigMap")


def add_one(body: Body) -> Body:
    return {**body, "data": {"count": str(int(body["data"]["count"]) + 1)}}


def in_thread(work: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def wait_until(condition: Callable[[], bool]) -> None:
    until = monotonic() + 10
    while not condition():
        assert monotonic() < until


def someone_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def test_an_update_in_progress_is_not_lost_to_a_concurrent_one(cluster: Cluster) -> None:
    inside, second_inside = threading.Event(), threading.Event()

    def slow(body: Body) -> Body:
        inside.set()
        with connection.cursor() as cursor:
            until = monotonic() + 10
            while not second_inside.is_set() and monotonic() < until:
                cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
                if cursor.fetchone()[0]:
                    break
        return add_one(body)

    def quick(body: Body) -> Body:
        second_inside.set()
        return add_one(body)

    def patch(change: Callable[[Body], Body]) -> Callable[[], object]:
        return lambda: store.patch(cluster, CONFIG_MAP, "default", "a", change, actor=ACTOR)

    first = in_thread(patch(slow))
    assert inside.wait(10)
    second = in_thread(patch(quick))
    first.join()
    second.join()
    assert queries.get(cluster, CONFIG_MAP, "default", "a")["data"] == {"count": "2"}


def test_a_write_locks_its_rows_in_the_order_of_their_ids(cluster: Cluster) -> None:
    """Two writes of the same rows would otherwise wait for each other."""
    writes = [Update(CONFIG_MAP, "default", name, add_one) for name in ("a", "z")]
    table = CONFIG_MAP.table

    def lock(name: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT 1 FROM {table} WHERE cluster_id = %s AND name = %s "
                "FOR NO KEY UPDATE NOWAIT",
                [cluster.pk, name],
            )

    def write() -> None:
        with connection.cursor() as cursor:
            # a plan that finds the rows by name, as in a large table
            cursor.execute("SET enable_seqscan = off; SET enable_hashjoin = off")
            cursor.execute("SET enable_mergejoin = off; SET enable_bitmapscan = off")
        store.write(cluster, writes, actor=ACTOR)

    try:
        with transaction.atomic():
            lock("z")
            thread = in_thread(write)
            wait_until(someone_waits_for_a_lock)
            lock("a")
    except DatabaseError:
        pytest.fail("the row with the higher id was locked first")
    finally:
        thread.join()
    assert queries.get(cluster, CONFIG_MAP, "default", "a")["data"] == {"count": "1"}


def test_a_write_for_one_uid_leaves_another_object_of_that_name_alone(cluster: Cluster) -> None:
    old = queries.get(cluster, CONFIG_MAP, "default", "a")["metadata"]["uid"]
    store.delete(cluster, CONFIG_MAP, "default", "a", actor=ACTOR)
    body = {"metadata": {"name": "a"}, "data": {"count": "5"}}
    new = store.create(cluster, CONFIG_MAP, body, actor=ACTOR, namespace="default")
    with pytest.raises(NotFound):
        store.write(cluster, [Update(CONFIG_MAP, "default", "a", add_one, uid=old)], actor=ACTOR)
    assert queries.get(cluster, CONFIG_MAP, "default", "a") == new
    writes = [Update(CONFIG_MAP, "default", "a", add_one, uid=new["metadata"]["uid"])]
    store.write(cluster, writes, actor=ACTOR)
    assert queries.get(cluster, CONFIG_MAP, "default", "a")["data"] == {"count": "6"}


def test_a_write_that_ends_in_a_deadlock_is_tried_again(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[Body] = []

    def write() -> None:
        done.append(
            store.patch(cluster, CONFIG_MAP, "default", "a", add_one, actor=ACTOR),
        )

    counter = "SELECT FROM cluster_cluster WHERE id = %s FOR NO KEY UPDATE"
    row = "SELECT FROM cluster_dataobject WHERE name = 'a' FOR NO KEY UPDATE"
    with transaction.atomic(), connection.cursor() as cursor:
        # the other one finds out
        cursor.execute("SET LOCAL deadlock_timeout = '1min'")
        # against the order: the counter, then a row
        cursor.execute(counter, [cluster.pk])
        writer = in_thread(write)
        wait_until(someone_waits_for_a_lock)
        cursor.execute(row)
    writer.join()
    assert [each["data"] for each in done] == [{"count": "1"}]
    assert "a write ended in a deadlock, trying again" in caplog.text
