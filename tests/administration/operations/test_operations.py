"""Operations: progress, cancellation, failures and dead workers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
import zstandard
from django.db import connection
from django.utils import timezone

from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.administration.operations import previewing, recovery, renewal, running, service
from apps.administration.operations.progress import OperationCancelled, Progress
from apps.cluster import kinds
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.models import Change, Cluster, Node, Pod, Taint
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.engine.models import Operation
from apps.engine.profiles import revisions
from apps.engine.workers import lease
from apps.studies.rebuilding.previewing import Effect

pytestmark = pytest.mark.django_db(transaction=True)

ACTOR = Actor("alice", "request-9")
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn-1,64000,262144,2,V100\nn-2,32000,131072,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
    "p-1,12000,16384,1,1000,,LS\np-2,6000,12288,0,,,BE\n"
)


@pytest.fixture
def lab() -> Cluster:
    return create_cluster("lab", user="alice", nodes=3, zones=3, seed=1)


def start_operation(kind: str, cluster: Cluster | None = None, **more: Any) -> Operation:
    return service.start(kind, f"{kind} it", actor=ACTOR, cluster=cluster, **more)


def run_operation(operation: Operation) -> Operation:
    running.run(operation.pk)
    return service.get_operation(operation.pk)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "example/main:1"}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def test_a_copy_has_every_object_exactly_as_it_is_and_the_active_profile(lab: Cluster) -> None:
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    store.patch(
        lab, kinds.NODE, "", "node-1", lambda b: {**b, "spec": {"taints": [taint]}}, actor=ACTOR
    )
    store.create(lab, kinds.POD, pod("web"), actor=ACTOR, namespace="default")
    Engines().run(lab.pk)
    arguments = {"source": lab.pk, "name": "twin", "paused": True}
    done = run_operation(start_operation("copy", arguments=arguments))
    assert (done.state, done.cause) == ("succeeded", "")
    twin = Cluster.objects.get(name="twin")
    assert done.cluster == twin and twin.paused
    for kind in kinds.ALL:
        if kind is not kinds.EVENT:
            rows = kind.model._default_manager.order_by("id")
            bodies = [
                list(rows.filter(cluster=c).values_list("body", flat=True)) for c in (lab, twin)
            ]
            assert bodies[0] == bodies[1], kind.name
    assert [str(t) for t in Taint.objects.filter(node__cluster=twin)] == [
        "dedicated=gpu:NoSchedule"
    ]
    assert Pod.objects.get(cluster=twin, name="web").node_name != ""
    logged = Change.objects.filter(cluster=twin, kind="Pod").values_list("type", "version")
    assert list(logged) == [("ADDED", Pod.objects.get(cluster=twin).resource_version)]


def test_a_copy_is_independent(lab: Cluster) -> None:
    run_operation(
        start_operation("copy", arguments={"source": lab.pk, "name": "twin", "paused": False})
    )
    twin = Cluster.objects.get(name="twin")
    store.create(twin, kinds.POD, pod("web"), actor=ACTOR, namespace="default")
    Engines().run(twin.pk)
    assert Pod.objects.get(cluster=twin).node_name != ""
    assert not Pod.objects.filter(cluster=lab).exists()
    delete_cluster(twin)
    assert Node.objects.filter(cluster=lab).count() == 3


def test_a_trace_makes_a_cluster_of_its_nodes_and_pods() -> None:
    payload = {"nodes": ["nodes.csv", NODES], "pods": ["pods.csv", PODS]}
    done = run_operation(
        start_operation(
            "create-from-trace", arguments={"cluster": {"name": "trace"}}, payload=payload
        )
    )
    assert (done.state, done.message) == ("succeeded", "2 nodes and 2 pods created")
    assert done.cluster is not None and done.cluster.name == "trace"
    assert (done.done, done.total) == (4, 4)
    assert Operation.objects.get(pk=done.pk).payload is None


def test_a_failed_operation_has_a_cause_and_leaves_nothing() -> None:
    payload = {"nodes": ["nodes.csv", NODES.replace("64000", "many")], "pods": ["pods.csv", PODS]}
    done = run_operation(
        start_operation(
            "create-from-trace", arguments={"cluster": {"name": "trace"}}, payload=payload
        )
    )
    assert done.state == "failed"
    assert done.cause == "nodes.csv, line 2: column cpu_milli: 'many' is not a non-negative integer"
    assert not Cluster.objects.filter(name="trace").exists()


def test_a_cancelled_operation_is_rolled_back(lab: Cluster, monkeypatch: Any) -> None:
    text = "---\n".join(
        f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: n-{number}}}\n" for number in range(3)
    )
    operation = start_operation("import", lab, payload={"yaml": text})
    tell = Progress.step

    def cancel_first(work: Progress, done: int, total: int, message: str = "") -> None:
        # by another user, with a separate connection
        cancelling = Thread(target=_cancel, args=(operation,))
        cancelling.start()
        cancelling.join()
        tell(work, done, total, message)

    monkeypatch.setattr(Progress, "step", cancel_first)
    done = run_operation(operation)
    assert (done.state, done.message) == ("cancelled", "cancelled: nothing was changed")
    assert not kinds.by_name("Namespace").model._default_manager.filter(name="n-0").exists()
    with pytest.raises(ApiError, match="has ended"):
        service.cancel(done)


def test_a_waiting_operation_is_cancelled_at_once(lab: Cluster) -> None:
    operation = start_operation("export", lab)
    assert service.cancel(operation).state == "cancelled"
    assert run_operation(operation).state == "cancelled"


def test_an_export_can_be_fetched_and_imported(lab: Cluster) -> None:
    done = run_operation(start_operation("export", lab))
    assert done.state == "succeeded", done.cause
    text = zstandard.decompress(bytes(Operation.objects.get(pk=done.pk).output or b"")).decode()
    again = run_operation(
        start_operation(
            "create-from-yaml", arguments={"cluster": {"name": "again"}}, payload={"yaml": text}
        )
    )
    assert again.cause == ""
    assert Node.objects.filter(cluster__name="again").count() == 3


def test_an_operation_of_a_dead_worker_is_given_to_another(lab: Cluster) -> None:
    operation = start_operation("export", lab)
    wait_until(_is_database_settled)
    for attempt in range(1, running.MOST_ATTEMPTS + 1):
        _lose_to_a_dead_worker(operation, attempt)
        recovery.recover_operations()
        operation.refresh_from_db()
        if attempt < running.MOST_ATTEMPTS:
            assert operation.state == "waiting"
    assert operation.state == "failed"
    assert "its worker stopped while it was running" in operation.cause


def test_a_running_operation_renews_its_lease_and_is_not_taken(
    lab: Cluster, endless_drain: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewal, "RENEW_SECONDS", 0.05)
    with running_in_a_thread(endless_drain) as worker:
        _lose_to_a_dead_worker(endless_drain, 1)
        wait_until(lambda: _is_renewed(endless_drain))
        wait_until(_is_database_settled)
        recovery.recover_operations()
        assert _reload(endless_drain).state == "running"
        service.cancel(endless_drain)
        worker.join(30)
    assert _reload(endless_drain).state == "cancelled"


def test_an_operation_that_loses_the_database_waits_and_starts_again(
    lab: Cluster, endless_drain: Operation
) -> None:
    """The worker lives on, so that nobody would ever take the operation from it."""
    with running_in_a_thread(endless_drain) as worker:
        wait_until(lambda: _reload(endless_drain).message == "1 pod is ending")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [worker.backend])
        worker.join(30)
    waiting = _reload(endless_drain)
    assert (waiting.state, waiting.attempts) == ("waiting", 1)
    assert waiting.message == "the database was unavailable; it starts again"
    Pod.objects.filter(cluster=lab).delete()
    again = run_operation(endless_drain)
    assert (again.state, again.attempts) == ("succeeded", 2)


def test_an_operation_that_loses_the_database_every_time_fails(
    lab: Cluster, endless_drain: Operation
) -> None:
    Operation.objects.filter(pk=endless_drain.pk).update(attempts=running.MOST_ATTEMPTS - 1)
    with running_in_a_thread(endless_drain) as worker:
        wait_until(lambda: _reload(endless_drain).message == "1 pod is ending")
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [worker.backend])
        worker.join(30)
    failed = _reload(endless_drain)
    assert failed.state == "failed" and "terminating connection" in failed.cause


@pytest.fixture
def endless_drain(lab: Cluster) -> Operation:
    """The drain of a node with a pod that does not end, because no kubelet runs."""
    Cluster.objects.filter(pk=lab.pk).update(kubelet=False)
    body = pod("web", nodeName="node-1")
    body["metadata"]["finalizers"] = ["example.com/stays"]
    store.create(lab, kinds.POD, body, actor=ACTOR, namespace="default")
    arguments = {"node": "node-1", "force": True, "timeout": 300}
    return start_operation("drain", lab, arguments=arguments)


class Worker(Thread):
    """Runs an operation; `backend` is the process of its connection to the database."""

    def __init__(self, operation: Operation) -> None:
        super().__init__()
        self.backend = 0
        self._operation = operation

    def run(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self.backend = cursor.fetchone()[0]
        try:
            running.run(self._operation.pk)
        finally:
            connection.close()


@contextmanager
def running_in_a_thread(operation: Operation) -> Iterator[Worker]:
    worker = Worker(operation)
    worker.start()
    wait_until(lambda: _reload(operation).state == "running")
    yield worker
    worker.join(30)
    assert not worker.is_alive()


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_renewed(operation: Operation) -> bool:
    at = _reload(operation).renewed_at
    return at is not None and at > timezone.now() - timedelta(seconds=5)


def _is_database_settled() -> bool:
    """Leases are not judged in the first seconds of the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_postmaster_start_time() < clock_timestamp() - interval '11 s'")
        return bool(cursor.fetchone()[0])


