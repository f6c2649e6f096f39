"""Forks: clusters at any version of another one, with shared history."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client

from apps.administration.clusters.forking import fork_cluster, origin_of
from apps.administration.clusters.lifecycle import create_cluster, delete_cluster, resume
from apps.cluster import kinds
from apps.cluster.errors import AlreadyExists, BadRequest, Expired, Invalid
from apps.cluster.log import history
from apps.cluster.log.forgetting import forget_changes
from apps.cluster.models import Change, Cluster, KubernetesObject, Pod, Taint
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.cluster.writing.copying import copy_objects
from apps.controllers.generating import generate_node
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import LoopLease, QueueEntry, SchedulingDecision
from apps.studies import rebuilding
from apps.studies.past.past_version import parse_past_version
from apps.studies.past.snapshots import read_snapshot
from tests.engine.driving import ACTOR, Body, create_pods, node_of, pod

pytestmark = pytest.mark.django_db(transaction=True)

OBJECTS = tuple(
    model
    for model in apps.get_models()
    if issubclass(model, KubernetesObject) and model.__name__ != "Event"
)


def contents(cluster: Cluster) -> dict[str, list[Any]]:
    """Every column of every object, in the order of rows; and the taints."""
    found: dict[str, list[Any]] = {}
    for model in OBJECTS:
        names = [
            field.attname
            for field in model._meta.concrete_fields
            if field.attname not in ("id", "cluster_id")
        ]
        found[model.__name__] = list(
            model._default_manager.filter(cluster=cluster).order_by("pk").values_list(*names)
        )
    taints = Taint.objects.filter(node__cluster=cluster).order_by("node__name", "position")
    found["Taint"] = list(taints.values_list("node__name", "key", "value", "effect", "time_added"))
    return found


def copy_of(source: Cluster, name: str) -> Cluster:
    """A complete copy, as `POST /clusters/{c}/copy` creates it."""
    copy = Cluster.objects.create(name=name, forgotten_version=source.resource_version)
    with transaction.atomic():
        copy_objects(source, copy, actor=Actor("tests"), progress=lambda done, total: None)
    return copy


def at(cluster: Cluster, **moment: Any) -> Any:
    cluster.refresh_from_db()
    return parse_past_version(cluster, {key: str(value) for key, value in moment.items()})


def run(cluster: Cluster) -> int:
    Engines().run(cluster.pk)
    cluster.refresh_from_db()
    return cluster.resource_version


def tainted(body: Body) -> Body:
    taint = {"key": "maintenance", "value": "yes", "effect": "NoSchedule"}
    return {**body, "spec": {**body["spec"], "taints": [taint], "unschedulable": True}}


class Story:
    """A cluster whose objects were changed, deleted and created after a copy of it was taken."""

    def __init__(self) -> None:
        self.cluster = create_cluster("lab", user="alice", nodes=3, zones=3, tie_break="first-name")
        store.patch(self.cluster, kinds.NODE, "", "node-2", tainted, actor=ACTOR)
        create_pods(
            self.cluster,
            pod("stays", cpu="1"),
            pod("leaves", cpu="1"),
            pod("waits", cpu="9"),
            pod("late", cpu="7"),
        )
        self.before = run(self.cluster)
        self.copy = copy_of(self.cluster, "copy")
        store.patch(
            self.cluster,
            kinds.NODE,
            "",
            "node-2",
            lambda body: {**body, "spec": {}},
            actor=ACTOR,
        )
        store.delete(
            self.cluster,
            kinds.POD,
            "default",
            "leaves",
            actor=ACTOR,
            options={"gracePeriodSeconds": 0},
        )
        store.create(self.cluster, kinds.NODE, generate_node("large", "zone-1"), actor=ACTOR)
        create_pods(self.cluster, pod("comes", cpu="2"))
        self.after = run(self.cluster)


@pytest.fixture
def story() -> Story:
    return Story()


def test_a_fork_equals_a_complete_copy_of_that_moment_object_by_object(story: Story) -> None:
    past = fork_cluster(
        story.cluster, at(story.cluster, version=story.before), "past", user="alice"
    )
    present = fork_cluster(story.cluster, at(story.cluster), "present", user="alice")
    assert contents(past) == contents(story.copy)
    assert ("node-2", "maintenance", "yes", "NoSchedule", None) in contents(past)["Taint"]
    now = copy_of(story.cluster, "now")
    assert contents(present) == contents(now)
    assert contents(present) == contents(story.cluster)
    # nothing of the history is copied
    assert not Change.objects.filter(cluster__in=(past, present)).exists()
    for fork, version in ((past, story.before), (present, story.after)):
        fork.refresh_from_db()
        assert (fork.paused, fork.resource_version) == (True, version)
        origin = origin_of(fork)
        assert origin is not None and (origin.name, origin.version) == ("lab", version)
    assert past.manual_time == at(story.cluster, version=story.before).at
    assert past.now() < present.now() - timedelta(0)


def test_a_fork_of_the_present_has_the_queue_and_one_of_the_past_begins_a_new_one(
    story: Story,
) -> None:
    present = fork_cluster(story.cluster, at(story.cluster), "present", user="alice")
    columns = ("pod_uid", "queue", "attempts", "timestamp", "unschedulable_plugins", "state")
    theirs, ours = (
        list(QueueEntry.objects.filter(cluster=each).order_by("pk").values_list(*columns))
        for each in (story.cluster, present)
    )
    assert ours == theirs != []
    lease = LoopLease.objects.get(cluster=present)
    assert lease.consumed_version == LoopLease.objects.get(cluster=story.cluster).consumed_version
    past = fork_cluster(
        story.cluster, at(story.cluster, version=story.before), "past", user="alice"
    )
    assert not QueueEntry.objects.filter(cluster=past).exists()


def test_a_fork_goes_its_own_way_and_its_decisions_can_be_rebuilt(story: Story) -> None:
    fork = fork_cluster(
        story.cluster, at(story.cluster, version=story.before), "fork", user="alice"
    )
    create_pods(fork, pod("new", cpu="1"))
    resume(fork)
    store.delete(
        fork, kinds.POD, "default", "stays", actor=ACTOR, options={"gracePeriodSeconds": 0}
    )
    run(fork)
    assert node_of(fork, "new") and not node_of(fork, "waits")
    rows = list(SchedulingDecision.objects.filter(cluster=fork))
    assert {row.name for row in rows} >= {"new", "waits"}
    for row in rows:
        again = rebuilding.recompute(row)
        assert rebuilding.compare(read(row).decision, again) == []
    # the other cluster does not notice
    story.cluster.refresh_from_db()
    assert story.cluster.resource_version == story.after
    assert node_of(story.cluster, "stays")


def assert_same_past(fork: Cluster, other: Cluster, versions: list[int]) -> None:
    fork.refresh_from_db()
    for version in versions:
        ours, theirs = read_snapshot(fork, version, {}), read_snapshot(other, version, {})
        assert (ours.nodes, ours.pods) == (theirs.nodes, theirs.pods)
        pods, of_other = (
            list(history.stream_texts_at(each, kinds.POD, version)) for each in (fork, other)
        )
        assert pods == of_other != []


def test_the_past_of_a_fork_is_that_of_its_parent_and_of_the_parent_of_its_parent(
    story: Story,
) -> None:
    child = fork_cluster(
        story.cluster, at(story.cluster, version=story.before), "child", user="alice"
    )
    store.delete(
        child, kinds.POD, "default", "stays", actor=ACTOR, options={"gracePeriodSeconds": 0}
    )
    grandchild = fork_cluster(child, at(child), "grandchild", user="alice")
    early = story.before - 4
    assert_same_past(child, story.cluster, [early, story.before])
    assert_same_past(grandchild, story.cluster, [early, story.before])
    # a fork before the fork point of its parent has nothing of the parent alone
    early_fork = fork_cluster(grandchild, at(grandchild, version=early), "early", user="alice")
    assert_same_past(early_fork, story.cluster, [early])
    with pytest.raises(BadRequest, match="version"):
        at(child, version=story.after + 1000)


@pytest.mark.parametrize("end", ["deleted", "deleted with history", "forgotten"])
def test_a_fork_outlives_its_parent(story: Story, end: str) -> None:
    fork = fork_cluster(
        story.cluster, at(story.cluster, version=story.before), "fork", user="alice"
    )
    grandchild = fork_cluster(fork, at(fork), "grandchild", user="alice")
    before = read_snapshot(fork, story.before, {})
    for each in (fork, grandchild):
        for name in ("stays", "late"):
            store.delete(
                each, kinds.POD, "default", name, actor=ACTOR, options={"gracePeriodSeconds": 0}
            )
    if end == "forgotten":
        while forget_changes(story.cluster.pk, story.after):
            pass
    else:
        delete_cluster(story.cluster, with_history=end == "deleted with history", user="alice")
    for each in (fork, grandchild):
        each.refresh_from_db()
        found = read_snapshot(each, story.before, {})
        assert (found.nodes, found.pods) == (before.nodes, before.pods)
        if end == "deleted":
            assert read_snapshot(each, story.before - 4, {}).pods
        else:
            with pytest.raises(Expired):
                read_snapshot(each, story.before - 4, {})
        create_pods(each, pod("again"))
        resume(each)
        run(each)
        assert node_of(each, "again")
        origin = origin_of(each)
        assert origin is not None and origin.name in ("lab", "fork")


def test_the_command_forks_before_a_decision_and_names_the_fork_point(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    row = SchedulingDecision.objects.filter(cluster=story.cluster, name="comes").latest("pk")
    call_command("fork", "lab", "lab-2", "--decision", str(row.pk))
    assert f"lab-2 forked from lab at version {row.cluster_version}" in capsys.readouterr().out
    fork = Cluster.objects.get(name="lab-2")
    origin = origin_of(fork)
    assert origin is not None and (origin.decision, origin.slug) == (row.pk, "lab")
    assert node_of(fork, "comes") == ""
    with pytest.raises(CommandError, match="version"):
        call_command("fork", "lab", "lab-3", "--at-version", "100000")


def test_explanations_in_a_fork_name_the_cluster_with_the_decisions_before_it(
    story: Story, client: Client, admin_user: Any
) -> None:
    fork = fork_cluster(story.cluster, at(story.cluster, version=story.before), "fork", user="a")
    create_pods(fork, pod("new", cpu="1"))
    resume(fork)
    run(fork)
    client.force_login(admin_user)

    def explain(pod: str) -> Any:
        return client.get(f"/api/v1/clusters/fork/pods/default/{pod}/explanation").json()

    origin = explain("waits")["forked_from"]
    assert (origin["cluster"], origin["version"]) == ("lab", story.before)
    listed = client.get(origin["decisions"]).json()["results"]
    assert {each["name"] for each in listed} == {"waits"}
    assert explain("new")["forked_from"] is None
    # a decision of the other cluster, before and after the fork point
    before = listed[-1]["id"]
    late = SchedulingDecision.objects.filter(cluster=story.cluster, name="comes").latest("pk").pk
    for number, sentence in (
        (
            before,
            f'decisions "{before}" not found; it was made in cluster lab before the fork at '
            f"version {story.before:,}: /clusters/lab/decisions/{before}",
        ),
        (late, f'decisions "{late}" not found'),
    ):
        refused = client.get(f"/api/v1/clusters/fork/decisions/{number}/explanation")
        assert (refused.status_code, refused.json()["message"]) == (404, sentence)
    page = client.get(f"/clusters/fork/decisions/{before}")
    assert f"/clusters/lab/decisions/{before}" in page.content.decode()
    delete_cluster(story.cluster, user="alice")
    gone = explain("waits")["forked_from"]["decisions"]
    assert gone == f"/api/v1/history/clusters/{story.cluster.pk}/decisions?pod_uid=" + str(
        Pod.objects.get(cluster=fork, name="waits").uid
    )
    assert client.get(gone).json()["results"] == listed


def test_a_fork_that_cannot_be_created_leaves_nothing_behind(story: Story) -> None:
    moment = at(story.cluster)
    for name, error in (("lab", AlreadyExists), ("No Name", Invalid)):
        with pytest.raises(error):
            fork_cluster(story.cluster, moment, name, user="alice")
    past = at(story.cluster, version=story.before - 4)
    while forget_changes(story.cluster.pk, story.before):
        pass
    with pytest.raises(Expired):
        fork_cluster(story.cluster, past, "late", user="alice")
    assert set(Cluster.objects.values_list("name", flat=True)) == {"lab", "copy"}
