"""A cluster has one scheduler, even if a holder stalls and resumes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster, Pod
from apps.cluster.prepared import execute_together
from apps.engine.loop import engines
from apps.engine.loop.engine import Engine
from apps.engine.loop.engines import Engines
from apps.engine.models import LoopLease, SchedulingDecision
from apps.engine.workers import lease
from apps.engine.workers.lease import LeaseLost
from tests.engine.driving import create_pods, node_of, pod
from tests.stack.running_site import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=2)


def expire(cluster: Cluster) -> None:
    """Expire the lease, as if the holder had not renewed it in time."""
    LoopLease.objects.filter(cluster=cluster).update(expires_at="2000-01-01T00:00:00Z")


@contextmanager
def stalled_holder(held: lease.ClusterLease) -> Iterator[None]:
    """Stall the holder in a transaction that has renewed its lease."""
    inside, leave = threading.Event(), threading.Event()

    def stand() -> None:
        with transaction.atomic():
            held.renew()
            inside.set()
            leave.wait(30)
        connection.close()

    thread = threading.Thread(target=stand)
    thread.start()
    assert inside.wait(10)
    yield
    leave.set()
    thread.join()


def test_an_expired_lease_is_taken_over_and_the_old_holders_writes_are_refused(
    cluster: Cluster,
) -> None:
    stalled = lease.acquire(cluster.pk, "stalled")
    assert stalled is not None
    engine = Engine.load(cluster, stalled)
    create_pods(cluster, pod("p"))
    assert lease.acquire(cluster.pk, "other") is None
    expire(cluster)
    successor = lease.acquire(cluster.pk, "other")
    assert successor is not None and successor.epoch == stalled.epoch + 1
    with pytest.raises(LeaseLost):
        engine.run(5)
    engine.close()
    assert node_of(cluster, "p") == ""
    assert not SchedulingDecision.objects.filter(cluster=cluster).exists()


def test_a_holder_that_returns_after_another_one_starts_again(cluster: Cluster) -> None:
    """The epoch shows it, although the lease is free again."""
    mine = Engines()
    mine.run(cluster.pk)
    other = lease.acquire(cluster.pk, "other")
    assert other is not None
    Engine.load(cluster, other).close()
    other.release()
    create_pods(cluster, pod("p"))
    mine.run(cluster.pk)
    assert Pod.objects.get(cluster=cluster, name="p").node_name
    assert LoopLease.objects.get(cluster=cluster).epoch == other.epoch + 1


def test_a_holder_stalled_in_a_transaction_blocks_nobody(cluster: Cluster) -> None:
    held = lease.acquire(cluster.pk, "stalled")
    assert held is not None
    expire(cluster)
    with stalled_holder(held):
        assert lease.acquire(cluster.pk, "other") is None
    expire(cluster)
    assert lease.acquire(cluster.pk, "other") is not None


def test_a_second_task_of_a_busy_cluster_gives_its_slot_back(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "LOCK_TIMEOUT_SECONDS", 0.01)
    mine = Engines()
    with mine._lock_of(cluster.pk):
        assert mine.run(cluster.pk) is False
    assert LoopLease.objects.get(cluster=cluster).holder == ""


def test_between_two_slices_the_lease_is_kept_and_after_the_last_one_it_is_free(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "SLICE_SECONDS", 0.0)
    create_pods(cluster, pod("p"))
    mine = Engines()
    assert mine.run(cluster.pk) is True
    assert lease.acquire(cluster.pk, "other") is None
    while mine.run(cluster.pk):
        pass
    assert node_of(cluster, "p")
    assert lease.acquire(cluster.pk, "other") is not None


def test_a_process_that_shuts_down_releases_its_clusters_at_once(cluster: Cluster) -> None:
    create_pods(cluster, pod("p"))
    mine = Engines()
    mine.stop()
    assert mine.run(cluster.pk) is True
    assert lease.acquire(cluster.pk, "other") is not None


def test_a_holder_of_an_earlier_epoch_neither_renews_nor_releases_the_lease(
    cluster: Cluster,
) -> None:
    """Also if the holder of the later epoch is the same process."""
    earlier = lease.acquire(cluster.pk, "a")
    expire(cluster)
    assert lease.acquire(cluster.pk, "b") is not None
    expire(cluster)
    later = lease.acquire(cluster.pk, "a")
    assert earlier is not None and later is not None and earlier.holder == later.holder
    with pytest.raises(LeaseLost), transaction.atomic():
        earlier.check(execute_together([earlier.renewal(consumed_version=10**6)]))
    earlier.release()
    assert lease.acquire(cluster.pk, "c") is None
    later.renew()
    assert LoopLease.objects.get(cluster=cluster).consumed_version < 10**6


def test_a_lease_from_before_the_clock_was_set_back_can_be_taken(cluster: Cluster) -> None:
    dead = lease.acquire(cluster.pk, "dead")
    assert dead is not None
    assert lease.acquire(cluster.pk, "other") is None
    an_hour_later = timezone.now() + timedelta(hours=1)
    LoopLease.objects.filter(cluster=cluster).update(expires_at=an_hour_later)
    taken = lease.acquire(cluster.pk, "other")
    assert taken is not None and taken.epoch == dead.epoch + 1
    with pytest.raises(LeaseLost):
        dead.renew()


def test_failed_runs_are_counted_until_one_succeeds_and_only_under_the_own_epoch(
    cluster: Cluster,
) -> None:
    def noted() -> tuple[int, str]:
        return LoopLease.objects.values_list("failures", "failure").get(cluster=cluster)

    earlier = lease.acquire(cluster.pk, "earlier")
    assert earlier is not None
    earlier.note_failure(ValueError("no such node"))
    earlier.note_failure(ValueError("again" * 200))
    assert noted() == (2, ("ValueError: " + "again" * 200)[:500])
    expire(cluster)
    later = lease.acquire(cluster.pk, "later")
    assert later is not None and later.failures == 2
    earlier.note_failure(ValueError("too late"))
    assert noted()[0] == 2
    later.note_success()
    assert noted() == (0, "")


def test_a_lease_is_kept_until_it_is_lost(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "KEEP_SECONDS", 0.02)

    def expiry() -> datetime:
        return LoopLease.objects.values_list("expires_at", flat=True).get(cluster=cluster)

    held = lease.acquire(cluster.pk, "first")
    assert held is not None
    with lease.keep_renewed(held):
        for _ in range(3):
            before = expiry()
            wait_until(lambda before=before: expiry() > before)
        # epoch and holder of another process
        LoopLease.objects.filter(cluster=cluster).update(epoch=held.epoch + 1, holder="second")
        name = f"renew cluster {cluster.pk}"
        wait_until(lambda: name not in {thread.name for thread in threading.enumerate()})


def test_a_failure_that_cannot_be_noted_is_no_second_one(cluster: Cluster) -> None:
    held = lease.acquire(cluster.pk, "first")
    assert held is not None
    with connection.cursor() as cursor, suppress(OperationalError):
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    held.note_failure(ValueError("no such node"))
    connection.close()
    assert LoopLease.objects.get(cluster=cluster).failures == 0


def test_a_renewal_records_progress_and_keeps_what_it_does_not_name(cluster: Cluster) -> None:
    held = lease.acquire(cluster.pk, "first")
    assert held is not None
    step = held.renewal(consumed_version=9, profile_revision=2, cycles=(7, 5))
    held.check(execute_together([step]))
    held.renew()
    row = LoopLease.objects.get(cluster=cluster)
    assert (row.consumed_version, row.profile_revision) == (9, 2)
    assert (row.scheduling_cycle, row.move_request_cycle) == (7, 5)
    expire(cluster)
    assert lease.acquire(cluster.pk, "second") is not None
    with pytest.raises(LeaseLost, match=f"cluster {cluster.pk}, epoch {held.epoch}"):
        held.renew()
