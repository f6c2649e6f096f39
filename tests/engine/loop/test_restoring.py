"""A queue that was lost with its process is restored exactly as it was recorded."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.exchange import Answer, Exchange
from apps.cluster.log.announce import CHANNEL
from apps.cluster.models import Cluster, Pod
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop import clock
from apps.engine.loop.engine import Engine
from apps.engine.loop.engines import Engines
from apps.engine.models import LoopLease, QueueEntry, QueueMove, SchedulingDecision
from apps.engine.workers import lease
from apps.scheduler.queue.records import SavedEntry
from apps.studies.history.story import read_story
from tests.engine.driving import ACTOR, configure, create_pods, enable, pod

pytestmark = pytest.mark.django_db(transaction=True)
START = datetime(2030, 1, 1, tzinfo=UTC)
HELD = {"schedulingGates": [{"name": "example.com/wait"}]}


class Killed(BaseException):
    """The process was killed."""


@pytest.fixture
def cluster() -> Cluster:
    """Three nodes, on the first of January 2030."""
    cluster = create_cluster("lab", user="tests", nodes=3, zones=3, tie_break="first-name")
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=START)
    cluster.refresh_from_db()
    important = {"metadata": {"name": "important"}, "value": 5}
    store.create(cluster, kinds.PRIORITY_CLASS, important, actor=ACTOR)
    return cluster


def load(cluster: Cluster) -> Engine:
    held = lease.acquire(cluster.pk)
    assert held is not None
    return Engine.load(cluster, held)


def dump(engine: Engine) -> list[SavedEntry]:
    return engine.scheduler.queue.dump()


@contextmanager
def killed_at(statement: int) -> Iterator[None]:
    """The process dies when it is about to send its n-th statement to the database.

    Announcements do not count: they follow the commit, and a lost one is found in the log.
    """
    left = statement
    send = Exchange.send

    def count(sql: str) -> None:
        nonlocal left
        left -= "pg_notify" not in sql
        if left < 0:
            raise Killed

    def counted_execute(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        count(sql)
        return execute(sql, *arguments)

    def counted_send(self: Exchange, sql: str, *arguments: Any) -> Answer:
        count(sql)
        return send(self, sql, *arguments)

    try:
        with (
            connection.execute_wrapper(counted_execute),
            patch.object(Exchange, "send", counted_send),
        ):
            yield
    except Killed:
        pass


def states_of(engine: Engine) -> list[list[SavedEntry]]:
    """The queue after loading, and after each record; the list grows while the engine runs."""
    states = [dump(engine)]
    record = engine.recorder.record

    def record_and_dump(*arguments: Any) -> None:
        record(*arguments)
        states.append(dump(engine))

    engine.recorder.record = record_and_dump  # type: ignore[method-assign]
    return states


class Users:
    """Makes random changes to the cluster, and advances its clock."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.draw = random.Random(seed)
        self.created = 0

    def act(self) -> None:
        for _ in range(self.draw.randrange(1, 5)):
            action = self.draw.choice(
                (self.add_pods, self.add_pods, self.delete_pod, self.open_gate, self.add_node)
            )
            # the pod may be deleted or bound in the meantime
            with suppress(ApiError):
                action()
        if self.draw.random() < 0.7:
            clock.advance(self.cluster, self.draw.choice((0.5, 1, 3, 31, 301)))

    def add_pods(self) -> None:
        bodies = []
        for _ in range(self.draw.randrange(1, 6)):
            self.created += 1
            name = f"p{self.draw.randrange(100):02}-{self.created}"
            kind = self.draw.random()
            spec: dict[str, Any] = {}
            if self.draw.random() < 0.3:
                spec["priorityClassName"] = "important"
            if kind < 0.2:
                spec |= HELD
            elif kind < 0.5:
                spec["nodeSelector"] = {"disk": self.draw.choice(("ssd", "tape"))}
            bodies.append(pod(name, cpu=self.draw.choice(("100m", "1", "3", "64")), **spec))
        create_pods(self.cluster, *bodies)

    def delete_pod(self) -> None:
        if name := self._some_pod():
            store.delete(self.cluster, kinds.POD, "default", name, actor=ACTOR)

    def open_gate(self) -> None:
        def change(body: dict[str, Any]) -> dict[str, Any]:
            return {**body, "spec": {**body["spec"], "schedulingGates": []}}

        if name := self._some_pod():
            store.patch(self.cluster, kinds.POD, "default", name, change, actor=ACTOR)

    def add_node(self) -> None:
        self.created += 1
        body = generate_node(f"more-{self.created}", "zone-1", cpu="2")
        body["metadata"]["labels"]["disk"] = self.draw.choice(("ssd", "none"))
        store.create(self.cluster, kinds.NODE, body, actor=ACTOR)

    def _some_pod(self) -> str:
        pending = Pod.objects.filter(cluster=self.cluster, node_name="").order_by("id")
        names = list(pending.exclude(name="hopeless").values_list("name", flat=True))
        return self.draw.choice(names) if names else ""