def _reload(operation: Operation) -> Operation:
    return service.get_operation(operation.pk)


def test_a_worker_that_returns_late_does_not_continue(lab: Cluster) -> None:
    operation = start_operation("export", lab)
    Operation.objects.filter(pk=operation.pk).update(state="running", attempts=1)
    operation.refresh_from_db()
    late = Progress(operation)
    Operation.objects.filter(pk=operation.pk).update(attempts=2)
    try:
        with pytest.raises(OperationCancelled):
            late.step(1, 2)
    finally:
        late.close()


def test_a_worker_that_was_stopped_before_its_commit_writes_nothing(
    lab: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker repeats the operation meanwhile: nothing may be created twice."""
    text = "apiVersion: v1\nkind: Namespace\nmetadata: {generateName: n-}\n"
    operation = start_operation("import", lab, payload={"yaml": text})
    tell = Progress.step

    def stop_after_last(work: Progress, done: int, total: int, message: str = "") -> None:
        tell(work, done, total, message)
        if done >= total > 0:
            taking = Thread(target=_take_over, args=(operation,))
            taking.start()
            taking.join()

    monkeypatch.setattr(Progress, "step", stop_after_last)
    version = Cluster.objects.get(pk=lab.pk).resource_version
    running.run(operation.pk)
    assert Cluster.objects.get(pk=lab.pk).resource_version == version
    assert (_reload(operation).state, _reload(operation).attempts) == ("running", 2)


def _take_over(operation: Operation) -> None:
    Operation.objects.filter(pk=operation.pk).update(attempts=2)
    connection.close()


def _cancel(operation: Operation) -> None:
    service.cancel(operation)
    connection.close()


def _lose_to_a_dead_worker(operation: Operation, attempt: int) -> None:
    assert lease.process_name() != "loop_dead"
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE controlplane_operation SET state = 'running', worker = 'loop_dead', "
            "attempts = %s, renewed_at = clock_timestamp() - interval '1 minute' WHERE id = %s",
            [attempt, operation.pk],
        )


PACKING = (
    revisions.BUILT_IN
    + """\
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
  plugins:
    score: {disabled: [{name: NodeResourcesBalancedAllocation}, {name: ImageLocality}]}
"""
)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            "  plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}\n",
            r"node-\d+ was rejected in the record: NodeResourcesFit: Insufficient cpu",
        ),
        (
            "  pluginConfig:\n"
            "  - name: NodeAffinity\n"
            "    args:\n"
            "      addedAffinity:\n"
            "        requiredDuringSchedulingIgnoredDuringExecution:\n"
            "          nodeSelectorTerms:\n"
            "          - matchExpressions:\n"
            "            - {key: kubernetes.io/hostname, operator: NotIn, values: [node-119]}\n",
            r"node-119 is rejected now: NodeAffinity: .*",
        ),
        ("percentageOfNodesToScore", "node-119 is not evaluated now"),
    ],
)
def test_a_preview_says_why_another_node_is_selected(changes: str, why: str) -> None:
    cluster = create_cluster("wide", user="alice", nodes=120, zones=1, seed=1)
    wanted = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-119"]}
    preferred = {"weight": 100, "preference": {"matchExpressions": [wanted]}}
    body = pod("picky")
    body["spec"]["affinity"] = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}
    }
    store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")
    body = pod("huge")
    body["spec"]["containers"][0] |= {"resources": {"requests": {"cpu": "900"}}}
    store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")
    Engines().run(cluster.pk)
    text = revisions.BUILT_IN + changes
    if changes == "percentageOfNodesToScore":
        text = revisions.BUILT_IN.replace(f"{changes}: 100", f"{changes}: 1")
    started = previewing.start_preview(cluster, text, subject="other", actor=ACTOR)
    run_operation(started)
    _, result = previewing.get_preview(cluster, started.pk)
    assert result is not None
    messages = [each.message for each in result.decisions if each.effect.differs]
    assert len(messages) == 1 and re.fullmatch(why, messages[0]), messages


def test_a_preview_says_which_recorded_decisions_would_differ(lab: Cluster) -> None:
    requests = {"resources": {"requests": {"cpu": "1"}}}
    for number in range(4):
        body = pod(f"web-{number}")
        body["spec"]["containers"][0] |= requests
        store.create(lab, kinds.POD, body, actor=ACTOR, namespace="default")
    body = pod("huge")
    body["spec"]["containers"][0] |= {"resources": {"requests": {"cpu": "900"}}}
    store.create(lab, kinds.POD, body, actor=ACTOR, namespace="default")
    Engines().run(lab.pk)
    started = previewing.start_preview(lab, PACKING, subject="packing", actor=ACTOR)
    done = run_operation(started)
    assert (done.state, done.cause, done.done) == ("succeeded", "", 5)
    _, result = previewing.get_preview(lab, done.pk)
    assert result is not None
    effects = {each.name: each for each in result.decisions}
    # the first pod sees empty nodes, so it goes anywhere; the second one would join it
    second = effects["web-1"]
    assert second.effect is Effect.OTHER_NODE
    assert second.node_before != second.node_after == effects["web-0"].node_before
    assert re.fullmatch(
        rf"{second.node_after} scores (\d+), {second.node_before} \d+; "
        r"NodeResourcesFit gives \d+ and \d+",
        second.message,
    )
    assert effects["huge"].effect is Effect.SAME and "Insufficient cpu" in effects["huge"].message
    assert done.message == f"{result.differing} of 5 decisions differ"
    assert list(result.effects.values()) and sum(result.effects.values()) == 5
    assert Pod.objects.filter(cluster=lab, node_name="").count() == 1, "nothing was changed"
    only = previewing.start_preview(
        lab, PACKING, subject="packing", actor=ACTOR, decisions=3, result="scheduled"
    )
    run_operation(only)
    _, fewer = previewing.get_preview(lab, only.pk)
    assert fewer is not None and {each.result_before for each in fewer.decisions} == {"scheduled"}
    with pytest.raises(NotFound):
        previewing.get_preview(create_cluster("other", user="alice"), done.pk)
