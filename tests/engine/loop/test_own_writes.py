"""The loop knows its own writes without reading them: it knows the same as a reader of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.models import Change, Cluster, Pod
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.engine.loop.batches import MIN_BINDINGS
from apps.engine.loop.engine import Engine
from apps.engine.loop.engines import Engines
from apps.engine.loop.informer import Informer
from apps.engine.models import SchedulingDecision
from apps.engine.workers import lease
from apps.scheduler.objects import KubeObject
from tests.engine.driving import ACTOR, Traffic, create_pods, node_of, pod, status_of, traffic

pytestmark = pytest.mark.django_db(transaction=True)

Body = dict[str, Any]
Seen = list[tuple[str, KubeObject | None, KubeObject | None]]


@pytest.fixture
def engines() -> Iterator[Engines]:
    started = Engines()
    yield started
    started.close()


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3, zones=3)


def engine_of(engines: Engines, cluster: Cluster) -> Engine:
    return engines._warm[cluster.pk]


def follow(cluster: Cluster) -> tuple[Informer, Seen]:
    """A reader that has read the log so far, and what it sees later."""
    seen: Seen = []

    def handle(
        kind: str, old: KubeObject | None, new: KubeObject | None, at: float | None = None
    ) -> None:
        seen.append((kind, old, new))

    informer = Informer(cluster.pk, handle)
    informer.load()
    seen.clear()
    return informer, seen


def record_seen(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> Seen:
    """What the engine's scheduler is told from now on."""
    seen: Seen = []
    handle = engine.informer.handle

    def tell(
        kind: str, old: KubeObject | None, new: KubeObject | None, at: float | None = None
    ) -> None:
        seen.append((kind, old, new))
        handle(kind, old, new, at)

    monkeypatch.setattr(engine.informer, "handle", tell)
    return seen


def run(engines: Engines, cluster: Cluster) -> None:
    while engines.run(cluster.pk):
        pass


def claim(name: str) -> Body:
    resources = {"requests": {"storage": "1Gi"}}
    return {
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources},
    }


def deployment(name: str, replicas: int) -> Body:
    labels = {"app": name}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }


def create(cluster: Cluster, kind: str, body: Body) -> None:
    store.write(cluster, [Create(kinds.by_name(kind), body, "default")], actor=ACTOR)


def mount(name: str) -> Body:
    return {"name": "data", "persistentVolumeClaim": {"claimName": name}}


def plain_pods(cluster: Cluster) -> None:
    sidecar = {"name": "s", "image": "j", "restartPolicy": "Always"}
    create_pods(
        cluster,
        pod("plain"),
        pod("host", hostNetwork=True),
        pod("steps", initContainers=[{"name": "first", "image": "k"}, sidecar]),
        {**pod("named"), "metadata": {"name": "named", "labels": {"app": "x"}}},
    )


def unschedulable_pods(cluster: Cluster) -> None:
    create_pods(cluster, pod("fits"), pod("large", cpu="1000"))


def preempting_pods(cluster: Cluster) -> None:
    create_pods(cluster, *(pod(f"low-{number}", cpu="20") for number in range(3)))


def mounted_claims(cluster: Cluster) -> None:
    create(cluster, "PersistentVolumeClaim", claim("data"))
    create_pods(cluster, pod("stateful", volumes=[mount("data")]), pod("beside"))


def workloads(cluster: Cluster) -> None:
    create(cluster, "Deployment", deployment("web", 3))


def rejected_pods(cluster: Cluster) -> None:
    """The kubelet admits pods in the order of their arrival; pods without a scheduler too."""
    create_pods(cluster, pod("placed", cpu="31", nodeName="node-0"))
    create_pods(cluster, pod("refused", cpu="31", nodeName="node-0"), pod("other", cpu="1"))


