"""One wake-up of the loop is sent for all changes until the loop has read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta

import pytest
from celery import current_app
from django.utils import timezone

from apps.administration import tasks
from apps.administration.clusters.lifecycle import create_cluster, pause, resume
from apps.cluster import kinds
from apps.cluster.log.announce import announcer, wake_hooks
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.engine.loop import engines as engines_room
from apps.engine.loop.engines import Engines
from apps.engine.models import Heartbeat, LoopLease
from apps.engine.workers import heartbeat, lease
from apps.engine.workers.pulse import HeartbeatSender
from tests.engine.driving import ACTOR, pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def quiet() -> Cluster:
    """A cluster whose loop has nothing left to do."""
    cluster = create_cluster("lab", user="tests", nodes=1)
    Engines().run(cluster.pk)
    assert announcer.flush(10)
    return cluster


@pytest.fixture
def woken() -> Iterator[list[int]]:
    """The ids of the woken clusters, one entry for each wake-up."""
    heard: list[int] = []
    wake_hooks.append(heard.append)
    yield heard
    wake_hooks.remove(heard.append)


def create_one_by_one(cluster: Cluster, count: int) -> None:
    for number in range(count):
        store.create(cluster, kinds.POD, pod(f"p{number}"), actor=ACTOR, namespace="default")
    assert announcer.flush(10)


def test_many_posts_are_one_wake_up(quiet: Cluster, woken: list[int]) -> None:
    create_one_by_one(quiet, 30)
    assert woken == [quiet.pk]


def test_the_next_change_after_the_loop_was_quiet_wakes_it_again(
    quiet: Cluster, woken: list[int]
) -> None:
    create_one_by_one(quiet, 2)
    Engines().run(quiet.pk)
    store.delete(quiet, kinds.POD, "default", "p0", actor=ACTOR)
    assert announcer.flush(10)
    assert woken == [quiet.pk] * 2


def test_a_paused_cluster_is_woken_when_it_is_resumed(quiet: Cluster, woken: list[int]) -> None:
    pause(quiet)
    assert announcer.flush(10)
    assert woken == []
    resume(quiet)
    assert announcer.flush(10)
    assert woken == [quiet.pk]


def messages(queue: str) -> int:
    """Remove all messages from a queue; returns their number."""
    with current_app.connection_for_read() as broker:
        broker.default_channel.queue_declare(queue)
        return int(broker.default_channel.queue_purge(queue))


@pytest.mark.parametrize(
    ("seconds", "queue", "other"), [(1, "loop_warm", "schedweb"), (10, "schedweb", "loop_warm")]
)
def test_a_due_cluster_goes_to_its_last_worker_and_after_a_delay_to_any(
    quiet: Cluster, seconds: float, queue: str, other: str
) -> None:
    heartbeat.touch("loop_warm")
    LoopLease.objects.filter(cluster=quiet).update(holder="loop_warm")
    Cluster.objects.update(due_at=timezone.now() - timedelta(seconds=seconds))
    for name in (queue, other):
        messages(name)
    tasks.wake_due_clusters()
    assert (messages(queue), messages(other)) == (1, 0)


@pytest.mark.parametrize("crowded", [True, False])
def test_one_of_several_busy_clusters_goes_to_a_worker_that_has_none(
    quiet: Cluster, crowded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines_room, "SLICE_SECONDS", 0.0)
    store.create(quiet, kinds.POD, pod("p"), actor=ACTOR, namespace="default")
    other = create_cluster("other", user="tests")
    assert announcer.flush(10)
    assert lease.acquire(other.pk, "loop_busy")
    for name in (lease.process_name(), "loop_idle", "loop_busy"):
        heartbeat.touch(name)
        messages(name)
    with tasks.engines._lock_of(other.pk) if crowded else nullcontext():
        tasks.run_loop(quiet.pk)
    sent = {name: messages(name) for name in (lease.process_name(), "loop_idle", "loop_busy")}
    wanted = "loop_idle" if crowded else lease.process_name()
    assert sent == dict.fromkeys(sent, 0) | {wanted: 1}
    assert (lease.acquire(quiet.pk, "loop_idle") is not None) is crowded


def test_a_dead_worker_is_deleted_with_its_queue() -> None:
    now = timezone.now()
    Heartbeat.objects.create(name="loop_dead", at=now - timedelta(minutes=5))
    Heartbeat.objects.create(name="loop_alive", at=now - timedelta(seconds=5))
    Heartbeat.objects.create(name="beat", at=now - timedelta(minutes=5))
    tasks.forget_dead_workers()
    assert set(Heartbeat.objects.values_list("name", flat=True)) == {"loop_alive", "beat"}


def test_after_a_start_a_process_is_dead_until_its_first_heartbeat(quiet: Cluster) -> None:
    heartbeat.touch("loop_old")
    heartbeat.touch("beat")
    heartbeat.expire()
    assert heartbeat.dead_workers() == ["loop_old"]
    assert (heartbeat.age("beat") or 0) >= heartbeat.DEAD_SECONDS
    heartbeat.touch("loop_old")
    assert heartbeat.dead_workers() == []


def test_a_stopped_worker_gets_no_messages_and_is_deleted(quiet: Cluster) -> None:
    pulse = HeartbeatSender("loop_going")
    heartbeat.touch("loop_going")
    heartbeat.touch("loop_staying")
    LoopLease.objects.filter(cluster=quiet).update(holder="loop_going")
    assert heartbeat.queue_of_holder(quiet.pk) == "loop_going"
    pulse.start()
    pulse.stop()
    assert heartbeat.queue_of_holder(quiet.pk) is None
    assert heartbeat.dead_workers() == ["loop_going"]
