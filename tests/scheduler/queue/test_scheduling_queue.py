from __future__ import annotations

import pytest

from apps.scheduler.framework.events import (
    EVENT_ASSIGNED_POD_ADD,
    EVENT_NODE_ADD,
    EVENT_NODE_DELETE,
    WILDCARD_EVENT,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Resource,
    pod_update_events,
)
from apps.scheduler.objects import decode
from apps.scheduler.queue.hinting import build_queueing_hint_map
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.queue.scheduling_queue import PriorityQueue, QueuePlugins
from tests.scheduler.queue.conftest import World


def test_an_empty_queue_has_nothing_to_pop(world):
    assert world.queue.pop() is None
    assert not world.queue.has_pod_to_pop()


def test_the_pod_of_higher_priority_is_popped_first(world):
    world.add("small", priority=1)
    world.add("big", priority=10)
    assert [world.pop().key, world.pop().key] == ["shop/big", "shop/small"]


def test_among_equals_the_pod_that_waits_longer_is_popped_first(world):
    world.add("z-early")
    world.clock.step(1)
    world.add("a-late")
    assert world.pop().key == "shop/z-early"


def test_pods_of_one_moment_are_popped_by_their_keys(world):
    world.add("b")
    world.add("a")
    assert [world.pop().key, world.pop().key] == ["shop/a", "shop/b"]


def test_a_popped_pod_counts_the_attempt_and_the_cycle(world):
    world.add("a")
    info = world.pop()
    assert info.attempts == 1
    assert info.initial_attempt_timestamp == 1000.0
    assert world.queue.scheduling_cycle == 1


def test_a_rejected_pod_waits_for_an_event(world):
    world.add_rejected("a", "Eager")
    assert world.place("a") is SubQueue.UNSCHEDULABLE
    assert world.queue.pop() is None


def test_an_event_its_rejector_waits_for_brings_a_pod_back(world):
    world.add_rejected("a", "Eager")
    world.clock.step(60)
    world.node_added()
    assert world.place("a") is SubQueue.ACTIVE


def test_an_event_its_rejector_does_not_care_about_leaves_a_pod_waiting(world):
    world.add_rejected("a", "Picky")
    world.clock.step(60)
    world.node_added()
    world.queue.move_all_to_active_or_backoff_queue(EVENT_NODE_DELETE)
    assert world.place("a") is SubQueue.UNSCHEDULABLE


def test_one_willing_rejector_is_enough(world):
    world.add_rejected("a", "Picky", "Eager")
    world.clock.step(60)
    world.node_added()
    assert world.place("a") is SubQueue.ACTIVE


def test_a_hint_that_fails_counts_as_willing(world, caplog):
    world.add_rejected("a", "Broken")
    world.clock.step(60)
    world.node_added()
    assert world.place("a") is SubQueue.ACTIVE
    assert "the queueing hint of Broken failed for pod shop/a" in caplog.text


def test_the_pre_check_rules_pods_out(world):
    world.add_rejected("a", "Eager")
    world.clock.step(60)
    world.queue.move_all_to_active_or_backoff_queue(EVENT_NODE_ADD, pre_check=lambda pod: False)
    assert world.place("a") is SubQueue.UNSCHEDULABLE


def test_a_wildcard_event_moves_whoever_was_rejected(world):
    world.add_rejected("a", "Picky")
    world.clock.step(60)
    world.queue.move_all_to_active_or_backoff_queue(WILDCARD_EVENT)
    assert world.place("a") is SubQueue.ACTIVE


def test_a_pod_that_waits_too_long_is_tried_again_without_an_event(world):
    world.add_rejected("a", "Picky")
    world.clock.step(300)
    world.queue.flush_unschedulable_leftover()
    assert world.place("a") is SubQueue.UNSCHEDULABLE
    world.clock.step(0.001)
    world.queue.flush_unschedulable_leftover()
    assert world.pop().was_flushed_from_unschedulable


def test_a_gated_pod_is_not_tried_until_its_gates_are_gone(world):
    gated = world.add("a", gated=True)
    assert world.place("a") is SubQueue.GATED
    assert world.queue.pop() is None
    world.queue.update(gated, world.pod("a"))
    assert world.pop().key == "shop/a"


