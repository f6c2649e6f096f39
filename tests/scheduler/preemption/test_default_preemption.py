"""What becomes of a pod that fits nowhere, from its failed attempt until it has a node."""

from __future__ import annotations

import pytest

from apps.scheduler.clock import VirtualClock
from apps.scheduler.decision import Result
from apps.scheduler.framework.intents import Eviction, MergePatch
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import PodDisruptionBudget, decode_as
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt

PREEMPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
}


def incoming(name: str = "incoming", cpu: str = "4") -> PodBuilder:
    return make_pod(name).req(cpu=cpu).priority(10)


def low(name: str, node: str, cpu: str = "4") -> PodBuilder:
    return make_pod(name).req(cpu=cpu).on(node)


@pytest.fixture
def scheduler(new_scheduler: NewScheduler) -> Scheduler:
    """Two nodes of 4 CPUs."""
    made = new_scheduler()
    for name in ("a", "b"):
        made.handle("Node", None, make_node(name).obj())
    return made


def nominated(scheduler: Scheduler) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node, pod in scheduler.queue.nominator:
        found.setdefault(node, []).append(pod.name)
    return found


# -- who may ------------------------------------------------------------------------------------


def test_a_pod_that_must_not_preempt_says_so(scheduler: Scheduler) -> None:
    add(scheduler, low("x", "a"), low("y", "b"))
    decision = attempt(scheduler, incoming().spec(preemptionPolicy="Never"))
    assert decision.message == (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, "
        "preemption: not eligible due to preemptionPolicy=Never."
    )
    assert not decision.intents
    assert decision.nominating is None


def test_a_pod_waits_for_victims_that_are_terminating_on_its_node(scheduler: Scheduler) -> None:
    leaving = low("x", "a").terminating()
    leaving.body["status"]["conditions"] = [PREEMPTED]
    add(scheduler, leaving, low("y", "b"))
    decision = attempt(scheduler, incoming().nominated("a"))
    assert decision.message.endswith(
        "preemption: not eligible due to a terminating pod on the nominated node."
    )
    assert decision.nominating is None


def test_a_pod_that_leaves_for_another_reason_does_not_make_it_wait(scheduler: Scheduler) -> None:
    add(scheduler, low("x", "a").terminating(), low("y", "b"))
    decision = attempt(scheduler, incoming().nominated("a"))
    assert decision.post_filter is not None
    assert decision.post_filter.nominating is not None


def test_a_pod_does_not_wait_for_a_node_that_became_hopeless(scheduler: Scheduler) -> None:
    leaving = low("x", "a").terminating()
    leaving.body["status"]["conditions"] = [PREEMPTED]
    add(scheduler, leaving, low("y", "b"))
    cordoned = make_node("a").unschedulable().obj()
    scheduler.handle("Node", make_node("a").obj(), cordoned)
    decision = attempt(scheduler, incoming().nominated("a"))
    assert decision.nominating is not None
    assert decision.nominating.nominated_node == "b"


# -- what it comes to ---------------------------------------------------------------------------


def test_victims_are_evicted_and_the_pod_is_promised_the_node(scheduler: Scheduler) -> None:
    add(scheduler, low("x", "a", "1"), low("y", "a", "3"), low("z", "b").priority(5))
    decision = attempt(scheduler, incoming(cpu="2"))
    assert decision.result is Result.UNSCHEDULABLE
    assert decision.message == "0/2 nodes are available: 2 Insufficient cpu."
    assert decision.intents == (
        Eviction(
            "default",
            "y",
            "default/y",
            "default-scheduler: preempting to accommodate a higher priority pod",
        ),
    )
    assert nominated(scheduler) == {"a": ["incoming"]}
    assert decision.post_filter is not None
    assert decision.post_filter.decided_by == "lowest priority of the most important victim"


def test_pods_that_leave_anyway_are_not_evicted_again(scheduler: Scheduler) -> None:
    add(scheduler, low("x", "a").terminating(), low("y", "b").priority(5))
    decision = attempt(scheduler, incoming())
    assert [victim.name for victim in decision.post_filter.victims] == ["x"]
    assert not decision.intents
    assert nominated(scheduler) == {"a": ["incoming"]}


def test_when_nothing_helps_every_node_says_why(scheduler: Scheduler) -> None:
    scheduler.handle("Node", None, make_node("c").taint("special").obj())
    equal = low("y", "b").priority(10)
    too_much = low("x", "a", "3").priority(10)
    add(scheduler, too_much, low("w", "a", "1"), equal)
    decision = attempt(scheduler, incoming())
    assert decision.message == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
        "no new claims to deallocate, preemption: 0/3 nodes are available: 1 Insufficient cpu, "
        "1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )
    assert decision.nominating is not None
    assert decision.nominating.nominated_node == ""


def test_a_nomination_is_withdrawn_when_nothing_helps_any_more(scheduler: Scheduler) -> None:
    add(scheduler, low("x", "a").priority(10), low("y", "b").priority(10))
    attempt(scheduler, incoming().nominated("a"))
    assert nominated(scheduler) == {}


def test_room_that_is_promised_to_an_equal_pod_is_not_taken(scheduler: Scheduler) -> None:
    add(scheduler, low("x", "a"), low("y", "b").priority(5))
    attempt(scheduler, incoming("first"))
    assert nominated(scheduler) == {"a": ["first"]}
    attempt(scheduler, incoming("second"))
    assert nominated(scheduler) == {"a": ["first"], "b": ["second"]}


