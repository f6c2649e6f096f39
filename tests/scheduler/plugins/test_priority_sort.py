"""PrioritySort: the order in which pods are tried."""

from __future__ import annotations

from apps.scheduler.clock import VirtualClock
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.cycle import add


def test_pods_of_higher_priority_come_first_then_those_that_wait_longer(
    scheduler: Scheduler, clock: VirtualClock
) -> None:
    add(scheduler, make_node("n"))
    for name, priority in (("old", 0), ("young", 0), ("important", 5)):
        add(scheduler, make_pod(name).priority(priority))
        clock.step(1)
    tried = [scheduler.schedule_one() for _ in range(3)]
    names = [decision.pod_key for decision in tried if decision is not None]
    assert names == ["default/important", "default/old", "default/young"]
