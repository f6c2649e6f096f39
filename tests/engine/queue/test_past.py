"""The queue at a past moment, and the history of its moves, are found by what people ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.errors import BadRequest
from apps.cluster.models import Change, Cluster, Pod
from apps.cluster.writing import store
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.models import QueueMove, SchedulingDecision
from apps.engine.queue import listing
from apps.engine.queue.history import find_moves
from apps.engine.queue.past import (
    PARTS,
    PastMoment,
    PastQueue,
    count_past_queue,
    parse_past_moment,
    read_past_queue,
)
from tests.engine.driving import ACTOR, create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass(frozen=True)
class Life:
    """A cluster, and moments by its clock: with an empty queue, with four pods, at the end."""

    cluster: Cluster
    empty: datetime
    full: datetime
    end: datetime


def run(cluster: Cluster, seconds: float) -> datetime:
    """Let the scheduler act, then advance the clock; the time before that."""
    Engines().run(cluster.pk)
    cluster.refresh_from_db()
    at = cluster.now()
    clock.advance(cluster, seconds)
    cluster.refresh_from_db()
    return at


@pytest.fixture
def life() -> Life:
    cluster = create_cluster("lab", user="tests", nodes=1, tie_break="first-name")
    other = create_cluster("other", user="tests", nodes=1)
    clock.set_manual(cluster)
    cluster.refresh_from_db()
    empty = run(cluster, 10)
    gate = [{"name": "example.com/wait"}]
    create_pods(
        cluster,
        pod("web-1"),
        pod("huge-1", cpu="100"),
        pod("huge-2", cpu="100"),
        pod("gated", schedulingGates=gate),
        pod("foreign", schedulerName="another"),
    )
    store.create(cluster, kinds.NAMESPACE, {"metadata": {"name": "team"}}, actor=ACTOR)
    store.create(cluster, kinds.POD, pod("huge-1", cpu="100"), actor=ACTOR, namespace="team")
    create_pods(other, pod("elsewhere", cpu="100"))
    Engines().run(other.pk)
    full = run(cluster, 10)
    options = {"gracePeriodSeconds": 0}
    store.delete(cluster, kinds.POD, "default", "huge-1", actor=ACTOR, options=options)
    return Life(cluster, empty, full, run(cluster, 10))


def queue_at(life: Life, at: datetime, **selection: Any) -> PastQueue:
    return read_past_queue(life.cluster, PastMoment(at), **selection)


def keys(queue: PastQueue) -> list[str]:
    return [f"{each.namespace}/{each.name}" for each in queue.pods]


def test_the_queue_of_a_moment_has_the_pods_that_waited_then(life: Life) -> None:
    assert keys(queue_at(life, life.empty)) == []
    full = queue_at(life, life.full)
    assert [(each.queue, each.name, each.namespace) for each in full.pods] == [
        ("unschedulable", "huge-1", "default"),
        ("unschedulable", "huge-2", "default"),
        ("unschedulable", "huge-1", "team"),
        ("gated", "gated", "default"),
    ]
    assert full.total == 4 and full.moment.at == life.full
    huge, gated = full.pods[0], full.pods[3]
    assert (huge.attempts, huge.rejected_by) == (1, ["NodeResourcesFit"])
    assert huge.decision == SchedulingDecision.objects.get(pod_uid=huge.uid).pk
    assert huge.left_at is not None and huge.left_to == ""
    assert (gated.event, gated.plugin) == ("UnschedulablePodAdd", "SchedulingGates")
    assert gated.left_at is None and gated.decision is None
    assert "default/huge-1" not in keys(queue_at(life, life.end))


def test_a_decision_of_a_stopped_clock_has_the_queue_in_which_it_was_taken(life: Life) -> None:
    """All decisions of a stopped clock have one time; each one leaves the later pods waiting."""
    decisions = SchedulingDecision.objects.filter(cluster=life.cluster, at=life.full)
    first, *_, last = decisions.order_by("pk")
    queues = []
    for row in (first, last):
        moment = parse_past_moment(life.cluster, {"decision": str(row.pk)})
        assert moment is not None
        queues.append(read_past_queue(life.cluster, moment))
    begun, ended = ({part.value: size for part, size in each.sizes.items()} for each in queues)
    assert (begun["active"], begun["in_flight"], begun["unschedulable"]) == (3, 1, 0)
    assert (ended["active"], ended["unschedulable"]) == (0, 3)
    own = next(each for each in queues[0].pods if each.uid == first.pod_uid)
    assert (own.queue, own.decision) == ("in_flight", None)
    rejected = next(each for each in queues[1].pods if each.uid == last.pod_uid)
    assert (rejected.queue, rejected.decision) == ("unschedulable", last.pk)
    waiting = [each for each in queues[0].pods if each.queue == "active"]
    assert {(each.decision, each.left_to) for each in waiting} == {(None, "in_flight")}


def test_the_parts_of_the_queue_are_counted(life: Life) -> None:
    sizes = dict.fromkeys(PARTS, 0)
    assert queue_at(life, life.empty).sizes == sizes
    expected = sizes | {QueueMove.Place.UNSCHEDULABLE: 3, QueueMove.Place.GATED: 1}
    assert queue_at(life, life.full).sizes == expected
    assert count_past_queue(life.cluster, life.full) == (expected, None)


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        ({"queue": "gated"}, ["default/gated"]),
        ({"pod": "huge"}, ["default/huge-1", "default/huge-2", "team/huge-1"]),
        ({"pod": "team/"}, ["team/huge-1"]),
        ({"pod": "default/1"}, ["default/huge-1"]),
        ({"queue": "unschedulable", "pod": "-1"}, ["default/huge-1", "team/huge-1"]),
        ({"queue": "active"}, []),
    ],
)
def test_pods_of_a_past_queue_are_selected(
    life: Life, selection: Mapping[str, str], found: list[str]
) -> None:
    queue = queue_at(life, life.full, **selection)
    assert keys(queue) == found and queue.total == len(found)
    assert sum(queue.sizes.values()) == 4, "the sizes are those of the whole queue"


def test_a_past_queue_comes_in_pages(life: Life) -> None:
    pages = [queue_at(life, life.full, limit=3, offset=offset) for offset in (0, 3)]
    assert [len(page.pods) for page in pages] == [3, 1]
    assert [page.total for page in pages] == [4, 4]
    assert keys(pages[0]) + keys(pages[1]) == keys(queue_at(life, life.full))


def test_a_wrong_selection_is_refused(life: Life) -> None:
    for wrong in ({"queue": "waiting"}, {"pod": "a\x00b"}):
        (field,) = wrong
        with pytest.raises(BadRequest, match=f"^{field}: "):
            queue_at(life, life.full, **wrong)


def test_a_moment_is_a_time_a_version_or_a_decision(life: Life) -> None:
    assert parse_past_moment(life.cluster, {"at": " ", "version": None}) is None
    at = parse_past_moment(life.cluster, {"at": life.full.isoformat()})
    assert at == PastMoment(life.full)
    decision = SchedulingDecision.objects.filter(cluster=life.cluster, name="web-1").get()
    by_decision = parse_past_moment(life.cluster, {"decision": f" {decision.pk} "})
    assert by_decision is not None and by_decision.move is not None
    assert replace(by_decision, move=None) == PastMoment(
        decision.at, version=decision.cluster_version, decision=decision.pk
    )
    created = Change.objects.get(cluster=life.cluster, kind="Pod", name="web-1", type="ADDED")
    by_version = parse_past_moment(life.cluster, {"version": str(created.version)})
    assert by_version == PastMoment(created.at, version=created.version)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"version": "1", "decision": "2"}, "decision: cannot be combined with version"),
        ({"version": "-1"}, "version: '-1' is not a whole number"),
        ({"version": "1" * 20}, "version: '1{20}' is not a whole number"),
        ({"decision": str(2**63)}, "decision: '9223372036854775808' is not a whole number"),
        ({"decision": str(2**63 - 1)}, "not found"),
        ({"version": "9" * 9}, "version: 999999999 is in the future; the newest version is"),
        ({"at": "2999-01-01T00:00:00Z"}, "at: .* is in the future of the cluster's clock"),
    ],
)
def test_a_wrong_moment_is_named(life: Life, query: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        parse_past_moment(life.cluster, query)


def test_a_queue_from_before_the_oldest_move_says_how_far_back_it_reaches(life: Life) -> None:
    assert queue_at(life, life.empty).reaches_back_to is None, "nothing had happened before"
    assert queue_at(life, life.full).reaches_back_to is None
    with connection.cursor() as cursor:
        # as retention does, which drops the moves of a day
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("DELETE FROM controlplane_queuemove WHERE at <= %s", [life.full])
        cursor.execute("SET session_replication_role = DEFAULT")
    oldest = QueueMove.objects.filter(cluster=life.cluster).order_by("id").first()
    assert oldest is not None and (oldest.name, oldest.target) == ("huge-1", "")
    assert queue_at(life, life.full).reaches_back_to == oldest.at
    assert count_past_queue(life.cluster, life.full)[1] == oldest.at
    assert queue_at(life, life.end).reaches_back_to is None
    assert queue_at(life, life.empty).reaches_back_to is None, "the queue was empty then"


def test_moves_are_found_by_pod_event_plugin_and_time(life: Life) -> None:
    def found(**query: str) -> set[str]:
        return {f"{each.namespace}/{each.name}" for each in find_moves(life.cluster, query)}

    everything = {f"default/{name}" for name in ("web-1", "huge-1", "huge-2", "gated")}
    everything.add("team/huge-1")
    assert found() == everything, "neither pods of other schedulers nor of other clusters"
    assert found(pod="huge-1") == {"default/huge-1", "team/huge-1"}
    assert found(pod="team/huge-1") == {"team/huge-1"}
    uid = str(Pod.objects.get(cluster=life.cluster, name="gated").uid)
    assert found(pod_uid=uid) == {"default/gated"}
    assert found(plugin="SchedulingGates") == {"default/gated"}
    assert found(event="Done") == {"default/web-1"}
    before = (life.full - timedelta(seconds=1)).isoformat()
    assert found(until=before) == set() and found(since=before) == everything
    for wrong in ({"pod": "a\x00b"}, {"event": "\x00"}):
        with pytest.raises(BadRequest, match="^a parameter contains a NUL character"):
            found(**wrong)


@pytest.mark.parametrize(
    ("selection", "count"),
    [({}, 3), ({"queue": "gated"}, 1), ({"pod": "huge"}, 2), ({"namespace": "team"}, 1)],
)
def test_selected_pods_of_the_present_queue_are_counted(
    life: Life, selection: dict[str, str], count: int
) -> None:
    selected = listing.QueueFilter(**selection)
    sizes = listing.count_by_part(life.cluster)
    assert listing.count_pods(life.cluster, selected, sizes) == count
