"""Details of the queue: what is counted, reported and passed on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from apps.scheduler.framework.events import (
    EVENT_NODE_ADD,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.series import MetricsRegistry
from apps.scheduler.queue.backoff_queue import BackoffRules
from apps.scheduler.queue.hinting import build_queueing_hint_map
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.queue.records import QueueChanges, SubQueue, arrival
from apps.scheduler.queue.scheduling_queue import PriorityQueue, QueuePlugins
from apps.scheduler.queue.unschedulable_pods import UnschedulablePods
from tests.scheduler.queue.conftest import HINTS, World, gate

LABELS_CHANGED = ClusterEvent(Resource.POD, ActionType.UPDATE_POD_LABEL)
TOLERATIONS_CHANGED = ClusterEvent(Resource.POD, ActionType.UPDATE_POD_TOLERATION)
SCALED_DOWN = ClusterEvent(Resource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN)


def listening(world: World, *events: ClusterEvent, hint: Any = None, **options: Any) -> None:
    """Give the world a queue in which the plugin Eager waits for these events alone."""
    registered = [ClusterEventWithHint(event, hint) for event in events]
    hints = build_queueing_hint_map([("Eager", registered)])
    world.queue = PriorityQueue(
        world.clock,
        QueuePlugins(hints={"default-scheduler": hints}),
        observer=world.moves.append,
        **options,
    )


def test_one_pod_in_backoff_is_enough_to_pop(world: World) -> None:
    world.add_rejected("a", "Eager")
    world.node_added()
    assert world.place("a") is SubQueue.BACKOFF
    assert world.queue.has_pod_to_pop()


def test_a_strict_backoff_ends_at_the_moment_of_its_expiry(world: World) -> None:
    listening(world, EVENT_NODE_ADD, backoff=BackoffRules(pops_early=False))
    world.clock.at = 1000.5
    world.add_rejected("a", "Eager")
    world.node_added()
    for now, place in ((1001.499, SubQueue.BACKOFF), (1001.5, SubQueue.ACTIVE)):
        world.clock.at = now
        world.queue.flush_backoff_completed()
        assert world.place("a") is place


def test_the_duration_of_a_hint_is_counted_by_plugin_event_and_hint(world: World) -> None:
    metrics = MetricsRegistry()
    listening(world, EVENT_NODE_ADD, metrics=metrics)
    world.add_rejected("a", "Eager")
    world.node_added()
    found = metrics.dump().columns[definitions.HINT_DURATION.name]
    assert found.labels == [("Eager", EVENT_NODE_ADD.label, "Queue")]


def test_who_subscribes_late_is_told_of_earlier_nominations(world: World) -> None:
    pod = PodInfo(world.add("a"))
    world.queue.add_nominated_pod(pod, "n1")
    told: list[tuple[PodInfo, str, int]] = []
    world.queue.nominator.subscribe(lambda *nomination: told.append(nomination))
    assert told == [(pod, "n1", 1)]


def test_a_plugin_that_cannot_say_what_a_pod_awaits_is_asked_at_each_event(world: World) -> None:
    def broken(pod: PodInfo) -> frozenset[Any]:
        raise ZeroDivisionError("a plugin's mistake")

    world.queue = PriorityQueue(
        world.clock,
        QueuePlugins(
            hints={"default-scheduler": HINTS},
            pre_enqueue={"default-scheduler": [("Gate", gate)]},
            awaited={"default-scheduler": {"Gate": broken}},
        ),
    )
    gated = world.add("a", gated=True)
    assert world.place("a") is SubQueue.GATED
    world.queue.update(gated, world.pod("a"))
    assert world.place("a") is SubQueue.ACTIVE


def test_changes_are_divided_by_the_pods_that_they_concern() -> None:
    saved = tuple(arrival(f"shop/{name}", name, 1.0) for name in ("a", "b"))
    changes = QueueChanges(saved, ("c", "d"))
    ours, others = changes.divide({"a", "d"})
    assert ours == QueueChanges(saved[:1], ("d",))
    assert others == QueueChanges(saved[1:], ("c",))


def test_an_update_with_several_changes_moves_a_pod_once(world: World) -> None:
    listening(world, LABELS_CHANGED, TOLERATIONS_CHANGED)
    old = world.add_rejected("a", "Eager")
    world.clock.step(60)
    world.moves.clear()
    new = world.pod("a", tolerations=[{"operator": "Exists"}])
    metadata = msgspec.structs.replace(new.metadata, labels={"app": "web"})
    labeled = msgspec.structs.replace(new, metadata=metadata)
    world.queue.update(old, labeled)
    assert [(move.source, move.target) for move in world.moves] == [
        (SubQueue.UNSCHEDULABLE, SubQueue.ACTIVE)
    ]


def test_a_version_noted_in_flight_is_the_one_that_returns(world: World) -> None:
    world.add("a")
    info = world.pop()
    newer = world.pod("a", priority=7)
    world.queue.note_version(newer)
    world.reject(info, "Eager")
    found = world.queue.contents.get("shop/a")
    assert found is not None
    assert found.pod is newer


def test_a_pod_popped_by_name_counts_the_attempt(world: World) -> None:
    pod = world.add_rejected("a", "Eager")
    world.add("b")
    info = world.queue.pop_specific(pod)
    assert info is not None
    assert (info.key, info.attempts) == ("shop/a", 2)
    assert (world.moves[-1].pod_key, world.moves[-1].target) == ("shop/a", SubQueue.IN_FLIGHT)


def test_a_hint_sees_both_versions_of_a_pod_that_was_scaled_down(world: World) -> None:
    seen: list[tuple[Any, Any]] = []

    def hint(pod: PodInfo, old: Any, new: Any) -> QueueingHint:
        seen.append((old, new))
        return QueueingHint.QUEUE_SKIP

    listening(world, SCALED_DOWN, hint=hint)
    world.add_rejected("a", "Eager")
    old, new = world.pod("running"), world.pod("running", priority=1)
    world.queue.assigned_pod_updated(old, new, SCALED_DOWN)
    assert seen == [(old, new)]


@pytest.mark.parametrize("in_backoff", [True, False])
def test_an_activation_reports_where_the_pod_waited(world: World, in_backoff: bool) -> None:
    pod = world.add_rejected("a", "Eager")
    if in_backoff:
        world.node_added()
    world.queue.activate([pod])
    source = SubQueue.BACKOFF if in_backoff else SubQueue.UNSCHEDULABLE
    move = world.moves[-1]
    assert (move.source, move.target, move.event) == (source, SubQueue.ACTIVE, "ForceActivate")


def test_an_object_concerns_the_pods_that_wait_for_it_alone(world: World) -> None:
    """Of those, the ones that a listening plugin has rejected."""
    claim = ("ResourceClaim", "shop", "gpu")
    waiting = UnschedulablePods(lambda info: frozenset({claim}))
    for name, plugin in (("a", "Eager"), ("b", "Picky"), ("c", "Eager")):
        info = QueuedPodInfo(PodInfo(world.pod(name)), 1000.0)
        info.unschedulable_plugins = frozenset({plugin})
        waiting.put(info)
    assert [info.pod.metadata.name for info in waiting.rejected_by({"Eager"}, claim)] == ["a", "c"]
    assert waiting.rejected_by({"Eager"}, ("ResourceClaim", "shop", "other")) == []
    assert waiting.rejected_by({"Eager"}) == []
