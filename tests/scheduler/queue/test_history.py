from __future__ import annotations


def told(world):
    return [(m.source, m.target, m.event, m.plugin, m.hint, m.reason) for m in world.moves]


def test_every_move_of_a_pod_is_told_with_what_decided_it(world):
    world.add("a")
    world.reject(world.pop(), "Picky", "Eager")
    world.node_added()
    world.clock.step(2)
    world.queue.flush_backoff_completed()
    world.queue.done(world.pop().uid)
    assert told(world) == [
        ("", "active", "UnschedulablePodAdd", "", "", ""),
        ("active", "in_flight", "Pop", "", "", ""),
        ("in_flight", "unschedulable", "ScheduleAttemptFailure", "", "", ""),
        ("unschedulable", "backoff", "NodeAdd", "Eager", "Queue", ""),
        ("backoff", "active", "BackoffComplete", "", "", ""),
        ("active", "in_flight", "Pop", "", "", ""),
        ("in_flight", "", "Done", "", "", ""),
    ]
    assert [move.at for move in world.moves] == [1000.0] * 4 + [1002.0] * 3
    assert {(move.pod_key, move.pod_uid) for move in world.moves} == {("shop/a", "uid-a")}


def test_a_gate_is_told_with_its_plugin_and_reason(world):
    gated = world.add("a", gated=True)
    world.queue.update(gated, world.pod("a"))
    gates_gone = "UnschedulablePodUpdatePodSchedulingGatesEliminated"
    assert told(world) == [
        ("", "gated", "UnschedulablePodAdd", "Gate", "", "waiting"),
        ("gated", "active", gates_gone, "Gate", "Queue", ""),
    ]


def test_a_failing_hint_is_told_as_an_error(world, caplog):
    world.add_rejected("a", "Broken")
    world.node_added()
    assert told(world)[-1] == ("unschedulable", "backoff", "NodeAdd", "Broken", "Error", "")


def test_a_pod_that_stays_where_it_is_is_not_told(world):
    pod = world.add_rejected("a", "Picky")
    before = list(world.moves)
    world.node_added()
    world.queue.update(pod, world.pod("a"))
    assert world.moves == before