def test_a_less_important_pod_loses_its_nomination_to_the_node(scheduler: Scheduler) -> None:
    add(scheduler, low("x", "a"), low("y", "b").priority(20))
    attempt(scheduler, incoming("first").priority(5))
    decision = attempt(scheduler, incoming("second"))
    assert nominated(scheduler) == {"a": ["second"]}
    cleared = MergePatch(
        "Pod", "default", "first", {"status": {"nominatedNodeName": None}}, "status"
    )
    assert cleared in decision.intents


# -- until the victims are gone -----------------------------------------------------------------


def test_the_pod_is_held_until_its_victims_are_gone(
    scheduler: Scheduler, clock: VirtualClock
) -> None:
    victims = add(scheduler, low("x", "a", "2"), low("y", "a", "2"))
    add(scheduler, low("z", "b").priority(20))
    attempt(scheduler, incoming())
    clock.step(60)
    scheduler.handle("Pod", victims[0], None)
    assert scheduler.schedule_one() is None
    assert scheduler.queue.contents.place_of("default/incoming") is SubQueue.GATED
    scheduler.handle("Pod", victims[1], None)
    decision = scheduler.schedule_one()
    assert decision is not None
    assert (decision.result, decision.node) == (Result.SCHEDULED, "a")
    assert decision.nominated_fast_path is False


def test_a_victim_that_is_terminating_holds_nobody(
    scheduler: Scheduler, clock: VirtualClock
) -> None:
    victims = add(scheduler, low("x", "a", "2"), low("y", "a", "2"))
    add(scheduler, low("z", "b").priority(20))
    attempt(scheduler, incoming())
    clock.step(60)
    scheduler.handle("Pod", victims[0], low("x", "a", "2").terminating().obj())
    scheduler.handle("Pod", victims[1], None)
    decision = scheduler.schedule_one()
    assert decision is not None
    assert decision.result is Result.UNSCHEDULABLE


def test_others_try_again_when_a_nominated_pod_is_deleted(
    scheduler: Scheduler, clock: VirtualClock
) -> None:
    add(scheduler, low("x", "b").priority(20))
    (promised,) = add(scheduler, incoming("promised").nominated("a").gate("wait"))
    scheduler.queue.add_nominated_pod(PodInfo(promised))
    attempt(scheduler, make_pod("small").req(cpu="1"))
    assert scheduler.queue.contents.place_of("default/small") is SubQueue.UNSCHEDULABLE
    clock.step(60)
    scheduler.handle("Pod", promised, None)
    decision = scheduler.schedule_one()
    assert decision is not None
    assert (decision.pod_key, decision.node) == ("default/small", "a")


def test_a_pod_that_lost_its_nomination_tries_again(
    scheduler: Scheduler, clock: VirtualClock
) -> None:
    add(scheduler, low("x", "a"), low("y", "b").priority(20))
    attempt(scheduler, incoming("first").priority(5))
    clock.step(60)
    promised = incoming("first").priority(5).nominated("a").obj()
    scheduler.handle("Pod", incoming("first").priority(5).obj(), promised)
    assert scheduler.queue.contents.place_of("default/first") is SubQueue.UNSCHEDULABLE
    scheduler.handle("Pod", promised, incoming("first").priority(5).obj())
    assert scheduler.queue.contents.place_of("default/first") is SubQueue.GATED


def test_pods_of_equal_priority_are_neither_evicted_nor_lose_their_nomination(
    scheduler: Scheduler,
) -> None:
    equal = low("equal", "b").priority(10)
    waiting = incoming("waiting", cpu="1").nominated("a")
    add(scheduler, low("x", "a", cpu="2"), low("peer", "a", cpu="1").priority(10), equal)
    info = PodInfo(waiting.obj())
    scheduler.queue.add_nominated_pod(info)
    decision = attempt(scheduler, incoming(cpu="2"))
    assert [each.name for each in decision.intents if isinstance(each, Eviction)] == ["x"]
    assert not [each for each in decision.intents if isinstance(each, MergePatch)]
    assert nominated(scheduler)["a"] == ["waiting", "incoming"]


def test_a_node_that_only_pods_of_equal_priority_could_free_is_no_candidate(
    scheduler: Scheduler,
) -> None:
    tiny = low("tiny", "a", cpu="500m")
    peer = low("peer", "a", cpu="3500m").priority(10)
    decision = attempt(scheduler, incoming(), tiny, peer, low("equal", "b").priority(10))
    assert decision.nominating is None or not decision.nominating.nominated_node
    assert not decision.intents


def test_a_pod_of_equal_priority_is_not_evicted_to_spare_a_budget(scheduler: Scheduler) -> None:
    """Victims that break a budget are spared first; the others have lower priority, too."""
    selector = {"matchLabels": {"app": "web"}}
    body = {"metadata": {"name": "b", "namespace": "default"}, "spec": {"selector": selector}}
    guarded = low("guarded", "a", cpu="2").label("app", "web")
    peers = [low("peer", "a", cpu="2").priority(10), low("equal", "b").priority(10)]
    budget = decode_as(PodDisruptionBudget, body)
    decision = attempt(scheduler, incoming(cpu="2"), budget, guarded, *peers)
    assert [each.name for each in decision.intents if isinstance(each, Eviction)] == ["guarded"]
