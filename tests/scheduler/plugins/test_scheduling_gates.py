"""SchedulingGates: gated pods stay out of the queue."""

from __future__ import annotations

from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod


def test_gated_pod_does_not_enter_the_queue(scheduler: Scheduler) -> None:
    scheduler.handle("Node", None, make_node("n").obj())
    gated = make_pod("p").gate("example.com/hold").obj()
    scheduler.handle("Pod", None, gated)
    assert scheduler.schedule_one() is None
    scheduler.handle("Pod", gated, make_pod("p").obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.node == "n"
