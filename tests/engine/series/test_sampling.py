"""The figures over time: sampled, rolled up, exact after a kill, and cheap."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now

from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.cluster import kinds
from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.models import Cluster, Pod
from apps.cluster.writes import Create, Delete
from apps.cluster.writing import store
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision, SeriesBucket, SeriesCursor
from apps.engine.series import sampling, trimming
from apps.engine.series.reading import Series, read_series, table_rows
from apps.engine.series.spans import parse_span
from tests.engine.driving import ACTOR, create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)

RESOLUTIONS = (10, 60, 600, 3600, 86_400)


@pytest.fixture
def cluster() -> Cluster:
    """Three nodes of 8 CPUs, at noon by a manual clock."""
    cluster = create_cluster("lab", user="tests", nodes=3, zones=3, tie_break="first-name")
    noon = datetime(2030, 5, 1, 12, tzinfo=UTC)
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=noon, created_at=noon)
    cluster.refresh_from_db()
    return cluster


def read(cluster: Cluster, since: str = "15m", **options: Any) -> Series:
    cluster.refresh_from_db()
    query = {"since": since, "step": options.pop("step", "")}
    return read_series(cluster, parse_span(cluster, query), **options)


def values(series: Series, chart: str, line: str) -> list[float | None]:
    drawn = next(each for each in series.charts if each.chart.id == chart)
    return next(each.values for each in drawn.series if each.line.label == line)


def run(cluster: Cluster, *bodies: dict[str, Any]) -> None:
    create_pods(cluster, *bodies)
    Engines().run(cluster.pk)


def test_states_rates_and_waiting_times_of_each_scope(cluster: Cluster) -> None:
    run(cluster, pod("a", cpu="4"), pod("b", cpu="2"), pod("huge", cpu="900"))
    sampling.sample_all()
    found = read(cluster)
    assert found.known and found.span.resolution.step == 10
    assert values(found, "pods", "bound")[-1] == 2
    assert values(found, "pods", "unschedulable")[-1] == 1
    assert values(found, "queue", "unschedulable")[-1] == 1
    assert values(found, "binds", "arrived")[-1] == pytest.approx(0.3)
    assert values(found, "binds", "bound")[-1] == pytest.approx(0.2)
    assert values(found, "attempts", "unschedulable")[-1] == pytest.approx(6)
    assert values(found, "waiting", "p99")[-1] == pytest.approx(0.01, abs=0.01)
    assert values(found, "use-cpu", "cluster")[-1] == pytest.approx(0.25)
    assert values(found, "use-cpu", "most used node")[-1] == pytest.approx(0.5)
    assert values(found, "use-cpu", "least used node")[-1] == 0
    assert values(found, "room", "average pods")[-1] == 5
    assert values(found, "fragmentation", "fragmentation")[-1] == pytest.approx(1 - 5 / 6)
    assert (values(found, "stranded", "memory")[-1] or 0) > 0.2
    assert len(found.charts[-1].series) > 2, "the plugins with the highest total time"
    for scope, name in (("namespace", "default"), ("profile", "default-scheduler")):
        own = read(cluster, scope=scope, name=name)
        assert values(own, "pods", "bound")[-1] == 2
        assert values(own, "attempts", "scheduled")[-1] == pytest.approx(12)
        assert values(own, "requested-cpu", "requested")[-1] == 6000
    node = read(cluster, scope="node", name="node-0")
    assert values(node, "use", "cpu")[-1] == 0.5 and values(node, "pods", "pods")[-1] == 1
    assert values(node, "state", "cordoned")[-1] == 0


def test_gpus_of_nodes_without_free_cpu_are_stranded(cluster: Cluster) -> None:
    for name, gpus in (("gpu-0", "4"), ("gpu-1", "4")):
        allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10", "example.com/gpu": gpus}
        metadata = {"name": name, "labels": {"pick": name}}
        node = {"metadata": metadata, "status": {"allocatable": allocatable}}
        store.write(cluster, [Create(kinds.NODE, node, "")], actor=ACTOR)
    bodies = [pod("a", cpu="3"), pod("b", cpu="1")]
    for body, name, gpus in zip(bodies, ("gpu-0", "gpu-1"), ("1", "4"), strict=True):
        body["spec"]["nodeSelector"] = {"pick": name}
        resources = body["spec"]["containers"][0]["resources"]
        resources["requests"]["example.com/gpu"] = gpus
        resources["limits"] = {"example.com/gpu": gpus}
    run(cluster, *bodies)
    sampling.sample_all()
    found = read(cluster)
    # gpu-0 has 3 of 4 gpus left, but cpu for one more pod like this; gpu-1 has none left
    assert values(found, "stranded", "example.com/gpu")[-1] == pytest.approx(2 / 8)
    stranded = next(each for each in found.charts if each.chart.id == "stranded")
    assert [each.line.label for each in stranded.series] == [
        "cpu",
        "memory",
        "pods",
        "example.com/gpu",
    ]


def test_every_resolution_counts_each_attempt_once(cluster: Cluster) -> None:
    for hour in range(3):
        run(cluster, *(pod(f"p-{hour}-{number}") for number in range(4)))
        clock.advance(cluster, 3600)
    sampling.sample_all()
    attempts = SchedulingDecision.objects.count()
    for step in RESOLUTIONS:
        found = read(cluster, "1d", step=str(step), chart="attempts")
        rates = values(found, "attempts", "scheduled")
        assert sum(rate or 0 for rate in rates) * step / 60 == pytest.approx(attempts)
    bound = values(read(cluster, "5h", step="3600"), "pods", "bound")
    assert bound == [None, None, 4, 8, 12, 12], "levels last until the next sample"


def test_a_sample_that_is_killed_counts_nothing_and_the_next_one_everything(
    cluster: Cluster,
) -> None:
    run(cluster, *(pod(f"p{number}") for number in range(5)))
    with pytest.raises(KeyboardInterrupt), transaction.atomic():
        sampling.sample(cluster.pk)
        raise KeyboardInterrupt
    assert not SeriesBucket.objects.exists()
    # the same figures as with a sample in time: decisions are counted at their own time
    clock.advance(cluster, 60)
    SeriesBucket.objects.all().delete()
    SeriesCursor.objects.all().delete()
    sampling.sample_all()
    found = read(cluster, chart="binds")
    assert values(found, "binds", "bound")[-7] == pytest.approx(0.5)
    assert sum(rate or 0 for rate in values(found, "binds", "bound")) == pytest.approx(0.5)


def test_more_rows_than_one_sample_counts_are_counted_by_the_next(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.engine.series.counts.AT_ONCE", 4)
    run(cluster, *(pod(f"p{number}") for number in range(9)))
    for _ in range(8):
        sampling.sample_all()
    found = read(cluster, chart="binds")
    assert values(found, "binds", "bound")[-1] == pytest.approx(0.9)
    assert values(found, "binds", "arrived")[-1] == pytest.approx(0.9)


def test_quiet_clusters_cost_two_statements_and_gaps_are_gaps(cluster: Cluster) -> None:
    for number in range(3):
        create_cluster(f"other-{number}", user="tests", nodes=1)
    sampling.sample_all()
    with CaptureQueriesContext(connection) as quiet:
        sampling.sample_all()
    assert len(quiet) == 2
    start = datetime.now(UTC).replace(second=0, microsecond=0)
    real = Cluster.objects.get(name="other-0")
    Cluster.objects.filter(pk=real.pk).update(created_at=start - timedelta(hours=2))
    buckets = SeriesBucket.objects.filter(cluster=real, resolution=60)
    buckets.update(until=start - timedelta(minutes=30), start=start - timedelta(minutes=31))
    run(real, pod("late"))
    SeriesCursor.objects.filter(cluster=real).update(sampled_at=start - timedelta(minutes=20))
    sampling.sample_all()
    nodes = values(read(real, "40m", step="60"), "nodes", "ready")
    assert nodes[0] is None, "before the first sample"
    assert nodes[15] == 1, "confirmed until twenty minutes ago"
    assert nodes[30] is None and nodes[-1] == 1, "nothing was sampled in between"


def test_buckets_expire_and_are_deleted_with_their_cluster(cluster: Cluster) -> None:
    sampling.sample_all()
    for name in ("late", "later"):
        clock.advance(cluster, 30 * 86_400)
        run(cluster, pod(name))
        sampling.sample_all()
    assert SeriesBucket.objects.filter(resolution=60).count() == 3
    trimming.trim()
    left = SeriesBucket.objects.values_list("resolution", flat=True)
    # the levels of the second month lasted until now
    assert sorted(left) == [10] * 2 + [60] * 2 + [600] * 3 + [3600] * 3 + [86_400] * 3
    delete_cluster(cluster)
    assert not SeriesBucket.objects.exists() and not SeriesCursor.objects.exists()


def test_a_span_chooses_its_resolution_and_refuses_nonsense(cluster: Cluster) -> None:
    for since, step in (("15m", 10), ("3h", 10), ("6h", 60), ("1d", 600), ("7d", 600)):
        assert parse_span(cluster, {"since": since}).resolution.step == step
    assert parse_span(cluster, {"since": "30d"}).resolution.step == 3600
    assert parse_span(cluster, {"since": "1y"}).resolution.step == 86_400
    absolute = {"since": "2030-05-01T10:00:00Z", "until": "2030-05-01T10:10:00Z"}
    assert parse_span(cluster, absolute).resolution.step == 10
    for query in ({"since": "soon"}, {"since": "1h", "until": "2h"}, {"step": "7"}):
        with pytest.raises(BadRequest, match=next(iter(query))):
            parse_span(cluster, query)
    for field, options in (
        ("scope", {"scope": "pod"}),
        ("name", {"scope": "node"}),
        ("name", {"name": "x"}),
        ("chart", {"chart": "none"}),
    ):
        with pytest.raises(BadRequest, match=f"^{field}: "):
            read(cluster, **options)


def test_the_table_has_a_column_for_each_line(cluster: Cluster) -> None:
    run(cluster, pod("a"))
    sampling.sample_all()
    heading, *rows = table_rows(read(cluster, chart="pods"))
    assert heading[:2] == ["time", "Pods by state: bound (pods)"]
    assert rows[-1][:2] == ["2030-05-01T12:00:00Z", "1"] and rows[0][1] == ""


def test_a_peak_does_not_last_and_what_has_disappeared_is_gone(cluster: Cluster) -> None:
    """Hourly figures: the peak belongs to its hour, the hours after have the state at its end."""
    create_pods(cluster, *(pod(f"p{number}", cpu="4") for number in range(6)))
    sampling.sample_all()
    Engines().run(cluster.pk)
    sampling.sample_all()
    hourly = {"since": "3h", "step": "3600"}
    assert values(read(cluster, **hourly), "queue", "activeQ")[-1] == 6
    Pod.objects.filter(cluster=cluster, name__in=["p0", "p1"]).update(phase="Failed")
    clock.advance(cluster, 1800)
    assert values(read(cluster, **hourly), "pods", "failed")[-1] == 2
    store.write(
        cluster,
        [
            Delete(kinds.POD, "default", f"p{number}", options={"gracePeriodSeconds": 0})
            for number in range(6)
        ],
        actor=ACTOR,
    )
    sampling.sample_all()
    clock.advance(cluster, 2 * 3600)
    sampling.sample_all()
    found = read(cluster, **hourly)
    assert values(found, "queue", "activeQ")[-3:] == [6, 0, 0]
    pods = next(each for each in found.charts if each.chart.id == "pods")
    assert "failed" not in [each.line.label for each in pods.series]
    assert values(found, "use-cpu", "most used node")[-3:] == [1, 0, 0]
    own = read(cluster, scope="namespace", name="default", **hourly)
    assert values(own, "pods", "bound")[-3:] == [0, 0, 0]
    assert values(own, "requested-cpu", "requested")[-3:] == [0, 0, 0]


def test_an_empty_namespace_has_no_pods_and_an_unknown_one_is_not_found(cluster: Cluster) -> None:
    sampling.sample_all()
    found = read(cluster, scope="namespace", name="kube-public")
    assert values(found, "pods", "bound")[-1] == 0
    assert values(found, "queue", "activeQ")[-1] == 0
    assert values(found, "requested-memory", "requested")[-1] == 0
    assert values(found, "pods", "bound")[0] is None, "before the cluster existed"
    for scope in ("namespace", "profile"):
        with pytest.raises(NotFound, match="misspelt"):
            read(cluster, scope=scope, name="misspelt")


def test_a_node_of_a_large_cluster_has_charts_of_short_spans(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.engine.series.storing.MANY_NODES", 2)
    monkeypatch.setattr("apps.engine.series.spans.MANY_NODES", 2)
    run(cluster, pod("a", cpu="4"))
    sampling.sample_all()
    query = {"since": "15m", "scope": "node"}
    node = read_series(cluster, parse_span(cluster, query), scope="node", name="node-0")
    assert node.span.resolution.step == 60
    assert values(node, "use", "cpu")[-1] == 0.5
    with pytest.raises(BadRequest, match="^step: '10' is not one of 60, "):
        parse_span(cluster, {**query, "step": "10"})


def test_steps_that_have_expired_are_unknown_and_too_many_are_refused(cluster: Cluster) -> None:
    run(cluster, pod("a"))
    clock.advance(cluster, 12 * 3600)
    sampling.sample_all()
    SeriesBucket.objects.filter(
        resolution=10, start__lt=cluster.now() - timedelta(hours=6)
    ).delete()
    bound = values(read(cluster, "12h", step="10"), "binds", "bound")
    assert bound[1] is None and bound[-2] == 0
    with pytest.raises(BadRequest, match="^step: the span has 259,200 steps of 10 seconds"):
        read(cluster, "30d", step="10")


def test_a_quiet_cluster_keeps_its_charts(cluster: Cluster) -> None:
    """Nothing has changed for ten hours: longer than the finest buckets are retained."""
    quiet = create_cluster("quiet", user="tests", nodes=2)
    sampling.sample_all()
    ago = timedelta(hours=10)
    Cluster.objects.filter(pk=quiet.pk).update(created_at=F("created_at") - ago)
    SeriesBucket.objects.filter(cluster=quiet).update(
        start=F("start") - ago, until=F("until") - ago
    )
    trimming.trim()
    sampling.sample_all()
    found = read(quiet)
    assert found.span.resolution.step == 10
    assert values(found, "nodes", "ready")[-2] == 2
    assert values(found, "use-cpu", "cluster")[-2] == 0
    # what is known about the last hours stays when something changes
    run(quiet, pod("late"))
    sampling.sample_all()
    trimming.trim()
    found = read(quiet)
    assert values(found, "nodes", "ready")[0] == 2
    assert values(found, "pods", "bound")[0] == 0 and values(found, "pods", "bound")[-1] == 1


def test_an_expensive_sample_is_followed_later_by_the_next(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = create_cluster("real", user="tests", nodes=1)
    with monkeypatch.context() as expensive:
        expensive.setattr(sampling, "SHARE", 1e-9)
        sampling.sample_all()
    run(real, pod("early"))
    sampling.sample_all()
    assert values(read(real, chart="pods"), "pods", "bound")[-1] == 0, "the sample is put off"
    earlier = datetime.now(UTC).replace(microsecond=0, second=0) - timedelta(minutes=10)
    Cluster.objects.filter(pk=real.pk).update(created_at=earlier)
    first = SeriesBucket.objects.filter(cluster=real, resolution=10)
    first.update(start=earlier, until=earlier + timedelta(seconds=10))
    SeriesCursor.objects.update(next_at=now(), sampled_at=earlier)
    sampling.sample_all()
    ready = values(read(real, "5m", chart="nodes"), "nodes", "ready")
    assert ready[-25:] == [1] * 25, "the levels before last until it"
    assert values(read(real, chart="pods"), "pods", "bound")[-1] == 1
