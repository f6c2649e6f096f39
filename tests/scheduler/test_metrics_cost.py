"""What it costs to count finished attempts: a lost optimization shows here, on any machine."""

from __future__ import annotations

from cProfile import Profile

from apps.scheduler.metrics.attempts import Attempt, note_attempts
from apps.scheduler.metrics.definitions import EXTENSION_POINT_DURATION
from apps.scheduler.metrics.series import MetricsRegistry
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt


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
