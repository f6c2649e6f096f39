"""A cluster's clock, and what follows it when it is manual."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.administration import tasks
from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.clusters.settings import change_settings
from apps.cluster import kinds, node_changes, queries
from apps.cluster.errors import Invalid
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop import clock
from apps.engine.loop.engine import Engine
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.engine.workers import lease
from apps.scheduler.framework.status import error

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = Actor("tests")
START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def cluster() -> Cluster:
    """Three nodes, on the first of January 2030."""
    cluster = create_cluster("lab", user="tests", nodes=3, tie_break="first-name")
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=START)
    cluster.refresh_from_db()
    return cluster


def create_pod(cluster: Cluster, name: str, *, cpu: str = "1") -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    body: dict[str, Any] = {"metadata": {"name": name}, "spec": {"containers": [container]}}
    store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")


def engine_of(cluster: Cluster) -> Engine:
    held = lease.acquire(cluster.pk)
    assert held is not None
    return Engine.load(cluster, held)


def attempts(cluster: Cluster) -> int:
    return SchedulingDecision.objects.filter(cluster=cluster).count()


def test_objects_decisions_and_conditions_carry_the_clusters_time(cluster: Cluster) -> None:
    create_pod(cluster, "p")
    clock.advance(cluster, 5)
    Engines().run(cluster.pk)
    pod = queries.get(cluster, kinds.POD, "default", "p")
    assert pod["metadata"]["creationTimestamp"] == "2030-01-01T00:00:00Z"
    assert pod["status"]["conditions"][0]["lastTransitionTime"] == "2030-01-01T00:00:05Z"
    assert SchedulingDecision.objects.get().at == START + timedelta(seconds=5)


def test_a_pod_whose_binding_fails_is_retried_after_1_2_4_8_and_10_seconds(
    cluster: Cluster,
) -> None:
    create_pod(cluster, "p")
    engine = engine_of(cluster)
    engine.informer.catch_up()

    def attempt() -> bool:
        cluster.refresh_from_db()
        engine.timers.flush()
        decision = engine.scheduler.schedule_one()
        if decision is not None:
            engine.scheduler.bind_failed(decision, error("connection refused"))
        return decision is not None

    assert attempt()
    for seconds in (1, 2, 4, 8, 10, 10):
        # as upstream, the pod leaves after the second in which its backoff ends
        clock.advance(cluster, seconds + 0.999)
        assert not attempt()
        clock.advance(cluster, 0.001)
        assert attempt()


def test_an_unschedulable_pod_is_retried_after_five_minutes(cluster: Cluster) -> None:
    create_pod(cluster, "too-big", cpu="100")
    engines = Engines()
    engines.run(cluster.pk)
    clock.advance(cluster, 299)
    engines.run(cluster.pk)
    assert attempts(cluster) == 1
    # the queue is flushed every 30 seconds
    clock.advance(cluster, 31)
    engines.run(cluster.pk)
    assert attempts(cluster) == 2


def test_the_limit_of_the_unschedulable_queue_can_change_while_the_loop_is_warm(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_pod(cluster, "too-big", cpu="100")
    engines = Engines()
    engines.run(cluster.pk)
    change_settings(cluster, {"pod_max_in_unschedulable_pods_seconds": 60})
    clock.advance(cluster, 60)
    engines.run(cluster.pk)
    assert attempts(cluster) == 1
    woken: list[int] = []
    monkeypatch.setattr(tasks, "wake", lambda cluster_id, **how: woken.append(cluster_id))
    clock.advance(cluster, 1)
    tasks.flush_unschedulable()
    assert woken == [cluster.pk]
    clock.advance(cluster, 30)
    engines.run(cluster.pk)
    assert attempts(cluster) == 2


def test_a_new_engine_flushes_the_queue_at_once(cluster: Cluster) -> None:
    create_pod(cluster, "too-big", cpu="100")
    Engines().run(cluster.pk)
    clock.advance(cluster, 301)
    Engines().run(cluster.pk)
    assert attempts(cluster) == 2


def test_beat_finds_what_is_due_by_the_clusters_clock(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[int] = []
    monkeypatch.setattr(tasks, "wake", lambda cluster_id, **how: woken.append(cluster_id))
    create_pod(cluster, "too-big", cpu="100")
    Engines().run(cluster.pk)
    tasks.flush_unschedulable()
    tasks.wake_due_clusters()
    assert woken == []
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=START + timedelta(seconds=301))
    tasks.flush_unschedulable()
    assert woken == [cluster.pk]
    Cluster.objects.filter(pk=cluster.pk).update(timer_at=START + timedelta(seconds=301))
    tasks.wake_due_clusters()
    assert woken == [cluster.pk] * 2


def test_setting_the_clock_forward_makes_the_cluster_due(cluster: Cluster) -> None:
    Engines().run(cluster.pk)
    assert Cluster.objects.get(pk=cluster.pk).due_at is None
    clock.advance(cluster, 1)
    assert Cluster.objects.get(pk=cluster.pk).due_at is not None


def test_a_loop_that_did_not_see_the_clock_move_stays_due(cluster: Cluster) -> None:
    engine = engine_of(cluster)
    engine.informer.catch_up()
    clock.advance(Cluster.objects.get(pk=cluster.pk), 1)
    assert not engine._rest()
    assert Cluster.objects.get(pk=cluster.pk).due_at is not None


def test_the_command_shows_sets_and_advances(cluster: Cluster) -> None:
    def run(*arguments: str) -> str:
        out = StringIO()
        call_command("clock", "lab", *arguments, stdout=out)
        return out.getvalue().strip()

    assert run() == "lab manual 2030-01-01T00:00:00+00:00"
    assert run("--advance", "90") == "lab manual 2030-01-01T00:01:30+00:00"
    assert run("--set", "real").startswith("lab real ")
    assert abs(Cluster.objects.get(pk=cluster.pk).now() - timezone.now()) < timedelta(minutes=1)
    run("--set", "manual", "--advance", "3600")
    ahead = Cluster.objects.get(pk=cluster.pk).now() - timezone.now()
    assert timedelta(minutes=59) < ahead <= timedelta(minutes=60)


@pytest.mark.parametrize(
    ("manual", "seconds", "message"),
    [
        (True, -1, "must not be negative"),
        (True, 1e15, "must not go beyond the year 9999"),
        (True, float("nan"), "must be a number"),
        (False, 1, "a real clock cannot be advanced"),
    ],
)
def test_an_invalid_advance_is_rejected_with_the_reason(
    cluster: Cluster, manual: bool, seconds: float, message: str
) -> None:
    if not manual:
        clock.set_real(cluster)
    with pytest.raises(Invalid, match=message):
        clock.advance(cluster, seconds)


def test_fast_forward_jumps_from_backoff_to_toleration_to_grace_period(cluster: Cluster) -> None:
    create_pod(cluster, "p")
    create_pod(cluster, "huge", cpu="99")
    Engines().run(cluster.pk)
    node = queries.get(cluster, kinds.POD, "default", "p")["spec"]["nodeName"]
    unknown = node_changes.change_condition("Ready", "Unknown", cluster.now())
    node_changes.change_nodes(cluster, [node], unknown, actor=ACTOR, subresource="status")
    clock.fast_forward(cluster, 3600)
    engines = Engines()
    for _ in range(20):
        cluster.refresh_from_db()
        if cluster.clock_until is None:
            break
        engines.run(cluster.pk)
    assert clock.mode_of(cluster) == "manual"
    assert cluster.now() == START + timedelta(hours=1)
    pod = queries.get(cluster, kinds.POD, "default", "p")
    # 300 seconds of toleration, 30 of grace
    assert pod["metadata"]["deletionTimestamp"] == "2030-01-01T00:05:30Z"
    tried = SchedulingDecision.objects.filter(cluster=cluster, name="huge")
    assert tried.count() > 5, "it is flushed every five minutes"


def test_clock_runs_at_a_speed_of_its_own(cluster: Cluster) -> None:
    clock.set_speed(cluster, 3600)
    Cluster.objects.filter(pk=cluster.pk).update(
        clock_moved_at=timezone.now() - timedelta(seconds=2)
    )
    tasks.move_clocks()
    cluster.refresh_from_db()
    assert timedelta(hours=2) <= cluster.now() - START < timedelta(hours=3)
    clock.set_manual(cluster)
    assert cluster.clock_speed is None and clock.mode_of(cluster) == "manual"


@pytest.mark.parametrize("speed", [0, -1, 1e9, float("nan")])
def test_speed_has_limits(cluster: Cluster, speed: float) -> None:
    with pytest.raises(Invalid, match="must be above 0"):
        clock.set_speed(cluster, speed)
    assert clock.mode_of(Cluster.objects.get(pk=cluster.pk)) == "manual"
