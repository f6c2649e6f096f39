"""The ordering rule of the change log, with real connections and commits."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator

import pytest
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.connections import Statement, connect
from apps.cluster.log.changelog import changes_after, read_changes
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store

WRITERS = 6
WRITES_EACH = 350
ACTOR = Actor("writer", "request-1")


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    return create_cluster("busy", user="tests", paused=True)


def _pod(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def _write(cluster: Cluster, writer: int, failures: list[BaseException]) -> None:
    """Create, relabel and delete pods, one by one and in bulk."""
    draw = random.Random(writer)
    try:
        for number in range(WRITES_EACH):
            name = f"pod-{writer}-{number}"
            if number % 5 == 0:
                names = [f"{name}-{part}" for part in range(draw.randint(2, 5))]
                store.write(
                    cluster,
                    [Create(kinds.POD, _pod(each), "default") for each in names],
                    actor=ACTOR,
                )
            else:
                store.create(cluster, kinds.POD, _pod(name), actor=ACTOR, namespace="default")
                if number % 3 == 0:
                    store.delete(cluster, kinds.POD, "default", name, actor=ACTOR)
                # all writers change this object, so their transactions wait for each other
                store.patch(cluster, kinds.NAMESPACE, "", "default", _annotate(name), actor=ACTOR)
    except BaseException as failure:
        failures.append(failure)
    finally:
        connection.close()


def test_an_event_loop_reads_the_log_with_one_plan(cluster: Cluster) -> None:
    async def scene() -> tuple[int, int]:
        channel = await connect()
        try:
            for version in range(10):
                await read_changes(channel, cluster.pk, version, limit=500)
            counted = Statement(
                b"SELECT custom_plans, generic_plans FROM pg_prepared_statements "
                b"WHERE statement LIKE 'SELECT version, %'",
                (),
            )
            ((custom, generic),) = await channel.query(counted, [])
            return int(custom or 0), int(generic or 0)
        finally:
            channel.close()

    assert asyncio.run(scene()) == (0, 10)


def _annotate(name: str) -> Callable[[dict[str, object]], dict[str, object]]:
    def change(body: dict[str, object]) -> dict[str, object]:
        metadata = body["metadata"]
        assert isinstance(metadata, dict)
        return {**body, "metadata": {**metadata, "annotations": {"last": name}}}

    return change


def _read_until(cluster: Cluster, done: threading.Event) -> Iterator[int]:
    """The versions that a polling reader sees."""
    position = 0
    while True:
        finished = done.is_set()
        changes = changes_after(cluster.pk, position, limit=100)
        for change in changes:
            yield change.version
            position = change.version
        if finished and not changes:
            return


def test_a_reader_never_misses_a_change_under_concurrent_writers(cluster: Cluster) -> None:
    done, failures, seen = threading.Event(), list[BaseException](), list[int]()

    def read() -> None:
        seen.extend(_read_until(cluster, done))
        connection.close()

    reader = threading.Thread(target=read)
    writers = [
        threading.Thread(target=_write, args=(cluster, number, failures))
        for number in range(WRITERS)
    ]
    reader.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    reader.join()
    assert not failures
    cluster.refresh_from_db()
    assert len(seen) > WRITERS * WRITES_EACH
    assert seen == list(range(1, cluster.resource_version + 1))


def test_every_change_records_its_previous_version_and_its_user(cluster: Cluster) -> None:
    start = Cluster.objects.get(pk=cluster.pk).resource_version
    actor = Actor("alice", "request-7")
    store.create(cluster, kinds.POD, _pod("p"), actor=actor, namespace="default")
    store.patch(
        cluster,
        kinds.POD,
        "default",
        "p",
        lambda body: {**body, "metadata": {**body["metadata"], "labels": {"a": "b"}}},
        actor=actor,
    )
    store.delete(cluster, kinds.POD, "default", "p", actor=actor)
    changes = changes_after(cluster.pk, start)
    assert [each.type for each in changes] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    added, modified, marked, deleted = changes
    assert added.previous_version is None
    assert modified.previous_version == added.version
    assert marked.object["metadata"]["deletionGracePeriodSeconds"] == 0
    assert deleted.previous_version == marked.version
    assert deleted.object["metadata"]["resourceVersion"] == str(deleted.version)
    assert {(change.user, change.request_id) for change in changes} == {("alice", "request-7")}