@pytest.mark.parametrize("event", [EVENT_NODE_ADD, WILDCARD_EVENT])
def test_no_other_event_opens_a_gate(world, event):
    world.add("a", gated=True)
    world.queue.move_all_to_active_or_backoff_queue(event)
    assert world.place("a") is SubQueue.GATED


def test_an_update_of_an_active_pod_changes_its_place(world):
    pod = world.add("a", priority=1)
    world.add("b", priority=5)
    world.queue.update(pod, world.pod("a", priority=9))
    info = world.pop()
    assert (info.key, info.pod.spec.priority) == ("shop/a", 9)


def test_an_update_of_an_unknown_pod_adds_it(world):
    world.queue.update(world.pod("a"), world.pod("a"))
    assert world.place("a") is SubQueue.ACTIVE


def test_a_pod_added_twice_keeps_its_history(world):
    pod = world.add_rejected("a", "Eager")
    world.queue.add(pod)
    assert (world.place("a"), world.queue.contents.get("shop/a").attempts) == (
        SubQueue.UNSCHEDULABLE,
        1,
    )
    world.node_added()
    flying = world.pop()
    world.queue.add(world.pod("a", priority=4))
    world.reject(flying, "Eager")
    assert [info.pod.spec.priority for info in world.queue.contents.unschedulable_pods()] == [4]


@pytest.mark.parametrize("rejectors", [(), ("Eager",)])
def test_a_deleted_pod_is_gone_from_wherever_it_waits(world, rejectors):
    pod = world.add_rejected("a", *rejectors)
    world.queue.delete(pod)
    assert world.place("a") is SubQueue.OUTSIDE
    assert len(world.queue) == 0


def test_activating_brings_pods_to_the_active_queue_past_their_backoff(world):
    rejected = world.add_rejected("a", "Picky")
    failed = world.add_rejected("b")
    world.queue.activate([rejected, failed, world.pod("stranger")])
    assert [info.key for info in world.queue.contents.active_pods()] == ["shop/a", "shop/b"]


def test_pending_pods_says_how_many_are_where(world):
    world.add_rejected("a", "Eager")
    world.add_rejected("b")
    world.add("c", gated=True)
    world.add("d")
    pods, summary = world.queue.contents.pending_pods()
    assert {pod.metadata.name for pod in pods} == {"a", "b", "c", "d"}
    assert summary == "activeQ:1; backoffQ:1; unschedulablePods:2"


def test_a_closed_queue_gives_out_nothing_more(world):
    world.add("a")
    world.pop()
    world.add("b")
    world.queue.close()
    assert world.queue.pop() is None
    assert set(world.entries()) == {"uid-a", "uid-b"}


def test_a_pod_that_starts_to_run_or_changes_is_a_reason_for_all_whose_plugins_listen() -> None:
    label = ClusterEventWithHint(ClusterEvent(Resource.POD, ActionType.UPDATE_POD_LABEL))
    hints = build_queueing_hint_map(
        [("A", [ClusterEventWithHint(EVENT_ASSIGNED_POD_ADD)]), ("B", [label])]
    )
    world = World()
    world.queue = PriorityQueue(world.clock, QueuePlugins(hints={"default-scheduler": hints}))
    world.add_rejected("added", "A")
    world.add_rejected("labeled", "B")
    world.clock.step(60)
    body = {"metadata": {"name": "db", "namespace": "shop"}, "spec": {"nodeName": "n"}}
    old = decode("Pod", body)
    world.queue.assigned_pod_added(old)
    assert (world.place("added"), world.place("labeled")) == (
        SubQueue.ACTIVE,
        SubQueue.UNSCHEDULABLE,
    )
    body["metadata"] = {**body["metadata"], "labels": {"app": "db"}}
    new = decode("Pod", body)
    (event,) = pod_update_events(old, new)
    world.queue.assigned_pod_updated(old, new, event)
    assert world.place("labeled") == SubQueue.ACTIVE
