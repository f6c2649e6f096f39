"""Permit: a plugin may hold a pod that has a node, then allow it, reject it or let time run out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config.loading import load
from apps.scheduler.config.types import API_VERSION, KIND
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.declaration import plugin_table
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.status import Code, Status, unschedulable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.registry import BUILT_IN, PLUGINS
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod


@dataclass
class Gatekeeper:
    """Holds every pod for ten seconds, and notes what happens to it."""

    args: Any
    handle: Handle
    name: str = "Gatekeeper"
    log: list[str] = field(default_factory=list)
    refuses: bool = False

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        self.log.append(f"reserve {node_name}")
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self.log.append(f"unreserve {node_name}")

    def permit(
        self, state: CycleState, pod: PodInfo, node_name: str
    ) -> tuple[Status | None, float]:
        if self.refuses:
            return unschedulable("not today"), 0.0
        return Status(Code.WAIT), 10.0

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self.log.append(f"bound to {node_name}")


@dataclass
class World:
    scheduler: Scheduler
    clock: VirtualClock
    plugin: Gatekeeper

    def decide(self) -> Decision:
        self.scheduler.handle("Pod", None, make_pod("p").req(cpu="1").obj())
        decision = self.scheduler.schedule_one()
        assert decision is not None
        return decision


@pytest.fixture
def world(clock: VirtualClock) -> Iterator[World]:
    enabled = {"multiPoint": {"enabled": [{"name": "Gatekeeper"}]}}
    config = load(
        {"apiVersion": API_VERSION, "kind": KIND, "profiles": [{"plugins": enabled}]},
        plugin_table(PLUGINS, outside=[Gatekeeper]),
    )
    registry = {**BUILT_IN, "Gatekeeper": Gatekeeper}
    scheduler = Scheduler(config, clock=clock, tie_break="first-name", registry=registry)
    scheduler.handle("Node", None, make_node("a").obj())
    plugin = scheduler.profiles["default-scheduler"].plugins["Gatekeeper"]
    assert isinstance(plugin, Gatekeeper)
    yield World(scheduler, clock, plugin)
    scheduler.validate()


def test_held_pod_keeps_its_room_and_is_not_bound(world: World) -> None:
    decision = world.decide()
    assert (decision.result, decision.node, decision.intents) == (Result.WAITING, "a", ())
    assert world.scheduler.resolve_waiting() == []
    assert world.scheduler.cache.nodes["a"].requested["cpu"] == 1000


def test_allowed_pod_is_bound(world: World) -> None:
    uid = world.decide().pod_uid
    waiting = world.scheduler.waiting_pods.get(uid)
    assert waiting is not None
    world.clock.step(4)
    waiting.allow("Gatekeeper")
    (decision,) = world.scheduler.resolve_waiting()
    assert (decision.result, len(decision.intents)) == (Result.SCHEDULED, 1)
    assert decision.permit_wait is not None and decision.permit_wait.seconds == 4.0
    assert decision.permit_wait.outcome is not None and decision.permit_wait.outcome.is_success
    world.scheduler.bound(decision)
    assert world.plugin.log == ["reserve a", "bound to a"]


def test_pod_is_rejected_when_its_time_is_up(world: World) -> None:
    world.decide()
    world.clock.step(10)
    (decision,) = world.scheduler.resolve_waiting()
    assert decision.result is Result.UNSCHEDULABLE
    assert decision.unschedulable_plugins == {"Gatekeeper"}
    timeout = "rejected due to timeout after waiting 10s at plugin Gatekeeper"
    assert decision.message == f"0/1 nodes are available: 1 {timeout}."
    assert decision.permit_wait is not None
    assert decision.permit_wait.timeouts == {"Gatekeeper": 10.0}
    assert decision.permit_wait.seconds == 10.0
    assert decision.permit_wait.outcome == Status(Code.UNSCHEDULABLE, (timeout,), "Gatekeeper")
    assert world.plugin.log == ["reserve a", "unreserve a"]
    assert not world.scheduler.cache.nodes["a"].pods
    assert not len(world.scheduler.waiting_pods)


def test_owner_is_told_when_to_look_again(world: World) -> None:
    assert world.scheduler.next_deadline() is None
    world.decide()
    assert world.scheduler.next_deadline() == world.clock.now() + 10
    world.clock.step(10)
    world.scheduler.resolve_waiting()
    assert world.scheduler.next_deadline() is None


def test_pod_deleted_while_it_is_held_is_let_go(world: World) -> None:
    world.decide()
    world.scheduler.handle("Pod", make_pod("p").req(cpu="1").obj(), None)
    (decision,) = world.scheduler.resolve_waiting()
    assert decision.result is Result.UNSCHEDULABLE
    assert not world.scheduler.cache.nodes["a"].pods
    assert not len(world.scheduler.queue)


def test_pod_changed_while_it_is_held_is_retried_as_it_is_now(world: World) -> None:
    world.decide()
    old = make_pod("p").req(cpu="1").obj()
    world.scheduler.handle("Pod", old, make_pod("p").req(cpu="1").label("new", "yes").obj())
    world.clock.step(10)
    world.scheduler.resolve_waiting()
    (waiting,) = world.scheduler.queue.contents.unschedulable_pods()
    assert waiting.pod.metadata.labels == {"new": "yes"}


def test_refused_pod_gives_its_room_back(world: World) -> None:
    world.plugin.refuses = True
    decision = world.decide()
    assert decision.result is Result.UNSCHEDULABLE
    assert decision.message == "0/1 nodes are available: 1 not today."
    assert world.plugin.log == ["reserve a", "unreserve a"]
    assert not world.scheduler.cache.nodes["a"].pods
