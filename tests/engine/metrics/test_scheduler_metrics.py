"""kube-scheduler's metrics, parsed like Prometheus does."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
import zstandard
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.engine.ledger.records import DecisionRecord
from apps.engine.loop.engine import Engine
from apps.engine.loop.engines import Engines
from apps.engine.metrics import exposition, stored
from apps.engine.models import SchedulerMetrics, SchedulingDecision
from apps.engine.workers import lease
from tests.engine.driving import ACTOR, create_pods, pod, run_until

pytestmark = pytest.mark.django_db(transaction=True)

PROFILE = "default-scheduler"


@pytest.fixture
def cluster() -> Cluster:
    return create_cluster("lab", user="tests", nodes=3, zones=3, tie_break="first-name")


class Scrape:
    """One response of `/metrics`, parsed by Prometheus' rules."""

    def __init__(self, text: bytes) -> None:
        self.families = {f.name: f for f in text_string_to_metric_families(text.decode())}
        self.samples: list[Sample] = [s for f in self.families.values() for s in f.samples]

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples of a name with at least these labels."""
        found = [s for s in self.samples if s.name == name and labels.items() <= s.labels.items()]
        return sum(sample.value for sample in found)

    def labelled(self, name: str, label: str) -> dict[str, float]:
        return {s.labels[label]: s.value for s in self.samples if s.name == name and s.value}

    def buckets(self, name: str) -> set[tuple[str, ...]]:
        """The distinct bounds of a histogram's series."""
        bounds: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for sample in self.samples:
            if sample.name == f"{name}_bucket":
                rest = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
                bounds.setdefault(rest, []).append(sample.labels["le"])
        return {tuple(each) for each in bounds.values()}


def scrape(cluster: Cluster) -> Scrape:
    return Scrape(exposition.expose_cluster(cluster).text)


def test_attempts_are_counted_by_result_as_in_the_ledger(cluster: Cluster) -> None:
    bodies = [pod(f"p{number}") for number in range(7)]
    create_pods(cluster, *bodies, *(pod(f"huge-{number}", cpu="900") for number in range(2)))
    Engines().run(cluster.pk)
    found = scrape(cluster)
    ledger = Counter(SchedulingDecision.objects.values_list("result", flat=True))
    assert ledger == {"scheduled": 7, "unschedulable": 2}
    for result, attempts in ledger.items():
        labels = {"result": result, "profile": PROFILE}
        assert found.value("scheduler_schedule_attempts_total", **labels) == attempts
        name = "scheduler_scheduling_attempt_duration_seconds"
        assert found.value(f"{name}_count", **labels) == attempts
        assert 0 < found.value(f"{name}_sum", **labels) < 10 * attempts
    assert found.value("scheduler_scheduling_algorithm_duration_seconds_count") == 9
    assert found.value("scheduler_pod_scheduling_attempts_bucket", le="1") == 7
    assert found.value("scheduler_pod_scheduling_attempts_count") == 7
    assert found.value("scheduler_pod_scheduling_sli_duration_seconds_count", attempts="1") == 7
    assert found.value("scheduler_preemption_attempts_total") == 2
    assert found.value("scheduler_preemption_victims_count") == 0


def test_pending_pods_are_counted_by_queue_and_by_plugin(cluster: Cluster) -> None:
    gated = pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    create_pods(cluster, pod("huge", cpu="900"), pod("vast", cpu="900"), gated)
    create_pods(cluster, pod("foreign", schedulerName="somebody-else"))
    Engines().run(cluster.pk)
    found = scrape(cluster)
    assert found.labelled("scheduler_pending_pods", "queue") == {"unschedulable": 2, "gated": 1}
    assert found.labelled("scheduler_unschedulable_pods", "plugin") == {
        "NodeResourcesFit": 2,
        "SchedulingGates": 1,
    }
    create_pods(cluster, pod("new"))
    assert scrape(cluster).value("scheduler_pending_pods", queue="active") == 1