@pytest.mark.parametrize("seed", range(3))
def test_an_engine_killed_at_any_statement_leaves_its_queue_as_last_recorded(
    cluster: Cluster, seed: int
) -> None:
    users = Users(cluster, seed)
    create_pods(cluster, pod("hopeless", cpu="1000"))
    load(cluster).run(5)
    killed = 0
    for _ in range(18):
        engine = load(cluster)
        states = states_of(engine)
        users.act()
        finished = False
        with killed_at(users.draw.randrange(1, 40)):
            engine.run(5)
            finished = True
        killed += not finished
        engine.close()
        assert dump(load(cluster)) == states[-1]
    assert killed > 5
    assert_moves_are_chains(cluster)


def assert_moves_are_chains(cluster: Cluster) -> None:
    """Each pod's moves start outside, are contiguous, and end where the pod is."""
    places: dict[str, str] = {}
    for move in QueueMove.objects.filter(cluster=cluster).order_by("id"):
        uid = str(move.pod_uid)
        assert move.source == places.get(uid, ""), move
        assert move.source != move.target, move
        places[uid] = move.target
    here = {uid: place for uid, place in places.items() if place}
    assert here == {entry.pod_uid: entry.queue for entry in dump(load(cluster))}
    gone = set(places) - set(here)
    assert gone and len(here) > 1


def test_pods_that_wait_for_their_first_attempt_keep_their_order_and_time(
    cluster: Cluster,
) -> None:
    create_pods(cluster, pod("z"), pod("a"), pod("m"))
    clock.advance(cluster, 2)
    create_pods(cluster, pod("b"))
    first = load(cluster)
    first.informer.catch_up()
    assert [entry.pod_key for entry in dump(first)] == [f"default/{name}" for name in "zamb"]
    assert dump(load(cluster)) == dump(first)
    assert dump(first)[0].timestamp == START.timestamp()
    assert dump(first)[3].timestamp == START.timestamp() + 2


def test_recorded_pods_without_an_attempt_keep_their_time_unless_the_revision_is_new(
    cluster: Cluster,
) -> None:
    """Also if the engine has loaded its objects long after they arrived."""
    create_pods(cluster, pod("z"), pod("a"))
    engine = load(cluster)
    engine.informer.catch_up()
    queue = engine.scheduler.queue
    engine.recorder.record([], queue.take_changes())
    recorded = LoopLease.objects.get(cluster=cluster).consumed_version
    cluster.refresh_from_db()
    assert recorded == cluster.resource_version and not QueueEntry.objects.exists()
    assert dump(load(cluster)) == dump(engine), "waiting, and known"
    clock.advance(cluster, 5)
    enable(cluster, "NodeResourcesFit")
    again = load(cluster)
    entries = dump(again)
    assert {entry.pod_key for entry in entries} == {"default/z", "default/a"}
    assert [entry.attempts for entry in entries] == [0, 0]
    again.run(5)
    found = SchedulingDecision.objects.filter(cluster=cluster)
    assert set(found.values_list("name", "attempt")) == {("z", 1), ("a", 1)}


def test_a_pod_in_flight_at_a_crash_is_ready_again_with_its_attempts_as_before(
    cluster: Cluster,
) -> None:
    create_pods(cluster, pod("p", cpu="64"))
    load(cluster).run(5)
    clock.advance(cluster, 400)
    doomed = load(cluster)
    doomed.timers.flush()
    doomed.recorder.record([], doomed.scheduler.queue.take_changes())
    [ready] = dump(doomed)
    assert (ready.queue, ready.attempts) == ("active", 1)
    popped = doomed.scheduler.queue.pop()
    assert popped is not None and popped.attempts == 2
    assert dump(load(cluster)) == [ready]


def test_an_event_that_the_killed_loop_missed_still_activates_its_pods(cluster: Cluster) -> None:
    create_pods(cluster, pod("wants-ssd", nodeSelector={"disk": "ssd"}))
    load(cluster).run(5)
    fast = generate_node("fast", "zone-1")
    fast["metadata"]["labels"]["disk"] = "ssd"
    store.create(cluster, kinds.NODE, fast, actor=ACTOR)
    load(cluster).run(5)
    assert Pod.objects.get(cluster=cluster).node_name == "fast"


def test_every_pod_is_activated_when_the_log_was_deleted(cluster: Cluster) -> None:
    create_pods(cluster, pod("wants-ssd", nodeSelector={"disk": "ssd"}))
    load(cluster).run(5)
    fast = generate_node("fast", "zone-1")
    fast["metadata"]["labels"]["disk"] = "ssd"
    store.create(cluster, kinds.NODE, fast, actor=ACTOR)
    cluster.refresh_from_db()
    Cluster.objects.filter(pk=cluster.pk).update(forgotten_version=cluster.resource_version)
    clock.advance(cluster, 20)
    load(cluster).run(5)
    assert Pod.objects.get(cluster=cluster).node_name == "fast"


