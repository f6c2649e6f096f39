"""Steps of a binding that take their time run in threads; scheduling goes on beside them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config.loading import load
from apps.scheduler.config.types import API_VERSION, KIND
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework import activation, intents
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.declaration import plugin_table
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.status import Status, error
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.registry import BUILT_IN, PLUGINS
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod


@dataclass
class Slow:
    """Prepares the binding of pods named "slow…" until it is let go."""

    args: Any
    handle: Handle
    name: str = "Slow"
    go: threading.Event = field(default_factory=threading.Event)
    outcome: Status | None = None
    fails: bool = False
    log: list[str] = field(default_factory=list)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self.log.append(f"unreserve {pod.name}")

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if pod.name.startswith("slow"):
            self.go.wait()
        if self.fails:
            raise RuntimeError("the disk is on fire")
        patch = {"metadata": {"annotations": {"prepared": node_name}}}
        intents.add(state, intents.MergePatch("Pod", pod.namespace, pod.name, patch))
        return self.outcome

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self.log.append(f"bound {pod.name}")


@dataclass
class World:
    scheduler: Scheduler
    plugin: Slow
    progress: threading.Event

    def add(self, *names: str) -> None:
        for name in names:
            self.scheduler.handle("Pod", None, make_pod(name).req(cpu="1").obj())

    def decide(self) -> Decision:
        decision = self.scheduler.schedule_one()
        assert decision is not None
        return decision

    def ended(self) -> list[Decision]:
        """The decisions that have become final, when there are some."""
        assert self.progress.wait(5)
        self.progress.clear()
        return self.scheduler.resolve_waiting()


@pytest.fixture
def world(clock: VirtualClock) -> Iterator[World]:
    enabled = {"multiPoint": {"enabled": [{"name": "Slow"}]}}
    config = load(
        {"apiVersion": API_VERSION, "kind": KIND, "profiles": [{"plugins": enabled}]},
        plugin_table(PLUGINS, outside=[Slow]),
    )
    progress = threading.Event()
    with ThreadPoolExecutor(4) as executor:
        scheduler = Scheduler(
            config,
            clock=clock,
            tie_break="first-name",
            registry={**BUILT_IN, "Slow": Slow},
            executor=executor,
            on_progress=progress.set,
        )
        scheduler.handle("Node", None, make_node("a").obj())
        plugin = scheduler.profiles["default-scheduler"].plugins["Slow"]
        assert isinstance(plugin, Slow)
        yield World(scheduler, plugin, progress)
        plugin.go.set()
    scheduler.validate()


def test_a_slow_pod_holds_nobody_up(world: World) -> None:
    world.add("slow")
    slow = world.decide()
    assert (slow.result, slow.node) == (Result.BINDING, "a")
    assert world.scheduler.is_binding
    world.add("quick")
    quick = world.decide()
    assert (quick.pod_key, quick.result) == ("default/quick", Result.BINDING)
    (ended,) = world.ended()
    assert ended is quick and quick.result is Result.SCHEDULED
    assert world.scheduler.cache.nodes["a"].requested["cpu"] == 2000
    world.plugin.go.set()
    (ended,) = world.ended()
    assert ended is slow and slow.result is Result.SCHEDULED
    assert [type(intent).__name__ for intent in slow.intents] == ["MergePatch", "Binding"]
    assert not world.scheduler.is_binding
    for decision in (quick, slow):
        world.scheduler.bound(decision)
    assert world.plugin.log == ["bound quick", "bound slow"]


def test_a_failure_gives_everything_back_and_the_pod_backs_off(world: World) -> None:
    world.plugin.outcome = error("no such volume")
    world.add("p")
    world.decide()
    (decision,) = world.ended()
    assert decision.result is Result.ERROR
    assert decision.message == 'running PreBind plugin "Slow": no such volume'
    assert decision.rejection is not None and decision.rejection.plugin == "Slow"
    assert world.plugin.log == ["unreserve p"]
    assert not world.scheduler.cache.nodes["a"].pods
    assert world.scheduler.queue.contents.place_of("default/p") is SubQueue.BACKOFF


def test_an_exception_is_a_failure_that_names_the_plugin(world: World) -> None:
    world.plugin.fails = True
    world.add("p")
    world.decide()
    (decision,) = world.ended()
    said = 'running PreBind plugin "Slow": RuntimeError: the disk is on fire'
    assert (decision.result, decision.message) == (Result.ERROR, said)


def test_a_pod_deleted_meanwhile_is_not_waited_for(world: World) -> None:
    world.add("slow")
    world.decide()
    world.scheduler.handle("Pod", make_pod("slow").req(cpu="1").obj(), None)
    (decision,) = world.scheduler.resolve_waiting()
    assert decision.message == "the pod was deleted while it was being bound"
    assert not world.scheduler.cache.nodes["a"].pods
    assert not len(world.scheduler.queue)
    assert not world.scheduler.is_binding


def test_a_pod_bound_by_somebody_else_meanwhile_keeps_its_room(world: World) -> None:
    world.add("slow")
    decision = world.decide()
    pending = make_pod("slow").req(cpu="1").obj()
    world.scheduler.handle("Pod", pending, make_pod("slow").req(cpu="1").on("a").obj())
    world.plugin.go.set()
    assert world.ended() == [decision]
    world.scheduler.bind_failed(decision, error("pod slow is already assigned"))
    assert list(world.scheduler.cache.nodes["a"].pods) == ["default/slow"]
    assert not len(world.scheduler.queue)


def test_without_threads_the_caller_waits(world: World) -> None:
    world.scheduler.context.executor = None
    world.add("quick")
    assert world.decide().result is Result.SCHEDULED


def test_pods_to_activate_are_tried_when_the_cycle_has_succeeded(world: World) -> None:
    world.add("big")
    too_big = make_pod("too-big").req(cpu="9").obj()
    world.scheduler.handle("Pod", None, too_big)
    state: list[CycleState] = []
    world.plugin.reserve = lambda s, pod, node: state.append(s)
    decisions = [world.decide(), world.decide()]
    assert decisions[1].result is Result.UNSCHEDULABLE
    queue = world.scheduler.queue
    assert queue.contents.place_of("default/too-big") is SubQueue.UNSCHEDULABLE
    (decision,) = world.ended()
    activation.request(state[0], too_big)
    world.scheduler.bound(decision)
    assert queue.contents.place_of("default/too-big") is SubQueue.ACTIVE


def test_plugins_may_ask_for_writes_and_events_of_their_own(world: World) -> None:
    handle = world.plugin.handle
    pod = make_pod("p").info()
    handle.client.event(pod, "Looked", "a plugin looked at it")
    handle.client.patch("Node", "a", {"metadata": {"labels": {"seen": "yes"}}})
    assert world.progress.is_set()
    event, patch = world.scheduler.take_intents()
    assert isinstance(event, intents.PodEvent) and event.reason == "Looked"
    assert isinstance(patch, intents.MergePatch) and patch.kind == "Node"
    assert world.scheduler.take_intents() == ()
