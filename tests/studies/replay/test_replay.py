"""Replays: an unchanged one differs in nothing, a changed one says what differs and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.errors import ApiError, BadRequest
from apps.cluster.models import Cluster, Pod
from apps.cluster.writes import Create, Delete
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.scheduler.config import ConfigError
from apps.studies.replay.levels import SERIES
from apps.studies.replay.replaying import Replay, replay
from apps.studies.replay.report import TABLES
from apps.studies.replay.span import ReplayRequest, find_span
from tests.conftest import empty_tables
from tests.engine.driving import ACTOR, Body, create_pods, node_of, pod
from tests.openb_trace import write_trace
from tests.studies.rebuilding import busy_run

PACKING = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
"""


def in_database(create: Callable[[], Cluster]) -> Callable[[Any, Any], Iterator[Cluster]]:
    """A fixture for all tests of the module, which only read the cluster."""

    def provide(django_db_setup: None, django_db_blocker: Any) -> Iterator[Cluster]:
        with django_db_blocker.unblock():
            cluster = create()
            cluster.refresh_from_db()
            yield cluster

    return pytest.fixture(scope="module")(provide)


def deployment(name: str, replicas: int, cpu: str) -> Create:
    labels = {"app": name}
    template = pod(name, cpu=cpu)
    body = {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }
    return Create(kinds.by_name("Deployment"), body, "default")


def failing(body: Body) -> Body:
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": "NoExecute"}
    return {**body, "spec": {**(body.get("spec") or {}), "taints": [taint]}}


def live(cluster: Cluster, engines: Engines, *seconds: float) -> None:
    """Let the loop finish, and again after each of these times."""
    engines.run(cluster.pk)
    for each in seconds:
        clock.advance(cluster, each)
        engines.run(cluster.pk)


def create_busy() -> Cluster:
    """Deployments, preemption, a node that fails, one that is deleted, pods that come and go."""
    cluster = create_cluster("busy", user="tests", nodes=5, zones=2, seed=11)
    clock.set_manual(cluster)
    engines = Engines()
    urgent = {"metadata": {"name": "urgent"}, "value": 1000}
    store.write(cluster, [Create(kinds.PRIORITY_CLASS, urgent)], actor=ACTOR)
    store.write(cluster, [deployment("web", 8, "2"), deployment("api", 6, "1")], actor=ACTOR)
    live(cluster, engines, 2, 5, 30)
    create_pods(cluster, *(pod(f"fill-{number}", cpu="2500m") for number in range(8)))
    live(cluster, engines, 3, 20)
    create_pods(
        cluster, *(pod(f"urgent-{n}", cpu="3", priorityClassName="urgent") for n in range(3))
    )
    live(cluster, engines, 2, 35, 15, 15)
    store.patch(cluster, kinds.NODE, "", "node-1", failing, actor=ACTOR)
    live(cluster, engines, 2, 35, 20, 40)
    engines.close()
    engines = Engines()
    deletions = [Delete(kinds.POD, "default", name) for name in ("fill-0", "fill-1")]
    store.write(cluster, deletions, actor=ACTOR)
    live(cluster, engines, 2, 40)
    store.create(cluster, kinds.NODE, generate_node("late", "zone-1", cpu="16"), actor=ACTOR)
    create_pods(cluster, pod("vast", cpu="64"), pod("last", cpu="500m"))
    live(cluster, engines, 2, 10, 60)
    engines.close()
    return cluster


busy = in_database(create_busy)


