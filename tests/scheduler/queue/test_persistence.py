from __future__ import annotations

import msgspec
import pytest

from apps.scheduler.framework.types import PodInfo
from apps.scheduler.queue.records import SavedEntry, SubQueue


def fill(world):
    """Pods in every part of the queue, with a history behind them."""
    world.add_rejected("waits", "Picky", priority=2)
    world.add_rejected("pauses", "Eager")
    world.node_added()
    world.clock.step(0.25)
    world.add_rejected("failed")
    world.add("gated", gated=True)
    world.add("ready", priority=-5)
    world.queue.add_nominated_pod(PodInfo(world.pods["uid-waits"]), "n1")
    world.queue.add_nominated_pod(PodInfo(world.pods["uid-pauses"]), "n1")
    world.add("flies", priority=100)
    assert world.pop().key == "shop/flies"


def restored(world):
    queue = world.new_queue()
    queue.restore(world.queue.dump(), world.pods.get, world.queue.scheduling_cycle)
    return queue


def test_a_restored_queue_knows_everything_the_old_one_knew(world):
    fill(world)
    old, new = world.queue, restored(world)
    assert {e.pod_uid: e for e in new.dump()} == world.entries()
    assert new.scheduling_cycle == old.scheduling_cycle == 4
    assert [i.key for i in new.contents.backoff_pods()] == [
        i.key for i in old.contents.backoff_pods()
    ]
    assert list(map(str, new.nominator.pods_for_node("n1"))) == list(
        map(str, old.nominator.pods_for_node("n1"))
    )


def test_a_pod_in_flight_comes_back_to_the_active_queue_as_before_its_attempt(world):
    world.add("a")
    world.reject(world.pop(), "Eager")
    world.clock.step(30)
    world.node_added()
    world.pop()
    queue = restored(world)
    info = queue.contents.get("shop/a")
    assert queue.contents.place_of("shop/a") is SubQueue.ACTIVE
    assert (info.attempts, info.timestamp) == (1, 1000.0)
    assert info.unschedulable_plugins == {"Eager"}
    assert queue.contents.in_flight_pods() == []


def test_a_restored_queue_goes_on_as_the_old_one_would_have(world):
    fill(world)
    world.queue.done("uid-flies")
    world.queue, old = restored(world), world.queue
    for queue in (old, world.queue):
        world.clock.at = 1400.0
        queue.flush_backoff_completed()
        queue.flush_unschedulable_leftover()
    popped = [[queue.pop().key for _ in range(4)] for queue in (old, world.queue)]
    assert popped[0] == popped[1] == ["shop/waits", "shop/pauses", "shop/failed", "shop/ready"]


def test_an_entry_whose_pod_is_gone_is_left_out(world):
    fill(world)
    del world.pods["uid-waits"]
    assert restored(world).contents.get("shop/waits") is None


def test_a_gate_that_opened_meanwhile_does_not_stay_shut(world):
    world.add("a", gated=True)
    world.pod("a")
    assert restored(world).contents.place_of("shop/a") is SubQueue.ACTIVE


def test_a_queue_in_use_cannot_be_restored_into(world):
    world.add("a")
    with pytest.raises(ValueError, match="only an empty queue can be restored"):
        world.queue.restore([], world.pods.get)


def test_entries_survive_being_written_as_json(world):
    fill(world)
    for entry in world.queue.dump():
        assert msgspec.json.decode(msgspec.json.encode(entry), type=SavedEntry) == entry


def test_only_entries_that_changed_have_to_be_written(world):
    world.add_rejected("a", "Eager")
    world.add_rejected("b", "Picky")
    world.queue.take_changes()
    world.node_added()
    changes = world.queue.take_changes()
    assert [(entry.pod_key, entry.queue) for entry in changes.saved] == [("shop/a", "backoff")]
    assert not world.queue.take_changes()


def test_popping_from_the_active_queue_needs_no_write(world):
    world.add("a")
    world.queue.take_changes()
    world.pop()
    assert not world.queue.take_changes()


def test_a_pod_that_left_the_queue_is_to_be_removed(world):
    world.add("bound")
    deleted = world.add_rejected("deleted", "Eager", priority=1)
    world.queue.take_changes()
    world.queue.done(world.pop().uid)
    world.queue.delete(deleted)
    changes = world.queue.take_changes()
    assert changes.saved == ()
    assert set(changes.removed) == {"uid-bound", "uid-deleted"}


def test_a_pod_deleted_in_flight_is_to_be_removed_at_once(world):
    pod = world.add("a")
    world.pop()
    world.queue.take_changes()
    world.queue.delete(pod)
    assert world.queue.take_changes().removed == ("uid-a",)
    assert world.queue.dump() == []


def test_what_is_saved_of_a_pod_says_when_it_was_first_tried_and_what_gates_it(world):
    world.add_rejected("tried", "Eager")
    world.clock.step(5)
    world.add("held", gated=True)
    saved = world.entries()
    assert saved["uid-tried"].initial_attempt_timestamp == 1000.0
    assert saved["uid-held"].gating_plugin == "Gate"


def test_a_pod_that_was_popped_is_saved_as_if_it_waited(world):
    world.add_rejected("a", "Eager")
    world.queue.activate(world.pods.values())
    world.pop()
    changes = world.queue.take_changes()
    assert changes.removed == ()
    assert [(each.pod_uid, each.queue, each.attempts) for each in changes.saved] == [
        ("uid-a", SubQueue.ACTIVE, 1)
    ]
