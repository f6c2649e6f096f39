"""The walk of one pod: to a node, or back to the queue with the reason."""

from __future__ import annotations

from apps.scheduler.decision import Result
from apps.scheduler.framework.intents import Binding
from apps.scheduler.framework.status import error
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.tie_break import random_draws
from tests.scheduler.conftest import NewScheduler


def add_nodes(scheduler: Scheduler, *names: str) -> None:
    for name in names:
        scheduler.handle("Node", None, make_node(name).obj())


def test_nothing_is_decided_while_no_pod_waits(scheduler: Scheduler) -> None:
    assert scheduler.schedule_one() is None


def test_pod_takes_its_room_before_the_binding_is_written(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a")
    scheduler.handle("Pod", None, make_pod("first").req(cpu="3").obj())
    scheduler.handle("Pod", None, make_pod("second").req(cpu="3").obj())
    first, second = scheduler.schedule_one(), scheduler.schedule_one()
    assert first is not None and second is not None
    assert (first.result, first.node) == (Result.SCHEDULED, "a")
    assert first.intents == (Binding("default", "first", "default/first", "a"),)
    assert second.result is Result.UNSCHEDULABLE
    assert second.filter_message == "0/1 nodes are available: 1 Insufficient cpu."


def test_decision_tells_what_each_extension_point_took(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a")
    scheduler.handle("Pod", None, make_pod("p").obj())
    scheduler.handle("Pod", None, make_pod("too-big").req(cpu="9").obj())
    placed, refused = scheduler.schedule_one(), scheduler.schedule_one()
    assert placed is not None and refused is not None
    assert list(placed.durations)[:4] == ["PreFilter", "Filter", "PreScore", "Score"]
    assert list(refused.durations) == ["PreFilter", "Filter", "PostFilter"]
    # For a pod without volumes and claims no plugin of the default profile has work here.
    assert [placed.durations.pop(point) for point in ("Permit", "Reserve", "PreBind")] == [0] * 3
    assert all(nanoseconds > 0 for nanoseconds in placed.durations.values())


def test_binding_is_confirmed_by_the_pod_that_comes_back(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a")
    pending = make_pod("p").req(cpu="1").obj()
    scheduler.handle("Pod", None, pending)
    decision = scheduler.schedule_one()
    assert decision is not None
    scheduler.bound(decision)
    assert scheduler.cache.is_assumed(pending.metadata.uid)
    scheduler.handle("Pod", pending, make_pod("p").req(cpu="1").on("a").obj())
    assert not scheduler.cache.is_assumed(pending.metadata.uid)
    assert scheduler.cache.nodes["a"].requested["cpu"] == 1000


def test_confirmation_on_another_node_moves_the_pod(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a", "b")
    pending = make_pod("p").req(cpu="1").obj()
    scheduler.handle("Pod", None, pending)
    decision = scheduler.schedule_one()
    assert decision is not None and decision.node == "a"
    scheduler.bound(decision)
    scheduler.handle("Pod", pending, make_pod("p").req(cpu="1").on("b").obj())
    assert not scheduler.cache.nodes["a"].pods
    assert list(scheduler.cache.nodes["b"].pods) == ["default/p"]


def test_failed_binding_gives_the_room_back_and_retries_the_pod(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a")
    scheduler.handle("Pod", None, make_pod("p").req(cpu="4").obj())
    decision = scheduler.schedule_one()
    assert decision is not None
    scheduler.bind_failed(decision, error("the database is away"))
    assert scheduler.queue.contents.place_of("default/p") is SubQueue.BACKOFF
    assert not scheduler.cache.nodes["a"].pods
    assert (decision.result, decision.message) == (Result.ERROR, "the database is away")


def test_pod_waits_in_the_queue_with_the_plugins_that_refused_it(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a")
    scheduler.handle("Pod", None, make_pod("p").req(cpu="9").obj())
    decision = scheduler.schedule_one()
    assert decision is not None
    assert decision.unschedulable_plugins == {"NodeResourcesFit"}
    assert scheduler.queue.contents.place_of("default/p") is SubQueue.UNSCHEDULABLE
    scheduler.handle("Node", None, make_node("big").capacity(cpu="16").obj())
    retried = scheduler.schedule_one()
    assert retried is not None
    assert (retried.node, retried.attempt) == ("big", 2)


def test_cluster_without_nodes_says_so(scheduler: Scheduler) -> None:
    scheduler.handle("Pod", None, make_pod("p").obj())
    decision = scheduler.schedule_one()
    assert decision is not None
    assert decision.message == "no nodes available to schedule pods"


def test_pod_of_another_scheduler_is_left_alone(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a")
    scheduler.handle("Pod", None, make_pod("p").scheduler("somebody-else").obj())
    assert scheduler.schedule_one() is None


def test_deleted_pod_is_not_scheduled(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a")
    scheduler.handle("Pod", None, make_pod("p").terminating().obj())
    assert scheduler.schedule_one() is None


def test_finished_pod_frees_its_room(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a")
    running = make_pod("job").req(cpu="4").on("a").obj()
    scheduler.handle("Pod", None, running)
    scheduler.handle("Pod", None, make_pod("p").req(cpu="1").obj())
    refused = scheduler.schedule_one()
    assert refused is not None and refused.result is Result.UNSCHEDULABLE
    scheduler.handle("Pod", running, make_pod("job").req(cpu="4").on("a").phase("Succeeded").obj())
    accepted = scheduler.schedule_one()
    assert accepted is not None and accepted.node == "a"


def test_nominated_pod_keeps_lower_priorities_from_its_room(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a")
    promised = make_pod("vip").req(cpu="4").priority(10).nominated("a").info()
    scheduler.queue.add_nominated_pod(promised)
    scheduler.handle("Pod", None, make_pod("p").req(cpu="1").obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.result is Result.UNSCHEDULABLE
    scheduler.handle("Pod", None, make_pod("higher").req(cpu="1").priority(20).obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.node == "a"


def test_own_nominated_node_is_taken_without_a_look_at_others(scheduler: Scheduler) -> None:
    add_nodes(scheduler, "a", "b")
    scheduler.handle("Pod", None, make_pod("p").req(cpu="1").nominated("b").obj())
    decision = scheduler.schedule_one()
    assert decision is not None
    assert (decision.node, decision.nominated_fast_path, decision.evaluated) == ("b", True, 1)


def test_random_ties_follow_the_seed(new_scheduler: NewScheduler) -> None:
    def placements(seed: int) -> list[str]:
        scheduler = new_scheduler(tie_break="random", draws=random_draws(seed))
        add_nodes(scheduler, *(f"n{number}" for number in range(20)))
        for number in range(20):
            scheduler.handle("Pod", None, make_pod(f"p{number}").obj())
        found = []
        while (decision := scheduler.schedule_one()) is not None:
            assert decision.tied_nodes() and decision.node in decision.tied_nodes()
            found.append(decision.node)
        return found

    assert placements(1) == placements(1)
    assert placements(1) != placements(2)


def test_search_stops_when_enough_nodes_are_feasible(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler({"percentageOfNodesToScore": 50})
    add_nodes(scheduler, *(f"n{number:03}" for number in range(400)))
    scheduler.handle("Pod", None, make_pod("p0").obj())
    scheduler.handle("Pod", None, make_pod("p1").obj())
    first, second = scheduler.schedule_one(), scheduler.schedule_one()
    assert first is not None and second is not None
    assert (first.start, first.evaluated, len(first.feasible)) == (0, 200, 200)
    assert (second.start, second.evaluated) == (200, 200)
    assert not set(first.feasible.tolist()) & set(second.feasible.tolist())


def test_nodes_refused_before_one_feasible_node_too_many_count(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler({"percentageOfNodesToScore": 1})
    for number in range(103):
        node = make_node(f"n{number:03}")
        scheduler.handle("Node", None, (node.unschedulable() if number == 100 else node).obj())
    for number in range(2):
        scheduler.handle("Pod", None, make_pod(f"p{number}").obj())
    first, second = scheduler.schedule_one(), scheduler.schedule_one()
    assert first is not None and second is not None
    assert (first.start, first.evaluated, len(first.feasible)) == (0, 101, 100)
    assert first.status_of("n100") is not None
    assert (second.start, second.evaluated, len(second.feasible)) == (101, 100, 100)


def test_a_refused_nominated_node_moves_the_next_start_even_if_not_reached(
    new_scheduler: NewScheduler,
) -> None:
    scheduler = new_scheduler({"percentageOfNodesToScore": 1})
    for number in range(120):
        node = make_node(f"n{number:03}")
        scheduler.handle("Node", None, (node.unschedulable() if number == 119 else node).obj())
    scheduler.handle("Pod", None, make_pod("p0").nominated("n119").obj())
    scheduler.handle("Pod", None, make_pod("p1").obj())
    first, second = scheduler.schedule_one(), scheduler.schedule_one()
    assert first is not None and second is not None
    refusal = first.status_of("n119")
    assert refusal is not None and refusal.plugin == "NodeUnschedulable"
    assert (first.evaluated, second.start) == (101, 101)


def test_search_visits_zones_in_turn(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler({"percentageOfNodesToScore": 50})
    for zone in ("east", "west"):
        for number in range(100):
            node = make_node(f"{zone}-{number:03}").zone(zone).obj()
            scheduler.handle("Node", None, node)
    scheduler.handle("Pod", None, make_pod("p").obj())
    decision = scheduler.schedule_one()
    assert decision is not None
    zones = [decision.nodes[row].partition("-")[0] for row in decision.feasible]
    assert (zones.count("east"), zones.count("west")) == (50, 50)


def test_decision_explains_one_node(scheduler: Scheduler) -> None:
    scheduler.handle("Node", None, make_node("small").capacity(cpu="1").obj())
    scheduler.handle("Node", None, make_node("tainted").taint("gpu").obj())
    scheduler.handle("Node", None, make_node("good").obj())
    scheduler.handle("Pod", None, make_pod("p").req(cpu="2", memory="16Gi").obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.node == "good"
    small, tainted = decision.status_of("small"), decision.status_of("tainted")
    assert small is not None and tainted is not None
    assert (small.plugin, small.reasons) == ("NodeResourcesFit", ("Insufficient cpu",))
    assert tainted.plugin == "TaintToleration"
    assert decision.status_of("good") is None
    assert decision.scores_of("good")["NodeResourcesFit"] == (50, 50, 50)
    assert decision.scores_of("good")["TaintToleration"] == (0, 100, 300)
