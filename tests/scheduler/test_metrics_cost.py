"""What it costs to count finished attempts: a lost optimization shows here, on any machine."""

from __future__ import annotations

from cProfile import Profile

import pytest

from apps.scheduler.metrics.attempts import Attempt, note_attempts
from apps.scheduler.metrics.definitions import ALL, EXTENSION_POINT_DURATION
from apps.scheduler.metrics.series import MetricsRegistry
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt


def test_the_metrics_of_one_attempt_are_added_without_arrays() -> None:
    """A pod that is alone in its batch adds few values: NumPy's functions take longer to start."""
    metrics, profile = MetricsRegistry(), Profile()
    histograms = [metric for metric in ALL if metric.kind == "histogram"]
    labels = {metric.name: ("x",) * len(metric.labels) for metric in histograms}
    for turn in range(3):
        if turn == 2:
            profile.enable()
        marks = [metrics.mark()]
        for metric in histograms:
            metrics.observe(metric, labels[metric.name], 0.25)
        marks.append(metrics.mark())
        metrics.dump()
        profile.disable()
    assert sum(entry.callcount for entry in profile.getstats()) / len(histograms) < 40
    names = {str(entry.code) for entry in profile.getstats()}
    assert not any(name in text for name in ("searchsorted", "bincount") for text in names)


def test_few_and_many_observations_are_summed_alike() -> None:
    metric = next(each for each in ALL if each.kind == "histogram")
    labels = ("x",) * len(metric.labels)
    values = [*metric.buckets, *(1.1 * bound for bound in metric.buckets), 0.0, 1e9]
    one_by_one, together = MetricsRegistry(), MetricsRegistry()
    for value in values:
        one_by_one.observe(metric, labels, value)
        one_by_one.dump()
    together.observe_all(metric, labels, values)
    ((few,), (many,)) = (
        each.dump().to_values().histograms[metric.name] for each in (one_by_one, together)
    )
    assert few.counts == many.counts
    assert few.sum == pytest.approx(many.sum)


def test_attempts_that_succeed_are_counted_together(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler()
    add(scheduler, make_node("n").capacity(cpu="4", memory="8Gi", pods="110"))
    decisions = [attempt(scheduler, make_pod(f"p{number}").req(cpu="1m")) for number in range(50)]
    metrics, profile = MetricsRegistry(), Profile()
    attempts = [Attempt(decision, 0.0) for decision in decisions]
    profile.enable()
    note_attempts(metrics, attempts, now_ns=0, points=lambda _: {})
    profile.disable()
    observed = dict(metrics.dump().to_values().histograms)[EXTENSION_POINT_DURATION.name]
    assert {sum(series.counts) for series in observed} == {50}
    assert sum(entry.callcount for entry in profile.getstats()) / 50 < 70
