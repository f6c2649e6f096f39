from __future__ import annotations

from apps.scheduler.framework.events import EVENT_NODE_ADD, EVENT_NODE_DELETE
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.queue.in_flight import InFlight
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.queue.records import SubQueue


def test_an_event_during_the_attempt_is_not_lost(world):
    world.add("a")
    info = world.pop()
    world.node_added()
    assert world.reject(info, "Eager") is SubQueue.BACKOFF


def test_an_event_before_the_attempt_does_not_count(world):
    world.add("other")
    other = world.pop()
    world.add("a")
    world.node_added()
    info = world.pop()
    assert world.reject(info, "Eager") is SubQueue.UNSCHEDULABLE
    assert world.reject(other, "Eager") is SubQueue.BACKOFF


def test_a_plugin_the_pod_is_pending_for_spares_it_the_backoff(world):
    world.add("a")
    info = world.pop()
    world.node_added()
    assert world.reject(info, "Eager", pending=("Eager",)) is SubQueue.ACTIVE


def test_an_update_in_flight_takes_effect_when_the_pod_comes_back(world):
    pod = world.add("a")
    info = world.pop()
    world.queue.update(pod, world.pod("a", priority=7))
    assert info.pod.spec.priority == 0
    world.reject(info, "Eager")
    assert world.queue.contents.get("shop/a").pod.spec.priority == 7


def test_a_pod_deleted_in_flight_does_not_come_back(world):
    pod = world.add("a")
    info = world.pop()
    world.queue.delete(pod)
    assert world.reject(info, "Eager") is SubQueue.OUTSIDE
    assert len(world.queue) == 0
    assert world.queue.contents.in_flight_pods() == []


def test_a_pod_activated_in_flight_is_retried(world):
    pod = world.add("a")
    other = world.add("b")
    info, other_info = world.pop(), world.pop()
    world.queue.activate([pod])
    assert world.reject(info, "Picky") is SubQueue.BACKOFF
    assert world.reject(other_info, "Picky") is SubQueue.UNSCHEDULABLE
    assert other_info.pod is other


def test_a_pod_that_is_done_is_forgotten(world):
    world.add("a")
    world.queue.done(world.pop().uid)
    assert world.queue.contents.in_flight_pods() == []
    assert len(world.queue) == 0


def test_events_are_kept_only_as_long_as_a_pod_needs_them(world):
    flight = InFlight()
    flight.record(EVENT_NODE_ADD, None, None)
    infos = [QueuedPodInfo(PodInfo(world.pod(name)), 0.0) for name in ("a", "b", "c")]
    for info in infos:
        flight.start(info)
        flight.record(EVENT_NODE_DELETE, None, info.key)
    seen = [[e.new for e in flight.events_since(info.uid)] for info in infos]
    assert seen == [["shop/a", "shop/b", "shop/c"], ["shop/b", "shop/c"], ["shop/c"]]
    flight.done(infos[1].uid)
    assert len(flight.events_since(infos[0].uid)) == 3
    flight.done(infos[0].uid)
    assert [e.new for e in flight.events_since(infos[2].uid)] == ["shop/c"]
    flight.done(infos[2].uid)
    assert len(flight) == 0