def test_pods_are_counted_as_they_enter_the_queues(cluster: Cluster) -> None:
    create_pods(cluster, pod("fits"), pod("huge", cpu="900"))
    engines = Engines()
    engines.run(cluster.pk)
    node = {"metadata": {"name": "large"}, "status": {"allocatable": {"cpu": "999", "pods": "9"}}}
    store.create(cluster, kinds.NODE, node, actor=ACTOR)
    run_until(engines, cluster, lambda: scrape(cluster).value("scheduler_pending_pods") == 0)
    found = scrape(cluster)

    def incoming(queue: str, event: str) -> float:
        return found.value("scheduler_queue_incoming_pods_total", queue=queue, event=event)

    assert incoming("active", "UnschedulablePodAdd") == 2
    assert incoming("unschedulable", "ScheduleAttemptFailure") == 1
    assert incoming("active", "NodeAdd") + incoming("backoff", "NodeAdd") == 1
    hint = {"plugin": "NodeResourcesFit", "event": "NodeAdd", "hint": "Queue"}
    name = "scheduler_queueing_hint_execution_duration_seconds_count"
    assert found.value(name, **hint) == 1
    assert found.value("scheduler_event_handling_duration_seconds_count", event="NodeAdd") == 4
    assert found.value("scheduler_pod_scheduling_attempts_bucket", le="1") == 1
    assert found.value("scheduler_pod_scheduling_attempts_sum") == 3


def test_a_new_holder_continues_the_counts_of_a_killed_one(cluster: Cluster) -> None:
    create_pods(cluster, pod("p0"), pod("huge", cpu="900"))
    Engines().run(cluster.pk)
    before = scrape(cluster)
    create_pods(cluster, pod("p1"))
    Engines().run(cluster.pk)
    after = scrape(cluster)
    for name in (
        "scheduler_schedule_attempts_total",
        "scheduler_pod_scheduling_attempts_count",
        "scheduler_framework_extension_point_duration_seconds_count",
    ):
        assert after.value(name) > before.value(name) > 0
    scheduled = {"result": "scheduled"}
    assert before.value("scheduler_schedule_attempts_total", **scheduled) == 1
    assert after.value("scheduler_schedule_attempts_total", **scheduled) == 2


def test_metrics_stored_before_they_were_columns_are_read(cluster: Cluster) -> None:
    create_pods(cluster, pod("p0"))
    Engines().run(cluster.pk)
    values = stored.load(cluster.pk)
    assert values.histograms
    former = zstandard.compress(msgspec.msgpack.encode(values))
    SchedulerMetrics.objects.filter(cluster=cluster).update(series=former)
    assert stored.load(cluster.pk) == values


def test_a_batch_that_is_rolled_back_is_counted_once(cluster: Cluster) -> None:
    """The first attempt to write this batch is rolled back: one of its pods was deleted."""
    create_pods(cluster, pod("stays"), pod("goes"))
    held = lease.acquire(cluster.pk)
    assert held is not None
    engine = Engine.load(cluster, held)
    scheduler, informer = engine.scheduler, engine.informer
    decisions = [scheduler.schedule_one(), scheduler.schedule_one()]
    batch = [
        DecisionRecord(
            decision=each, at=cluster.now(), cluster_version=informer.position, sequence=0
        )
        for each in decisions
        if each
    ]
    store.delete(cluster, kinds.POD, "default", "goes", actor=ACTOR)
    engine.recorder.record(batch, scheduler.queue.take_changes())
    counted = scrape(cluster).labelled("scheduler_schedule_attempts_total", "result")
    assert counted == {"scheduled": 1, "error": 1}
    assert counted == Counter(SchedulingDecision.objects.values_list("result", flat=True))


