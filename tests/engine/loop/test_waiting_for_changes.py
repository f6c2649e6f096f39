"""A quiet loop waits for the next change of its cluster before it rests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster, pause
from apps.cluster import kinds
from apps.cluster.log.announce import CHANNEL, announcer, wake_hooks
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.engine.loop import engine as engine_module
from apps.engine.loop.engine import WAIT_SECONDS
from apps.engine.loop.engines import Engines
from apps.engine.models import LoopLease
from tests.engine.driving import ACTOR, node_of, pod, traffic
from tests.stack.running_site import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


class Run:
    """One run of a cluster's loop, in a thread as in a worker."""

    def __init__(self, engines: Engines, cluster: Cluster) -> None:
        self._thread = threading.Thread(target=self._run, args=(engines, cluster.pk))
        self.started_at = time.monotonic()
        self.seconds = 0.0
        self._thread.start()

    def _run(self, engines: Engines, cluster_id: int) -> None:
        try:
            engines.run(cluster_id, waits=True)
        finally:
            self.seconds = time.monotonic() - self.started_at
            connection.close()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> float:
        """Wait for the end; returns how long the run took, in seconds."""
        self._thread.join(30)
        assert not self.is_running
        return self.seconds


@pytest.fixture
def engines() -> Iterator[Engines]:
    found = Engines()
    yield found
    found.stop()
    found.close()


@pytest.fixture
def messages() -> Iterator[list[int]]:
    """The ids of the clusters for which a message was sent."""
    sent: list[int] = []
    wake_hooks.append(sent.append)
    yield sent
    wake_hooks.remove(sent.append)


def waits(cluster: Cluster) -> Callable[[], bool]:
    """Whether the loop has acted on every change and the cluster is still due."""

    def met() -> bool:
        cluster.refresh_from_db()
        lease = LoopLease.objects.get(cluster=cluster)
        return cluster.due_at is not None and lease.consumed_version == cluster.resource_version

    return met


def test_a_pod_is_bound_without_a_message_while_the_loop_waits(
    engines: Engines, messages: list[int]
) -> None:
    cluster = create_cluster("lab", user="tests", nodes=1)
    run = Run(engines, cluster)
    wait_until(waits(cluster))
    assert announcer.flush(10)
    messages.clear()
    store.create(cluster, kinds.POD, pod("p"), actor=ACTOR, namespace="default")
    wait_until(lambda: node_of(cluster, "p") == "node-0", seconds=WAIT_SECONDS)
    assert run.is_running
    run.join()
    assert messages == []
    cluster.refresh_from_db()
    assert cluster.due_at is None


def test_the_next_change_after_the_waiting_sends_a_message(
    engines: Engines, messages: list[int]
) -> None:
    cluster = create_cluster("lab", user="tests", nodes=1)
    Run(engines, cluster).join()
    messages.clear()
    store.create(cluster, kinds.POD, pod("p"), actor=ACTOR, namespace="default")
    assert announcer.flush(10)
    assert messages == [cluster.pk]


def test_waiting_loops_leave_their_threads_to_other_clusters(engines: Engines) -> None:
    clusters = [create_cluster(f"lab-{number}", user="tests", nodes=1) for number in range(3)]
    waiting = [Run(engines, cluster) for cluster in clusters[:2]]
    for cluster in clusters[:2]:
        wait_until(waits(cluster))
    begun = time.monotonic()
    third = Run(engines, clusters[2])
    ends = [run.started_at + run.join() for run in waiting]
    third.join()
    assert min(ends) - begun < WAIT_SECONDS


def test_a_pause_ends_the_waiting(engines: Engines) -> None:
    cluster = create_cluster("lab", user="tests", nodes=1)
    run = Run(engines, cluster)
    wait_until(waits(cluster))
    begun = time.monotonic()
    pause(cluster)
    assert run.started_at + run.join() - begun < WAIT_SECONDS


def test_a_process_that_shuts_down_does_not_wait(engines: Engines) -> None:
    cluster = create_cluster("lab", user="tests", nodes=1)
    run = Run(engines, cluster)
    wait_until(waits(cluster))
    begun = time.monotonic()
    engines.stop()
    assert run.started_at + run.join() - begun < WAIT_SECONDS


def test_a_pod_alone_takes_two_round_trips(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look, and the batch; that all is done is recorded when nothing follows.

    A version that does not exist causes one look.
    """
    monkeypatch.setattr(engine_module, "LOOK_SECONDS", 60.0)
    cluster = create_cluster("lab", user="tests", nodes=1)
    run = Run(engines, cluster)
    wait_until(waits(cluster))
    monkeypatch.setattr(engine_module, "CONFIRM_SECONDS", 60.0)
    with traffic() as found:
        for name in ("a", "b", "c", "d"):
            if name == "d":
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, f"{cluster.pk} {10**9}"])
            store.create(cluster, kinds.POD, pod(name), actor=ACTOR, namespace="default")
            wait_until(partial(_is_bound, cluster, name), seconds=WAIT_SECONDS)
        exchanges = len(found.about("FROM cluster_cluster c WHERE c.id = $1"))
    assert run.is_running
    run.join()
    # each pod: before it is scheduled, and with the commit of its binding
    assert 8 <= exchanges <= 11
    assert not found.about("SET LOCAL synchronous_commit")


def _is_bound(cluster: Cluster, name: str) -> bool:
    return node_of(cluster, name) == "node-0"
