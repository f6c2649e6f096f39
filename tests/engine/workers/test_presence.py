"""The clusters of a worker process that was killed are taken over before its lease expires."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.engine.models import LoopLease
from apps.engine.workers import heartbeat, lease, presence
from apps.engine.workers.guard import Guard
from apps.engine.workers.lease import LeaseLost
from apps.engine.workers.pulse import HeartbeatSender

pytestmark = pytest.mark.django_db(transaction=True)

#: Longer than anything that is awaited takes on a busy machine.
LIMIT_SECONDS = 30.0


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def running(thread: HeartbeatSender) -> Iterator[None]:
    thread.start()
    try:
        yield
    finally:
        thread.stop()


@contextmanager
def connected(name: str) -> Iterator[None]:
    """A worker process that is connected in this block, and is killed at its end."""
    shown, end = threading.Event(), threading.Event()

    def run() -> None:
        assert presence.announce(name)
        shown.set()
        end.wait(LIMIT_SECONDS)
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert shown.wait(LIMIT_SECONDS)
    try:
        yield
    finally:
        end.set()
        thread.join()


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("taken", user="tests", nodes=1)


def test_the_lease_of_a_killed_worker_is_free_before_it_expires(cluster: Cluster) -> None:
    heartbeat.touch("loop_killed")
    with connected("loop_killed"):
        held = lease.acquire(cluster.pk, "loop_killed")
        assert held is not None
        assert presence.absent_workers() == set()
    # the server notices the end of the connection a moment later
    wait_for(lambda: presence.absent_workers() == {"loop_killed"})
    expires = timezone.now() + timedelta(seconds=1.9 * lease.TTL_SECONDS)
    LoopLease.objects.update(expires_at=expires)
    guard = Guard()
    guard.look()
    assert lease.acquire(cluster.pk, "loop_other") is None, "it may be connecting again"
    guard.look()
    assert lease.acquire(cluster.pk, "loop_other") is not None
    assert timezone.now() < expires
    with pytest.raises(LeaseLost):
        held.renew()
    assert heartbeat.queue_of_holder(cluster.pk) is None, "nothing is sent to its queue any more"
    assert heartbeat.dead_workers() == [], "a process that lives after all still has its queue"


def test_a_worker_that_is_slow_or_stopped_keeps_its_lease(cluster: Cluster) -> None:
    heartbeat.touch("loop_slow")
    with connected("loop_slow"):
        assert lease.acquire(cluster.pk, "loop_slow") is not None
        guard = Guard()
        for _ in range(3):
            guard.look()
        assert lease.acquire(cluster.pk, "loop_other") is None
    # a process of which no heartbeat says that it was connected: its lease expires
    heartbeat.expire("loop_slow", seconds=heartbeat.STALE_SECONDS)
    assert presence.absent_workers() == set()


def test_a_worker_that_lost_its_connection_connects_again_at_once(cluster: Cluster) -> None:
    with running(HeartbeatSender("loop_back")):
        wait_for(lambda: backend_of("loop_back"))
        lost = backend_of("loop_back")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [lost])
        wait_for(lambda: backend_of("loop_back") not in (None, lost))
        assert presence.absent_workers() == set()


def backend_of(name: str) -> int | None:
    """The backend of the connection that shows a process."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted "
            f"AND (classid::bigint << 32) | objid::bigint = {presence.KEY.format(name='%s')}",
            [name],
        )
        row = cursor.fetchone()
    return None if row is None else int(row[0])