@pytest.mark.parametrize(
    "scenario",
    [plain_pods, unschedulable_pods, preempting_pods, mounted_claims, workloads, rejected_pods],
)
def test_a_loop_is_told_the_same_as_a_reader_of_the_log(
    scenario: Callable[[Cluster], None],
    cluster: Cluster,
    engines: Engines,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run(engines, cluster)
    engine = engine_of(engines, cluster)
    reader, read = follow(cluster)
    told = record_seen(monkeypatch, engine)
    scenario(cluster)
    run(engines, cluster)
    reader.catch_up()
    assert reader.position == engine.informer.position
    assert told == read
    assert any(kind == "Pod" for kind, _, _ in told)


def length(value: Any) -> int:
    """The characters of all texts in parameters."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return length(list(value.values()))
    return sum(map(length, value)) if isinstance(value, Sequence) else 0


def bind_many(cluster: Cluster, engines: Engines, count: int) -> Traffic:
    """What a warm loop sends that binds and starts this many pods."""
    start = Pod.objects.filter(cluster=cluster).count()
    names = [f"pod-{count}-{start + number}" for number in range(count)]
    create_pods(cluster, *(pod(name, cpu="1m") for name in names))
    with traffic() as found:
        run(engines, cluster)
    phases = Pod.objects.filter(cluster=cluster, name__in=names).values_list("phase", flat=True)
    assert set(phases) == {"Running"}
    return found


def test_a_batch_of_bindings_takes_as_many_statements_as_one(
    cluster: Cluster, engines: Engines
) -> None:
    run(engines, cluster)
    bind_many(cluster, engines, 1)
    one, many = bind_many(cluster, engines, 1), bind_many(cluster, engines, 50)
    assert many.round_trips <= one.round_trips
    # the creations are read from the log; one statement writes
    assert len(many.about("cluster_pod", "cluster_change")) == 2


def test_a_pod_that_fits_nowhere_does_not_take_the_others_the_general_way(
    cluster: Cluster, engines: Engines
) -> None:
    run(engines, cluster)
    bind_many(cluster, engines, 1)
    small = [pod(f"small-{number}", cpu="1m") for number in range(2 * MIN_BINDINGS)]
    create_pods(cluster, *small[:MIN_BINDINGS], pod("big", cpu="1000"), *small[MIN_BINDINGS:])
    with traffic() as found:
        run(engines, cluster)
    # bindings and their events are one statement, before and after the pod that failed
    placed = [sql for sql, _ in found.about("cluster_pod") if "cluster_event" in sql]
    assert len(placed) == 2
    bound = Pod.objects.filter(cluster=cluster, name__startswith="small-").exclude(node_name="")
    assert bound.count() == len(small)
    rows = SchedulingDecision.objects.filter(cluster=cluster).order_by("id")
    results = list(rows.values_list("name", "result"))
    first = results.index(("small-0", "scheduled"))
    assert results[first + MIN_BINDINGS] == ("big", "unschedulable")
    numbers = list(rows.values_list("sequence", flat=True))[first:]
    assert numbers == sorted(numbers)


def test_bodies_are_sent_once_for_each_state_and_never_read_again(
    cluster: Cluster, engines: Engines
) -> None:
    run(engines, cluster)
    bind_many(cluster, engines, 1)
    found = bind_many(cluster, engines, 50)
    stored = Pod.objects.filter(cluster=cluster, name__startswith="pod-50-")
    size = sum(len(str(body)) for body in stored.values_list("body", flat=True))
    # bound, running, and an event, which is smaller than a pod
    sent = sum(length(params) for _, params in found.about("cluster_"))
    assert size < sent < 3 * size
    assert not found.about("body::text")


def test_an_idle_loop_does_not_read_the_log(cluster: Cluster, engines: Engines) -> None:
    run(engines, cluster)
    with traffic() as found:
        run(engines, cluster)
    assert not found.about("cluster_change")


def test_the_log_is_read_with_one_plan_for_all_versions(cluster: Cluster, engines: Engines) -> None:
    run(engines, cluster)
    for _ in range(3):
        bind_many(cluster, engines, 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT custom_plans, generic_plans FROM pg_prepared_statements "
            "WHERE statement LIKE '%%FROM cluster_change%%'"
        )
        plans = cursor.fetchall()
    assert plans and all(custom == 0 and generic for custom, generic in plans)


def changes_of(cluster: Cluster, name: str) -> list[tuple[str, str, Body]]:
    rows = Change.objects.filter(cluster=cluster, name=name, kind="Pod").order_by("version")
    return [(row.type, row.user, row.object) for row in rows]


def without_times(value: Any) -> Any:
    """A body without what differs between two pods or two runs."""
    varying = ("uid", "resourceVersion", "containerID", "podIP", "podIPs", "name")
    if isinstance(value, dict):
        return {
            key: without_times(item)
            for key, item in value.items()
            if key not in varying and not key.endswith(("Time", "Timestamp", "At"))
        }
    return [without_times(item) for item in value] if isinstance(value, list) else value


def test_the_log_has_the_binding_and_the_start_of_a_pod(cluster: Cluster, engines: Engines) -> None:
    create_pods(cluster, pod("p"))
    run(engines, cluster)
    added, bound, running = changes_of(cluster, "p")
    assert [row[:2] for row in (bound, running)] == [
        ("MODIFIED", "kube-scheduler"),
        ("MODIFIED", "kubelet"),
    ]
    assert bound[2]["status"]["phase"] == "Pending"
    assert bound[2]["spec"]["nodeName"] == running[2]["spec"]["nodeName"] != ""
    assert running[2]["status"]["phase"] == "Running"
    versions = [int(row[2]["metadata"]["resourceVersion"]) for row in (added, bound, running)]
    assert versions[2] == versions[1] + 1
    row = Pod.objects.get(cluster=cluster, name="p")
    assert row.body == running[2]
    assert (row.resource_version, row.phase, row.labels) == (
        versions[2],
        "Running",
        running[2]["metadata"]["labels"],
    )


def test_both_ways_write_the_same(engines: Engines) -> None:
    """A quota makes the loop take the general way."""
    cluster = create_cluster("lab", user="tests", nodes=1)
    body = pod("p", initContainers=[{"name": "i", "image": "j"}], nodeSelector={})
    body["metadata"] |= {"labels": {"app": "x"}, "annotations": {"a": 'b"\\ü'}}
    create_pods(cluster, body)
    run(engines, cluster)
    other = create_cluster("other", user="tests", nodes=1)
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "10"}}}
    create(other, "ResourceQuota", quota)
    create_pods(other, body)
    run(engines, other)
    ours, theirs = changes_of(cluster, "p"), changes_of(other, "p")
    assert [without_times(row[2]) for row in ours] == [without_times(row[2]) for row in theirs]
    assert [row[:2] for row in ours] == [row[:2] for row in theirs]
    events = [
        queries.list_objects(each, kinds.EVENT, queries.Selection()).items
        for each in (cluster, other)
    ]
    assert [e["reason"] for e in events[0]] == ["Scheduled"]
    assert [e.keys() for e in events[0]] == [e.keys() for e in events[1]]


def test_a_pod_that_changed_in_the_meantime_is_bound_on_its_latest_version(
    cluster: Cluster, engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(engines, cluster)
    engine = engine_of(engines, cluster)
    create_pods(cluster, pod("p"), pod("q"))
    schedule = engine.batches.schedule

    def change_then_return(*args: Any) -> Any:
        batch = schedule(*args)
        monkeypatch.undo()

        def annotate(body: Body) -> Body:
            return {**body, "metadata": {**body["metadata"], "annotations": {"late": "yes"}}}

        store.patch(cluster, kinds.POD, "default", "p", annotate, actor=ACTOR)
        return batch

    monkeypatch.setattr(engine.batches, "schedule", change_then_return)
    run(engines, cluster)
    assert {node_of(cluster, "p"), node_of(cluster, "q")} <= {"node-0", "node-1", "node-2"}
    found = queries.get(cluster, kinds.POD, "default", "p")
    assert found["metadata"]["annotations"] == {"late": "yes"}
    assert status_of(cluster, "p")["phase"] == status_of(cluster, "q")["phase"] == "Running"


def test_a_new_engine_knows_what_the_old_one_has_written(
    cluster: Cluster, engines: Engines
) -> None:
    create_pods(cluster, pod("p"), pod("large", cpu="1000"))
    run(engines, cluster)
    held = lease.acquire(cluster.pk)
    assert held is not None
    loaded = Engine.load(Cluster.objects.get(pk=cluster.pk), held)
    try:
        warm = engine_of(engines, cluster)
        assert loaded.informer.pending_pod(("default", "large")) == warm.informer.pending_pod(
            ("default", "large")
        )
        assert loaded.informer.position == warm.informer.position
        reads = ("Deployment", "default", "p")
        assert loaded.controllers.cache.body(reads) == warm.controllers.cache.body(reads)
    finally:
        loaded.close()