def test_a_new_revision_is_in_use_only_after_the_first_record(
    cluster: Cluster,
) -> None:
    create_pods(cluster, pod("p", cpu="64"))
    load(cluster).run(5)
    enable(cluster, "NodeResourcesFit")
    for _ in range(2):
        # the first engine recorded nothing
        engine = load(cluster)
        assert [entry.queue for entry in dump(engine)] == ["active"]
    assert LoopLease.objects.get(cluster=cluster).profile_revision == 1
    engine.run(5)
    assert LoopLease.objects.get(cluster=cluster).profile_revision == 2
    assert QueueEntry.objects.get(cluster=cluster).attempts == 2


def test_attempts_are_counted_on_when_a_profile_is_gone_for_a_while() -> None:
    cluster = create_cluster("lab", user="tests", nodes=1)
    engines = Engines()
    create_pods(cluster, pod("p", cpu="100"))
    engines.run(cluster.pk)
    for name in ("default-scheduler", "other", "default-scheduler"):
        configure(cluster, profiles=[{"schedulerName": name}])
        engines.run(cluster.pk)
    rows = SchedulingDecision.objects.order_by("pk").values_list("attempt", "profile_revision")
    assert list(rows) == [(1, 1), (2, 2), (3, 4)]
    found = Pod.objects.get(cluster=cluster, name="p")
    titles = [entry.title for entry in read_story(cluster, found.uid)]
    attempts = [title for title in titles if title.startswith(("attempt", "revision"))]
    assert attempts == ["attempt 1", "revision 2", "attempt 2", "revision 4", "attempt 3"]


def test_a_record_confirms_exactly_what_was_read_before_its_batch(cluster: Cluster) -> None:
    """A change during the batch is read again by the next loop; a bound pod leaves the queue."""
    create_pods(cluster, pod("p", cpu="64"))
    load(cluster).run(5)
    assert QueueEntry.objects.filter(cluster=cluster).count() == 1
    engine = load(cluster)
    record, seen = engine.recorder.record, []

    def record_after_another_change(*arguments: Any) -> None:
        if not seen:
            create_pods(cluster, pod("late", cpu="64"))
        position = engine.informer.position
        record(*arguments)
        seen.append((LoopLease.objects.get(cluster=cluster).consumed_version, position))
        bound = Pod.objects.exclude(node_name="").values_list("uid", flat=True)
        assert not QueueEntry.objects.filter(pod_uid__in=bound).exists()

    engine.recorder.record = record_after_another_change  # type: ignore[method-assign]
    store.create(cluster, kinds.NODE, generate_node("huge", "zone-1", cpu="65"), actor=ACTOR)
    clock.advance(cluster, 20)
    engine.run(5)
    assert Pod.objects.get(cluster=cluster, name="p").node_name == "huge"
    assert [each.pod_key for each in dump(load(cluster))] == ["default/late"]
    assert set(QueueEntry.objects.values_list("name", flat=True)) == {"late"}
    assert seen and all(consumed == position for consumed, position in seen)


def test_a_nomination_survives_a_crash(cluster: Cluster) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "status": {**body.get("status", {}), "nominatedNodeName": "node-1"}}

    create_pods(cluster, pod("vip"))
    store.patch(cluster, kinds.POD, "default", "vip", change, actor=ACTOR, subresource="status")
    nominated = load(cluster).scheduler.queue.nominator
    assert [(node, info.key) for node, info in nominated] == [("node-1", "default/vip")]


def test_pages_learn_of_moves_in_the_queue_that_change_no_object(cluster: Cluster) -> None:
    create_pods(cluster, pod("p", cpu="64"))
    load(cluster).run(5)
    clock.advance(cluster, 400)
    engine = load(cluster)
    engine.timers.flush()
    parameters = connection.get_connection_params()
    keys = ("dbname", "user", "password", "host", "port")
    with psycopg.connect(
        **{key: parameters[key] for key in keys if parameters.get(key)}, autocommit=True
    ) as pages:
        pages.execute(f"LISTEN {CHANNEL}")
        engine.recorder.record([], engine.scheduler.queue.take_changes())
        [heard] = pages.notifies(timeout=10, stop_after=1)
    assert heard.payload.split()[0] == str(cluster.pk)


def test_moves_are_consistent_when_configurations_are_activated_meanwhile(cluster: Cluster) -> None:
    create_pods(cluster, *(pod(f"p{number}", cpu="10m") for number in range(60)))
    nowhere = {"nodeSelector": {"there-is": "none"}}
    create_pods(cluster, *(pod(f"x{number}", **nowhere) for number in range(5)))
    with patch("apps.engine.loop.scheduling.BATCH_DECISIONS", 10):
        for percentage in (100, 90, 80):
            engine = load(cluster)
            engine.run(10, stopping=lambda: True)
            engine.close()
            configure(cluster, percentageOfNodesToScore=percentage)
    engines = Engines()
    engines.run(cluster.pk)
    engines.close()
    assert Pod.objects.filter(cluster=cluster).exclude(node_name="").count() == 60
    places: dict[str, str] = {}
    for move in QueueMove.objects.filter(cluster=cluster).order_by("id"):
        assert move.source == places.get(move.name, ""), (move.name, move.event)
        assert move.source != move.target
        places[move.name] = move.target
    assert {name: place for name, place in places.items() if name.startswith("p")} == {
        f"p{number}": "" for number in range(60)
    }
