from __future__ import annotations

from apps.scheduler.queue.backoff_queue import BackoffRules
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.queue.scheduling_queue import PriorityQueue, QueuePlugins


def test_a_pod_that_deserves_a_retry_pauses_first(world):
    world.add_rejected("a", "Eager")
    world.node_added()
    assert world.place("a") is SubQueue.BACKOFF
    assert world.queue.contents.get("shop/a").backoff_expiry == 1001.0


def test_a_pod_is_released_only_after_the_second_in_which_its_backoff_ends(world):
    world.clock.at = 1000.7
    world.add_rejected("a")
    for now, place in ((1001.999, SubQueue.BACKOFF), (1002.0, SubQueue.ACTIVE)):
        world.clock.at = now
        world.queue.flush_backoff_completed()
        assert world.place("a") is place


def test_the_pause_doubles_with_every_rejection_up_to_the_maximum(world):
    world.add("a")
    pauses = []
    for _ in range(6):
        info = world.pop()
        world.reject(info, "Eager")
        world.node_added()
        pauses.append(info.backoff_expiry - world.clock.now())
    assert pauses == [1, 2, 4, 8, 10, 10]


def test_errors_and_rejections_are_counted_apart(world):
    world.add("a")
    for plugins in (("Eager",), ("Eager",), (), ()):
        world.reject(world.pop(), *plugins)
        world.queue.activate(world.pods.values())
    info = world.pop()
    assert (info.unschedulable_count, info.consecutive_errors_count) == (2, 2)
    world.reject(info, "Eager")
    assert (info.unschedulable_count, info.consecutive_errors_count) == (3, 0)


def test_an_idle_scheduler_takes_a_rejected_pod_before_its_time(world):
    world.add_rejected("a", "Eager")
    world.node_added()
    assert world.pop().key == "shop/a"


def test_an_idle_scheduler_does_not_hurry_after_an_error(world):
    world.add_rejected("a")
    assert world.place("a") is SubQueue.BACKOFF
    assert not world.queue.has_pod_to_pop()
    assert world.queue.pop() is None


def test_pods_whose_backoff_ends_in_the_same_second_go_by_priority(world):
    world.clock.at = 1000.0
    world.add_rejected("a-small", "Eager", priority=1)
    world.clock.at = 1000.9
    world.add_rejected("z-big", "Eager", priority=5)
    world.node_added()
    assert [info.key for info in world.queue.contents.backoff_pods()] == [
        "shop/z-big",
        "shop/a-small",
    ]


def test_a_pod_gated_anew_does_not_enter_the_backoff_queue(world):
    pod = world.add_rejected("a", "Eager")
    world.queue.update(pod, world.pod("a", gated=True))
    world.node_added()
    assert world.place("a") is SubQueue.GATED


def test_a_maximum_of_zero_switches_backoff_off(world):
    queue = PriorityQueue(world.clock, QueuePlugins(), backoff=BackoffRules(max_seconds=0))
    queue.add(world.pod("a"))
    queue.add_unschedulable_if_not_present(queue.pop())
    assert queue.contents.place_of("shop/a") is SubQueue.ACTIVE
