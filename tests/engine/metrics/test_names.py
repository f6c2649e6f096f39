"""Names, labels and buckets are kube-scheduler 1.36's, so that its dashboards and alerts work."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from apps.engine.metrics.exposition import render
from apps.engine.metrics.families import Families
from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.series import MetricsRegistry, Values

#: (stability, kind, labels, first bound, factor, number of bounds)
UPSTREAM = {
    "schedule_attempts_total": ("STABLE", "counter", "result profile"),
    "scheduling_attempt_duration_seconds": (
        *("STABLE", "histogram", "result profile"),
        *(0.001, 2, 15),
    ),
    "preemption_victims": ("STABLE", "histogram", "", 1, 2, 7),
    "preemption_attempts_total": ("STABLE", "counter", ""),
    "pending_pods": ("STABLE", "gauge", "queue"),
    "pod_scheduling_attempts": ("STABLE", "histogram", "", 1, 2, 5),
    "framework_extension_point_duration_seconds": (
        *("STABLE", "histogram", "extension_point status profile"),
        *(0.0001, 2, 12),
    ),
    "queue_incoming_pods_total": ("STABLE", "counter", "queue event"),
    "pod_scheduling_sli_duration_seconds": ("BETA", "histogram", "attempts", 0.01, 2, 20),
    "unschedulable_pods": ("BETA", "gauge", "plugin profile"),
    "plugin_evaluation_total": ("BETA", "counter", "plugin extension_point profile"),
    "permit_wait_duration_seconds": ("BETA", "histogram", "result", 0.001, 2, 15),
    "goroutines": ("BETA", "gauge", "operation"),
    "plugin_execution_duration_seconds": (
        *("ALPHA", "histogram", "plugin extension_point status"),
        *(0.00001, 1.5, 20),
    ),
    "scheduling_algorithm_duration_seconds": ("ALPHA", "histogram", "", 0.001, 2, 15),
    "queueing_hint_execution_duration_seconds": (
        *("ALPHA", "histogram", "plugin event hint"),
        *(0.00001, 1.5, 20),
    ),
    "event_handling_duration_seconds": ("ALPHA", "histogram", "event", 0.0001, 2, 12),
    "inflight_events": ("ALPHA", "gauge", "event"),
    "cache_size": ("ALPHA", "gauge", "type"),
    "pod_scheduled_after_flush_total": ("ALPHA", "counter", ""),
}


def one_of_each() -> Families:
    """Every family with one series, as a scheduler counts it."""
    metrics = MetricsRegistry()
    for metric in definitions.ALL:
        if metric.kind == "counter":
            metrics.count(metric, metric.labels)
        elif metric.kind == "histogram":
            metrics.observe(metric, metric.labels, metric.buckets[2])
        else:
            metrics.set(metric, {metric.labels: 1})
    kept = MetricsRegistry()
    kept.restore(metrics.dump().to_values())
    families = Families()
    values = kept.dump().to_values()
    families.add(
        Values(counters=values.counters, histograms=values.histograms), metrics.dump().gauges
    )
    return families


def test_every_metric_is_there_and_no_other() -> None:
    assert {metric.name for metric in definitions.ALL} == {f"scheduler_{name}" for name in UPSTREAM}


@pytest.mark.parametrize("name", UPSTREAM)
def test_a_metric_has_the_shape_that_prometheus_knows(name: str) -> None:
    stability, kind, labels, *bounds = UPSTREAM[name]
    text = render("", one_of_each().collect).text.decode()
    parsed = {family.name: family for family in text_string_to_metric_families(text)}
    family = parsed[f"scheduler_{name}".removesuffix("_total")]
    assert family.type == kind
    assert family.documentation.startswith(f"[{stability}] ")
    wanted = set(str(labels).split())
    for sample in family.samples:
        assert set(sample.labels) - {"le"} == wanted
    if kind == "histogram":
        start, factor, count = map(float, bounds)
        found = [
            float(sample.labels["le"])
            for sample in family.samples
            if sample.name.endswith("_bucket")
        ]
        assert found[-1] == float("inf")
        assert found[:-1] == pytest.approx([start * factor**n for n in range(int(count))])


def test_a_bucket_holds_what_is_not_greater_than_its_bound() -> None:
    metrics = MetricsRegistry()
    victims = definitions.PREEMPTION_VICTIMS
    for number in (1, 2, 2, 3, 65):
        metrics.observe(victims, (), number)
    (series,) = metrics.dump().to_values().histograms[victims.name]
    assert series.counts == (1, 2, 1, 0, 0, 0, 0, 1)
    assert series.sum == 73


def test_bounds_are_formatted_as_in_go() -> None:
    text = render("", one_of_each().collect).text.decode()
    for bound in ("1", "16", "0.001", "16.384", "1e-05", "+Inf"):
        assert f'le="{bound}"' in text
