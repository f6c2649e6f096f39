"""A worker that has a cluster's engine in memory starts as soon as the cluster becomes due."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import current_app

from apps.administration.clusters.lifecycle import create_cluster, pause, resume
from apps.cluster import kinds
from apps.cluster.log.announce import announcer
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.engine.loop.starting import Starter
from apps.engine.models import LoopLease, SchedulingDecision
from apps.engine.queue.activation import activate
from apps.engine.workers import heartbeat, lease
from tests.engine.driving import ACTOR, node_of, pod
from tests.stack.running_site import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def engines() -> Iterator[Engines]:
    found = Engines()
    starter = Starter(found)
    starter.start()
    heartbeat.touch(lease.process_name())
    yield found
    found.stop()
    starter.stop()
    found.close()


@pytest.fixture
def quiet(engines: Engines) -> Cluster:
    """A cluster whose engine is in memory, and whose loop has nothing left to do."""
    cluster = create_cluster("lab", user="tests", nodes=1)
    engines.run(cluster.pk)
    assert announcer.flush(10)
    messages()
    return cluster


def messages() -> int:
    """Remove all messages for workers; returns their number."""
    with current_app.connection_for_read() as broker:
        channel = broker.default_channel
        for name in ("schedweb", lease.process_name()):
            channel.queue_declare(name)
        return sum(int(channel.queue_purge(name)) for name in ("schedweb", lease.process_name()))


def test_a_pod_is_bound_without_a_message(quiet: Cluster) -> None:
    store.create(quiet, kinds.POD, pod("p"), actor=ACTOR, namespace="default")
    wait_until(lambda: node_of(quiet, "p") == "node-0")
    assert announcer.flush(10)
    assert messages() == 0


def test_a_resumed_cluster_is_started(quiet: Cluster) -> None:
    pause(quiet)
    store.create(quiet, kinds.POD, pod("p"), actor=ACTOR, namespace="default")
    resume(quiet)
    wait_until(lambda: node_of(quiet, "p") == "node-0")
    assert messages() == 0


def test_the_activation_of_a_pod_starts_the_loop(quiet: Cluster, engines: Engines) -> None:
    huge = pod("huge", cpu="1000")
    store.create(quiet, kinds.POD, huge, actor=ACTOR, namespace="default")

    def attempts() -> int:
        return SchedulingDecision.objects.filter(cluster=quiet).count()

    wait_until(lambda: attempts() == 1)
    activate(quiet, ["default/huge"], user="tests")
    wait_until(lambda: attempts() == 2)
    assert messages() == 0


def test_a_cluster_without_a_live_worker_is_sent_to_any() -> None:
    cluster = create_cluster("lab", user="tests", nodes=1)
    Engines().run(cluster.pk)
    LoopLease.objects.filter(cluster=cluster).update(holder="loop_dead")
    assert announcer.flush(10)
    messages()
    store.create(cluster, kinds.POD, pod("p"), actor=ACTOR, namespace="default")
    assert announcer.flush(10)
    assert messages() == 1
