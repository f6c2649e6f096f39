"""The loop from the change log to the bindings and the ledger, run in this process."""

from __future__ import annotations

import threading
from itertools import chain
from typing import Any

import pytest
from django.db import OperationalError, connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.models import Cluster, Event, Pod
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.engine.ledger.reading import read
from apps.engine.loop.engine import Engine
from apps.engine.loop.engines import Engines
from apps.engine.models import LoopLease, QueueEntry, SchedulingDecision
from apps.engine.profiles import revisions
from apps.engine.workers import lease
from apps.engine.workers.waiting import loop_states
from apps.scheduler.queue.records import SavedEntry

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = Actor("tests", "request-9")


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3, zones=3, tie_break="first-name")


def pod(name: str, *, cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def create_pods(cluster: Cluster, *bodies: dict[str, Any]) -> None:
    writes = [Create(kinds.POD, body, "default") for body in bodies]
    store.write(cluster, writes, actor=ACTOR)


def nodes_of(cluster: Cluster) -> dict[str, str]:
    return dict(Pod.objects.filter(cluster=cluster).values_list("name", "node_name"))


def dump(engine: Engine) -> list[SavedEntry]:
    """The queue's state; unschedulable pods have no order among themselves."""
    return sorted(engine.scheduler.queue.dump(), key=lambda entry: entry.pod_key)


def test_pods_are_bound_and_every_decision_is_recorded(cluster: Cluster) -> None:
    create_pods(cluster, *(pod(f"p{number}") for number in range(6)))
    assert Engines().run(cluster.pk) is False
    assert all(nodes_of(cluster).values())
    decisions = SchedulingDecision.objects.filter(cluster=cluster)
    assert decisions.count() == 6
    assert set(decisions.values_list("result", "attempt", "feasible_nodes")) == {
        ("scheduled", 1, 3)
    }
    assert set(decisions.values_list("request_id", flat=True)) == {"request-9"}
    assert not QueueEntry.objects.filter(cluster=cluster).exists()
    assert Event.objects.filter(cluster=cluster, reason="Scheduled").count() == 6
    body = queries.get(cluster, kinds.POD, "default", "p0")
    conditions = {each["type"]: each["status"] for each in body["status"]["conditions"]}
    assert conditions["PodScheduled"] == "True"


def test_pods_with_the_longest_names_are_scheduled_and_have_events(cluster: Cluster) -> None:
    """The name of an event is that of its object and a suffix, but no longer than a name may be."""
    longest = ".".join(letter * 62 for letter in "abcd") + "e"
    assert len(longest) == 252
    create_pods(cluster, pod(f"{longest}1"), pod(f"{longest}2", cpu="64"))
    assert Engines().run(cluster.pk) is False
    reasons = Event.objects.filter(cluster=cluster).values_list("reason", flat=True)
    assert {"Scheduled", "FailedScheduling"} <= set(reasons)


def test_a_quiet_cluster_is_not_due_and_has_consumed_everything(cluster: Cluster) -> None:
    create_pods(cluster, pod("p"), pod("too-big", cpu="100"))
    assert Cluster.objects.get(pk=cluster.pk).due_at is not None
    Engines().run(cluster.pk)
    cluster.refresh_from_db()
    assert cluster.due_at is None
    state = list(loop_states(cluster, timeout=0))[-1]
    assert state.quiet
    assert LoopLease.objects.get(cluster=cluster).consumed_version == cluster.resource_version


def test_an_unschedulable_pod_shows_the_reason(cluster: Cluster) -> None:
    create_pods(cluster, pod("too-big", cpu="100"))
    Engines().run(cluster.pk)
    entry = QueueEntry.objects.get(cluster=cluster)
    assert (entry.queue, entry.attempts, entry.unschedulable_plugins) == (
        "unschedulable",
        1,
        ["NodeResourcesFit"],
    )
    message = "0/3 nodes are available: 3 Insufficient cpu."
    decision = SchedulingDecision.objects.get(cluster=cluster)
    assert (decision.result, decision.message) == ("unschedulable", message)
    status = queries.get(cluster, kinds.POD, "default", "too-big")["status"]
    condition = next(each for each in status["conditions"] if each["type"] == "PodScheduled")
    assert condition["status"] == "False" and condition["reason"] == "Unschedulable"
    assert condition["message"].startswith(message)
    event = Event.objects.get(cluster=cluster, reason="FailedScheduling")
    assert event.body["message"].startswith(message) and event.body["type"] == "Warning"


def test_a_gated_pod_waits_until_its_gate_is_removed(cluster: Cluster) -> None:
    create_pods(cluster, pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    engines = Engines()
    engines.run(cluster.pk)
    entry = QueueEntry.objects.get(cluster=cluster)
    assert (entry.queue, entry.gated_by, entry.attempts) == ("gated", "SchedulingGates", 0)
    store.patch(
        cluster,
        kinds.POD,
        "default",
        "gated",
        lambda body: {**body, "spec": {**body["spec"], "schedulingGates": []}},
        actor=ACTOR,
    )
    engines.run(cluster.pk)
    assert nodes_of(cluster)["gated"]
    assert not QueueEntry.objects.filter(cluster=cluster).exists()


def test_a_new_node_activates_a_pod_that_fits_it(cluster: Cluster) -> None:
    create_pods(cluster, pod("wants-ssd", nodeSelector={"disk": "ssd"}))
    engines = Engines()
    engines.run(cluster.pk)
    assert nodes_of(cluster)["wants-ssd"] == ""
    store.create(
        cluster,
        kinds.NODE,
        {
            "metadata": {"name": "fast", "labels": {"disk": "ssd"}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
        },
        actor=ACTOR,
    )
    engines.run(cluster.pk)
    assert nodes_of(cluster)["wants-ssd"] == "fast"
    attempts = SchedulingDecision.objects.filter(cluster=cluster).order_by("id")
    assert list(attempts.values_list("attempt", "result")) == [
        (1, "unschedulable"),
        (2, "scheduled"),
    ]


def test_the_ledger_contains_what_was_decided(cluster: Cluster) -> None:
    create_pods(cluster, pod("p", cpu="2"), pod("too-big", cpu="100"))
    held = lease.acquire(cluster.pk)
    assert held is not None
    engine = Engine.load(cluster, held)
    engine.informer.catch_up()
    batch = [*chain.from_iterable(engine.batches.schedule([]))]
    engine.recorder.record(batch, engine.scheduler.queue.take_changes())
    rows = SchedulingDecision.objects.filter(cluster=cluster).order_by("id")
    for row, decision in zip(rows, [each.decision for each in batch], strict=True):
        kept = read(row).decision
        assert kept.message == decision.message
        assert kept.result == decision.result
        assert kept.tied_nodes() == decision.tied_nodes()
        for name in ("node-0", "node-1", "node-2"):
            assert kept.status_of(name) == decision.status_of(name)
            if decision.result == "scheduled":
                assert kept.scores_of(name) == decision.scores_of(name)


def test_a_pod_bound_by_another_scheduler_is_bound_once(cluster: Cluster) -> None:
    create_pods(cluster, pod("p"), pod("q"))
    held = lease.acquire(cluster.pk)
    assert held is not None
    engine = Engine.load(cluster, held)
    batch = [*chain.from_iterable(engine.batches.schedule([]))]
    binding = {"target": {"kind": "Node", "name": "node-2"}}
    store.bind(cluster, "default", "p", binding, actor=Actor("another scheduler"))
    engine.recorder.record(batch, engine.scheduler.queue.take_changes())
    assert engine.run(5) is False
    assert nodes_of(cluster)["p"] == "node-2" and nodes_of(cluster)["q"]
    results = SchedulingDecision.objects.filter(cluster=cluster, name="p")
    assert list(results.values_list("result", flat=True)) == ["error"]
    engine.scheduler.validate()


def test_a_holder_that_lost_its_lease_writes_nothing(cluster: Cluster) -> None:
    create_pods(cluster, pod("p"))
    held = lease.acquire(cluster.pk, "stalled")
    assert held is not None
    stalled = Engine.load(cluster, held)
    batch = [*chain.from_iterable(stalled.batches.schedule([]))]
    LoopLease.objects.filter(cluster=cluster).update(expires_at="2000-01-01T00:00:00Z")
    assert lease.acquire(cluster.pk, "next") is not None
    before = Cluster.objects.get(pk=cluster.pk).resource_version
    with pytest.raises(lease.LeaseLost):
        stalled.recorder.record(batch, stalled.scheduler.queue.take_changes())
    assert Cluster.objects.get(pk=cluster.pk).resource_version == before
    assert nodes_of(cluster) == {"p": ""}
    assert not SchedulingDecision.objects.filter(cluster=cluster).exists()


def test_a_run_that_lost_its_connection_frees_the_lease_at_once(cluster: Cluster) -> None:
    create_pods(cluster, pod("first"))
    engines = Engines()
    engines.run(cluster.pk)
    assert nodes_of(cluster)["first"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()

    def interrupt() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [backend])
        connection.close()

    # while it waits for the next change
    timer = threading.Timer(0.3, interrupt)
    timer.start()
    with pytest.raises(OperationalError):
        engines.run(cluster.pk, waits=True)
    timer.join()
    assert lease.acquire(cluster.pk, "other") is not None
    engines.close()


def test_a_new_engine_restores_the_queue_of_the_previous_one(cluster: Cluster) -> None:
    create_pods(
        cluster,
        pod("a", cpu="100"),
        pod("b", nodeSelector={"missing": "label"}),
        pod("c", schedulingGates=[{"name": "example.com/wait"}]),
    )
    held = lease.acquire(cluster.pk)
    assert held is not None
    first = Engine.load(cluster, held)
    assert first.run(5) is False
    second = Engine.load(cluster, held)
    assert dump(second) == dump(first)


def test_a_paused_cluster_schedules_nothing(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(paused=True)
    create_pods(cluster, pod("p"))
    assert Engines().run(cluster.pk) is False
    assert nodes_of(cluster) == {"p": ""}


def test_a_new_revision_activates_rejected_pods(cluster: Cluster) -> None:
    store.patch(
        cluster,
        kinds.NODE,
        "",
        "node-1",
        lambda body: {**body, "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}},
        actor=ACTOR,
    )
    create_pods(cluster, pod("p", nodeSelector={"kubernetes.io/hostname": "node-1"}))
    engines = Engines()
    engines.run(cluster.pk)
    assert nodes_of(cluster) == {"p": ""}
    lenient = "\n".join(
        (
            "apiVersion: kubescheduler.config.k8s.io/v1",
            "kind: KubeSchedulerConfiguration",
            "profiles:",
            "- plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}",
        )
    )
    revisions.add_revision(cluster, lenient, user="tests")
    engines.run(cluster.pk)
    assert nodes_of(cluster) == {"p": "node-1"}
    decisions = SchedulingDecision.objects.filter(cluster=cluster).order_by("id")
    assert list(decisions.values_list("profile_revision", flat=True)) == [1, 2]
