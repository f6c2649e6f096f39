"""The story of a pod in order, also after the pod is deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.ledger import finding
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.engine.profiles import revisions
from apps.studies.history.story import StoryEntry, condense, find_last_body, read_story

pytestmark = pytest.mark.django_db

ALICE = Actor("alice", "request-7")


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    return create_cluster("lab", user="alice", nodes=1)


def pod(name: str, *, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu}}
    container = {"name": "main", "image": "example/main:1", "resources": resources}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], **spec},
    }


def create(cluster: Cluster, body: dict[str, Any]) -> Pod:
    store.create(cluster, kinds.POD, body, actor=ALICE)
    return Pod.objects.get(cluster=cluster, name=body["metadata"]["name"])


def titles(cluster: Cluster, found: Pod) -> list[str]:
    return [entry.title for entry in read_story(cluster, found.uid)]


def test_a_pod_is_created_attempted_bound_and_runs(cluster: Cluster) -> None:
    web = create(cluster, pod("web"))
    Engines().run(cluster.pk)
    created, queued, attempt, bound, *others = read_story(cluster, web.uid)
    assert (queued.kind, queued.title) == ("move", "to activeQ")
    assert (created.title, created.user, created.request_id) == ("created", "alice", "request-7")
    assert (attempt.title, attempt.outcome, attempt.node) == ("attempt 1", "scheduled", "node-0")
    assert attempt.text == "1 of 1 node was feasible"
    assert (bound.title, bound.node) == ("bound", "node-0")
    assert [each.title for each in others] == ["running"]


def test_what_came_after_the_clock_was_set_back_is_told_later(cluster: Cluster) -> None:
    big = create(cluster, pod("big", cpu="64"))
    Engines().run(cluster.pk)
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=cluster.now() - timedelta(hours=1))
    cluster.refresh_from_db()
    node = generate_node("large", "zone-1")
    node["status"]["allocatable"]["cpu"] = "64"
    store.create(cluster, kinds.NODE, node, actor=ALICE)
    Engines().run(cluster.pk)
    story = read_story(cluster, big.uid)
    shown = [entry.title for entry in story if entry.kind != "event"]
    assert shown[:3] == ["created", "to activeQ", "attempt 1"]
    assert shown[3] == "to unschedulable" and shown[4] in ("to backoffQ", "to activeQ")
    assert shown[-3:] == ["attempt 2", "bound", "running"]
    assert story[-1].at < story[0].at


def test_a_gate_and_its_removal_are_shown(cluster: Cluster) -> None:
    held = create(cluster, pod("held", schedulingGates=[{"name": "example.com/quota"}]))
    Engines().run(cluster.pk)
    first = read_story(cluster, held.uid)[0]
    assert first.text == "waiting for scheduling gates: example.com/quota"

    def ungate(body: Any) -> Any:
        return {**body, "spec": {k: v for k, v in body["spec"].items() if k != "schedulingGates"}}

    store.patch(cluster, kinds.POD, "default", "held", ungate, actor=ALICE)
    Engines().run(cluster.pk)
    shown = titles(cluster, held)
    assert shown.index("created") < shown.index("gate removed") < shown.index("bound")


def test_a_refused_attempt_says_why_once(cluster: Cluster) -> None:
    huge = create(cluster, pod("huge", cpu="100"))
    Engines().run(cluster.pk)
    refused = [each for each in read_story(cluster, huge.uid) if "Insufficient cpu" in each.text]
    assert [each.title for each in refused] == ["attempt 1"]
    assert refused[0].outcome == "unschedulable"
    waits = read_story(cluster, huge.uid)[-1]
    assert (waits.title, waits.text) == ("to unschedulable", "ScheduleAttemptFailure")


def test_a_move_names_its_event_and_the_plugin_that_decided(cluster: Cluster) -> None:
    huge = create(cluster, pod("huge", cpu="20"))
    engines = Engines()
    engines.run(cluster.pk)
    store.create(cluster, kinds.NODE, generate_node("large", "zone-1", cpu="64"), actor=ALICE)
    engines.run(cluster.pk)
    texts = [each.text for each in read_story(cluster, huge.uid) if each.kind == "move"]
    assert any("NodeAdd" in text and "NodeResourcesFit: Queue" in text for text in texts)


def test_an_activation_is_shown_between_attempts_with_the_same_result(cluster: Cluster) -> None:
    huge = create(cluster, pod("huge", cpu="100"))
    engines = Engines()
    engines.run(cluster.pk)
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    revisions.activate(cluster, revisions.add_revision(cluster, text, user="alice").revision)
    engines.run(cluster.pk)
    story = condense(read_story(cluster, huge.uid))
    assert [each.title for each in story if each.kind in ("attempt", "activation")] == [
        "attempt 1",
        "to activeQ",
        "revision 2",
        "attempt 2",
    ]


def test_an_update_names_the_fields(cluster: Cluster) -> None:
    web = create(cluster, pod("web"))

    def label(body: Any) -> Any:
        return {**body, "metadata": {**body["metadata"], "labels": {"app": "web"}}}

    store.patch(cluster, kinds.POD, "default", "web", label, actor=ALICE)
    last = read_story(cluster, web.uid)[-1]
    assert (last.title, last.text) == ("updated", "metadata.labels")


def test_the_story_remains_when_the_pod_is_deleted(cluster: Cluster) -> None:
    web = create(cluster, pod("web"))
    Engines().run(cluster.pk)
    options = {"gracePeriodSeconds": 0}
    store.delete(cluster, kinds.POD, "default", "web", actor=ALICE, options=options)
    assert not Pod.objects.filter(cluster=cluster, name="web").exists()
    shown = read_story(cluster, web.uid)
    assert shown[-1].title == "deleted" and shown[-1].user == "alice"
    assert "attempt 1" in [each.title for each in shown]
    body = find_last_body(cluster, web.uid)
    assert body is not None and body["metadata"]["name"] == "web"


def test_a_victim_of_preemption_is_shown_as_evicted(cluster: Cluster) -> None:
    store.create(
        cluster,
        kinds.PRIORITY_CLASS,
        {"metadata": {"name": "high"}, "value": 1000},
        actor=ALICE,
    )
    victim = create(cluster, pod("victim", cpu="7"))
    Engines().run(cluster.pk)
    preemptor = create(cluster, pod("vip", cpu="5", priorityClassName="high"))
    Engines().run(cluster.pk)
    assert "evicted" in titles(cluster, victim)
    (preemption,) = [e for e in read_story(cluster, victim.uid) if e.kind == "preemption"]
    decision = SchedulingDecision.objects.get(pod_uid=preemptor.uid, attempt=1)
    assert (preemption.number, preemption.node) == (decision.pk, decision.nominated_node)
    assert preemption.pods == ["default/vip"]
    assert "Preempted" not in titles(cluster, victim)
    shown = titles(cluster, preemptor)
    assert shown.index("attempt 1") < shown.index("nominated")
    (first,) = [e for e in read_story(cluster, preemptor.uid) if e.title == "attempt 1"]
    assert list(first.pods) == ["default/victim"]


def test_the_victim_may_never_have_been_scheduled_here(cluster: Cluster) -> None:
    store.create(
        cluster,
        kinds.PRIORITY_CLASS,
        {"metadata": {"name": "high"}, "value": 1000},
        actor=ALICE,
    )
    victim = create(cluster, pod("static", cpu="7", nodeName="node-0"))
    create(cluster, pod("vip", cpu="5", priorityClassName="high"))
    Engines().run(cluster.pk)
    (preemption,) = [e for e in read_story(cluster, victim.uid) if e.kind == "preemption"]
    assert preemption.pods == ["default/vip"]
    for words in ("static", "default/static"):
        filters = finding.parse({"victim": words})
        assert [row.name for row in finding.find(filters, cluster_id=cluster.pk)] == ["vip"]


def test_an_unknown_pod_has_no_story(cluster: Cluster) -> None:
    assert read_story(cluster, uuid4()) == [] and find_last_body(cluster, uuid4()) is None


def entry(number: int, text: str, kind: Any = "attempt") -> StoryEntry:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    title = f"attempt {number}" if kind == "attempt" else "to activeQ"
    return StoryEntry(at=at, kind=kind, title=title, text=text, number=number)


def test_many_attempts_with_the_same_result_are_shown_as_one() -> None:
    shown = [entry(0, "", "change")]
    for number in range(1, 7):
        shown += [entry(number, "no cpu"), entry(number, "NodeAdd", "move")]
    shown += [entry(7, "no memory"), entry(8, "no memory")]
    short = condense(shown)
    assert [each.title for each in short if each.kind == "attempt"] == [
        "attempt 1",
        "attempts 2 to 5",
        "attempt 6",
        "attempt 7",
        "attempt 8",
    ]
    inner = next(each for each in short if each.until)
    assert (inner.at, inner.until) == (shown[3].at, shown[9].at)
    assert [each.kind for each in short].count("move") == 2


def test_few_attempts_are_all_shown() -> None:
    shown = [entry(1, "no cpu"), entry(1, "x", "move"), entry(2, "no cpu")]
    assert condense(shown) == shown and condense([]) == []
