"""DefaultBinder: the binding of a pod to the chosen node."""

from __future__ import annotations

from apps.scheduler.framework.intents import Binding
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.cycle import attempt


def test_the_last_intent_of_a_decision_is_the_binding(scheduler: Scheduler) -> None:
    decision = attempt(scheduler, make_pod("p").uid("u"), make_node("n"))
    assert decision.intents[-1] == Binding("default", "p", "u", "n")