def test_extension_points_are_measured_with_their_status(cluster: Cluster) -> None:
    create_pods(cluster, pod("fits"), pod("huge", cpu="900"))
    Engines().run(cluster.pk)
    found = scrape(cluster)

    def runs(point: str, status: str) -> float:
        return found.value(
            "scheduler_framework_extension_point_duration_seconds_count",
            extension_point=point,
            status=status,
            profile=PROFILE,
        )

    assert runs("PreFilter", "Success") == 2
    assert runs("Filter", "Success") == 2
    assert runs("PostFilter", "Unschedulable") == 1
    for point in ("PreScore", "Score", "Reserve", "Permit", "PreBind", "Bind"):
        assert runs(point, "Success") == 1
    evaluated = "scheduler_plugin_evaluation_total"
    fit = {"plugin": "NodeResourcesFit", "profile": PROFILE}
    assert found.value(evaluated, extension_point="PreFilter", **fit) == 2
    assert found.value(evaluated, extension_point="Filter", **fit) == 6
    assert found.value(evaluated, extension_point="Score", **fit) == 3


def test_plugins_are_timed_in_one_attempt_of_ten(cluster: Cluster) -> None:
    create_pods(cluster, *(pod(f"p{number}") for number in range(11)))
    Engines().run(cluster.pk)
    name = "scheduler_plugin_execution_duration_seconds_count"
    fit = {"plugin": "NodeResourcesFit", "status": "Success"}
    found = scrape(cluster)
    assert found.value(name, extension_point="Filter", **fit) == 2
    assert found.value(name, extension_point="Score", **fit) == 2
    assert found.value(name, plugin="NodePorts", extension_point="PreFilter", status="Skip") == 2


def test_gauges_have_the_current_values(cluster: Cluster) -> None:
    create_pods(cluster, pod("p0"), pod("p1"))
    Engines().run(cluster.pk)
    found = scrape(cluster)
    assert found.labelled("scheduler_cache_size", "type") == {"nodes": 3, "pods": 2}
    assert found.value("scheduler_inflight_events", event="PodPopped") == 0
    assert found.value("scheduler_goroutines", operation="binding") == 0


def test_the_metrics_of_a_cluster_require_authentication(
    cluster: Cluster, client: Client, admin_client: Client
) -> None:
    create_pods(cluster, pod("p0"))
    Engines().run(cluster.pk)
    for path in ("metrics", "metrics/resources", "configz"):
        assert client.get(f"/k8s/lab/{path}").status_code == 401
        assert admin_client.post(f"/k8s/lab/{path}").status_code == 405
    response = admin_client.get("/k8s/lab/metrics")
    assert response.headers["Content-Type"].startswith("text/plain; version=")
    assert Scrape(response.content).value("scheduler_schedule_attempts_total") == 1
    asked = {"Accept": "application/openmetrics-text; version=1.0.0"}
    open_metrics = admin_client.get("/k8s/lab/metrics", headers=asked)
    assert open_metrics.headers["Content-Type"].startswith("application/openmetrics-text")
    assert open_metrics.content.endswith(b"# EOF\n")


def test_the_site_labels_series_by_cluster(cluster: Cluster, admin_client: Client) -> None:
    other = create_cluster("other", user="tests", nodes=1)
    create_pods(cluster, pod("p0"), pod("p1"))
    create_pods(other, pod("p0"))
    for each in (cluster, other):
        Engines().run(each.pk)
    found = Scrape(admin_client.get("/metrics").content)
    attempts = found.labelled("scheduler_schedule_attempts_total", "cluster")
    assert attempts == {"lab": 2, "other": 1}
    assert found.value("schedweb_clusters", state="running") == 2
    assert found.value("schedweb_part_up", part="database") == 1
    assert found.value("schedweb_part_up", part="beat") == 0
    assert found.value("process_resident_memory_bytes") > 0


def test_the_metrics_of_the_site_require_authentication(client: Client, db: None) -> None:
    assert client.get("/metrics").status_code == 401