@pytest.fixture(scope="module", autouse=True)
def emptied(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    yield
    with django_db_blocker.unblock():
        empty_tables()


def assert_nothing_differs(cluster: Cluster) -> None:
    found = replay(cluster, ReplayRequest())
    rows = SchedulingDecision.objects.filter(cluster=cluster)
    assert found.decisions == rows.count()
    assert (found.first, found.unknown, found.inexact) == (None, 0, [])
    assert found.equal == found.decisions and found.differences == []
    assert found.replayed == found.recorded
    assert found.replayed_series == found.recorded_series
    assert found.changed == "nothing"


def test_an_unchanged_replay_of_a_busy_run_differs_in_nothing(busy: Cluster, db: None) -> None:
    rows = list(SchedulingDecision.objects.filter(cluster=busy))
    assert any(row.victims for row in rows), "the run preempts pods"
    assert {row.workload for row in rows} >= {"Deployment/web"}, "controllers create pods"
    assert any(row.attempt > 2 for row in rows), "pods are retried"
    assert_nothing_differs(busy)
    found = replay(busy, ReplayRequest())
    assert found.recorded.bound >= 20 and found.recorded.preempted >= 1
    assert len(found.times) == len(found.recorded_series["use.cpu"]) == 120
    assert max(value or 0 for value in found.recorded_series["use.cpu"]) > 0.8


def test_waits_are_reported_for_each_priority_class(busy: Cluster, db: None) -> None:
    text = PACKING.split("  pluginConfig")[0] + (
        "  plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}}\n"
    )
    found = replay(busy, ReplayRequest(configuration=text))
    assert [(each.priority, each.priority_class) for each in found.priorities] == [
        (1000, "urgent"),
        (0, ""),
    ]
    urgent, other = found.priorities
    for life, figures in (("recorded", found.recorded), ("replayed", found.replayed)):
        waits = [getattr(each, life) for each in (urgent, other)]
        for name in ("bound", "pending", "preempted"):
            assert sum(getattr(each, name) for each in waits) == getattr(figures, name)
    # three urgent pods displace others; without preemption they wait
    assert urgent.recorded.bound == 3 and urgent.recorded.waiting_p99 is not None
    assert (
        urgent.replayed.bound < 3
        or (urgent.replayed.waiting_p99 or 0.0) > urgent.recorded.waiting_p99
    )
    assert other.recorded.preempted == found.recorded.preempted > other.replayed.preempted == 0


def test_another_configuration_leads_to_differences_with_their_first_causes(
    busy: Cluster,
    db: None,
    row_counts: dict[str, int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request = ReplayRequest(configuration=PACKING)
    found = replay(busy, request)
    assert found.first is not None and found.differing == len(found.differences) > 0
    assert found.changed == "the given configuration"
    first = found.differences[0]
    assert (first.decision, first.follows) == (found.first, "")
    assert first.node_before != first.node_after
    assert "scores" in first.cause and "NodeResourcesFit" in first.cause
    assert all(each.cause for each in found.differences)
    known = {f"{each.namespace}/{each.name}" for each in found.differences}
    followers = [each.follows for each in found.differences if each.follows]
    assert followers and set(followers) <= known | {found.differences[0].name}
    assert found.replayed_series["imbalance.cpu"] != found.recorded_series["imbalance.cpu"]
    # it is deterministic, and what never had another chance is not reported
    assert msgspec.json.encode(replay(busy, request)) == msgspec.json.encode(found)
    assert "vast" not in {each.name for each in found.differences}
    lines = TABLES["differences"](found).splitlines()
    (tmp_path / "packing.yaml").write_text(PACKING)
    options = ("busy", "--configuration", str(tmp_path / "packing.yaml"))
    with pytest.raises(CommandError, match=f"{found.differing} pods differ"):
        call_command("replay", *options, "--check")
    assert first.cause in capsys.readouterr().out
    call_command("replay", *options, "--csv")
    assert capsys.readouterr().out.splitlines() == lines
    call_command("replay", *options, "--csv", "figures")
    assert capsys.readouterr().out.startswith("priority,priority_class,figure,recorded,baseline,")
    assert lines[0].startswith("namespace,name,uid,kind") and len(lines) == found.differing + 1


def test_a_report_begins_with_what_the_configurations_differ_in(busy: Cluster, db: None) -> None:
    found = replay(busy, ReplayRequest(configuration=PACKING))
    percentage, *others = found.effects
    assert (percentage.what, percentage.before) == ("percentageOfNodesToScore", "all nodes")
    assert percentage.after == "adaptive: 5 to 50 % of the nodes"
    assert "arguments: NodeResourcesFit.scoringStrategy.type" in {each.what for each in others}
    same = replay(busy, ReplayRequest(revision=1))
    assert (same.effects, same.first, same.baseline) == ([], None, None)


def test_waiting_times_are_compared_with_a_baseline_that_is_replayed_in_the_same_way(
    busy: Cluster, db: None
) -> None:
    text = PACKING.replace("kind: K", "percentageOfNodesToScore: 100\nkind: K")
    found = replay(busy, ReplayRequest(configuration=text))
    baseline = found.baseline
    assert baseline is not None
    # the recorded configuration, with its own queue from the first difference on
    request = ReplayRequest()
    again = Replay(find_span(busy, request), request, lambda done, total: None, found.first).run()
    assert again.replayed == baseline != found.replayed
    assert again.replayed_series == found.baseline_series != found.replayed_series
    assert sum(each.baseline.bound for each in found.priorities if each.baseline) == baseline.bound
    figures = TABLES["figures"](found).splitlines()
    assert figures[0] == "priority,priority_class,figure,recorded,baseline,replayed"
    assert figures[1] == f",,attempts,{found.recorded.attempts},{baseline.attempts}," + str(
        found.replayed.attempts
    )
    series = TABLES["series"](found).splitlines()
    assert len(series) == 121 and series[0].startswith("at,pods.bound.recorded,pods.bound.baseline")


def test_plots_of_a_replay_are_files(busy: Cluster, db: None, tmp_path: Path) -> None:
    (tmp_path / "packing.yaml").write_text(PACKING)
    options = ("busy", "--configuration", str(tmp_path / "packing.yaml"))
    for form, start in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        target = tmp_path / f"plot.{form}"
        call_command("replay", *options, "--plot", str(target))
        assert target.read_bytes().startswith(start)
    svg = (tmp_path / "plot.svg").read_text()
    assert all(label in svg for _, label in SERIES)
    assert all(life in svg for life in ("recorded", "baseline", "replayed"))
    with pytest.raises(CommandError, match="must end with .svg or .png"):
        call_command("replay", *options, "--plot", str(tmp_path / "plot.pdf"))


def test_without_preemption_nothing_is_preempted_and_victims_stay(busy: Cluster, db: None) -> None:
    text = PACKING.split("  pluginConfig")[0] + (
        "  plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}}\n"
    )
    found = replay(busy, ReplayRequest(configuration=text))
    assert found.recorded.preempted > found.replayed.preempted == 0
    kinds_of = {each.kind for each in found.differences}
    assert kinds_of & {"not preempted", "only recorded", "other node"}
    urgent = [each for each in found.differences if each.name.startswith("urgent")]
    assert urgent and all(each.cause for each in urgent)


def test_a_span_starts_anywhere_and_seeds_draw_anew(busy: Cluster, db: None) -> None:
    rows = SchedulingDecision.objects.filter(cluster=busy).order_by("id")
    middle = rows[rows.count() // 2].cluster_version
    found = replay(busy, ReplayRequest(since=str(middle)))
    assert (found.first, found.inexact, found.unknown) == (None, [], 0)
    assert 0 < found.decisions < rows.count() and found.since_version == middle
    first, again = (replay(busy, ReplayRequest(seed=seed)) for seed in (5, 5))
    assert first == again and first.changed == "seed 5"


def test_what_cannot_be_replayed_is_an_error_that_names_it(
    busy: Cluster, db: None, row_counts: dict[str, int]
) -> None:
    far = str(busy.resource_version + 100)
    for request, error, words in (
        (ReplayRequest(since=far), BadRequest, "since"),
        (ReplayRequest(since="10", until="5"), BadRequest, "until"),
        (ReplayRequest(since=str(busy.resource_version)), BadRequest, "nothing has changed"),
        (ReplayRequest(since="1", until="3"), BadRequest, "no decisions"),
        (ReplayRequest(feature_gates={"Unheard": True}), ConfigError, "Unheard"),
        (ReplayRequest(configuration="kind: Nothing"), ConfigError, "apiVersion"),
        (ReplayRequest(revision=99), ApiError, "99"),
    ):
        with pytest.raises(error, match=words):
            replay(busy, request)


@pytest.fixture
def row_counts(db: None) -> Iterator[dict[str, int]]:
    """Compares the number of rows of every table before and after the test."""

    def count() -> dict[str, int]:
        return {model._meta.db_table: model._base_manager.count() for model in apps.get_models()}

    before = count()
    yield before
    assert count() == before


ON_ONE_NODE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}]
"""


def test_a_replica_set_that_shrinks_deletes_the_pods_that_wait_in_the_replay(
    transactional_db: None,
) -> None:
    cluster = create_cluster("shrinking", user="tests", nodes=3, seed=3)
    clock.set_manual(cluster)
    engines = Engines()
    create = deployment("web", 6, "3")
    store.write(cluster, [create], actor=ACTOR)
    live(cluster, engines, 2, 5, 30)
    store.patch(
        cluster,
        create.kind,
        "default",
        "web",
        lambda body: {**body, "spec": {**body["spec"], "replicas": 2}},
        actor=ACTOR,
    )
    live(cluster, engines, 2, 40)
    # all of the others are deleted, too, and two are created again
    store.write(
        cluster,
        [
            Delete(kinds.POD, "default", name)
            for name in Pod.objects.filter(cluster=cluster).values_list("name", flat=True)
        ],
        actor=ACTOR,
    )
    live(cluster, engines, 2, 60, 5)
    engines.close()
    cluster.refresh_from_db()
    found = replay(cluster, ReplayRequest(configuration=ON_ONE_NODE))
    assert (found.recorded.bound, found.recorded.pending) == (8, 0)
    # of six pods two find room on the node; the four that wait are those that are deleted, so
    # nothing is bound in their place, and what the record deletes later makes room for two others
    assert (found.replayed.bound, found.replayed.pending) == (4, 0)
    assert found.replayed_series["pods.bound"][-1] == found.recorded_series["pods.bound"][-1] == 2
    assert [each.kind for each in found.differences].count("only recorded") == 4


def test_an_unchanged_replay_of_a_trace_differs_in_nothing_with_its_own_queue_too(
    transactional_db: None, tmp_path: Path
) -> None:
    nodes, pods = write_trace(tmp_path, nodes=40, pods=200)
    call_command("create_cluster", "openb", "--tie-break", "first-name")
    call_command("load_openb", "openb", "--nodes", str(nodes), "--pods", str(pods))
    cluster = Cluster.objects.get(name="openb")
    Engines().run(cluster.pk)
    cluster.refresh_from_db()
    assert node_of(cluster, "trace-pod-0000")
    assert_nothing_differs(cluster)
    request = ReplayRequest()
    span = find_span(cluster, request)
    found = Replay(span, request, lambda done, total: None, span.decisions[0][2]).run()
    assert found.first is not None and found.equal == 0
    assert found.differences == []
    assert found.replayed.bound == found.recorded.bound > 150
    assert found.replayed.pending == found.recorded.pending > 0


def test_an_unchanged_replay_of_volumes_permit_and_restarts_differs_in_nothing(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.SCHEDWEB_PLUGINS = ("tests.engine.profiles.outside_plugins:Gatekeeper",)
    monkeypatch.setattr(busy_run, "ROUNDS", 3)
    cluster = busy_run.busy_run(seed=5)
    cluster.refresh_from_db()
    assert_nothing_differs(cluster)
