"""Locks of a process that was stopped do not last as long as the process is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from django.db import DatabaseError, connection, transaction

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.exchange import exchange
from apps.cluster.models import Cluster, Pod
from apps.cluster.prepared import send_together
from apps.engine.workers import guard as guarding
from apps.engine.workers import lease
from apps.engine.workers.lease import TTL_SECONDS
from tests.engine.driving import create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)

#: Until another process continues, at a quiet time: the lease's time, and a look.
BOUND_SECONDS = TTL_SECONDS + 2 * guarding.LOOK_SECONDS
#: More for a busy machine; the idle timeout of transactions is longer.
SLACK_SECONDS = 10.0


@contextmanager
def stalled_client(work: Callable[[threading.Event, threading.Event], None]) -> Iterator[list[str]]:
    """Run `work` in a thread until its first event; it continues after the block.

    Yields the errors with which it then ended.
    """
    inside, leave = threading.Event(), threading.Event()
    errors: list[str] = []

    def run() -> None:
        try:
            work(inside, leave)
        except DatabaseError as error:
            errors.append(str(error))
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert inside.wait(10)
    try:
        yield errors
    finally:
        leave.set()
        thread.join()


def renew_in_pipeline(held: lease.ClusterLease) -> Callable[..., None]:
    """As the recorder does: the lease is locked while the next statement is built."""

    def work(inside: threading.Event, leave: threading.Event) -> None:
        with exchange() as sent:
            sent.begin()
            send_together(sent, [held.renewal()])
            sent.flush()
            inside.set()
            leave.wait(60)
            sent.commit()
            sent.receive()

    return work


def renew_in_transaction(held: lease.ClusterLease) -> Callable[..., None]:
    def work(inside: threading.Event, leave: threading.Event) -> None:
        with transaction.atomic():
            held.renew()
            inside.set()
            leave.wait(60)

    return work


def lock_counter(cluster: Cluster) -> Callable[..., None]:
    """As a web process does that is stopped in the middle of a write."""

    def work(inside: threading.Event, leave: threading.Event) -> None:
        with transaction.atomic():
            Cluster.objects.select_for_update().get(pk=cluster.pk)
            inside.set()
            leave.wait(60)

    return work


def read_quietly(inside: threading.Event, leave: threading.Event) -> None:
    """As a backup does: nothing waits for it."""
    with transaction.atomic():
        Pod.objects.count()
        inside.set()
        leave.wait(60)


def copy_slowly(inside: threading.Event, leave: threading.Event) -> None:
    """As a restore does while it reads its file."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE copied (n int)")
        with cursor.copy("COPY copied FROM STDIN") as rows:
            rows.write_row([1])
            inside.set()
            leave.wait(60)


@pytest.fixture
def guard() -> Iterator[guarding.Guard]:
    guard = guarding.Guard()
    guard.start()
    yield guard
    guard.stop()


def acquire_within_bound(cluster: Cluster, since: float) -> None:
    while (taken := lease.acquire(cluster.pk, "other")) is None:
        assert time.monotonic() < since + BOUND_SECONDS + SLACK_SECONDS
        time.sleep(0.05)
    assert taken.epoch > 1


def test_the_locks_of_stalled_clients_end_and_those_of_slow_ones_remain(
    guard: guarding.Guard,
) -> None:
    names = ("pipelined", "idle", "written")
    pipelined, idle, written = (create_cluster(name, user="tests", nodes=1) for name in names)
    held = [lease.acquire(cluster.pk, "stopped") for cluster in (pipelined, idle)]
    assert held[0] is not None and held[1] is not None
    create_pods(idle, pod("waits"))
    with ExitStack() as stack:
        lost = [
            stack.enter_context(stalled_client(work))
            for work in (
                renew_in_pipeline(held[0]),
                renew_in_transaction(held[1]),
                lock_counter(written),
            )
        ]
        slow = [stack.enter_context(stalled_client(work)) for work in (read_quietly, copy_slowly)]
        since = time.monotonic()
        create_pods(written, pod("p"))
        assert time.monotonic() < since + BOUND_SECONDS + SLACK_SECONDS
        acquire_within_bound(pipelined, since)
        acquire_within_bound(idle, since)
    for errors in lost:
        assert len(errors) == 1
    assert slow == [[], []]
