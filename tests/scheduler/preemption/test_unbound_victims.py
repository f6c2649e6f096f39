"""Victims that have a node but are not bound yet: they go back to the queue."""

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
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.declaration import plugin_table
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.intents import Eviction
from apps.scheduler.framework.status import Code, Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.registry import BUILT_IN, PLUGINS
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.cycle import attempt


@dataclass
class Hesitant:
    """Holds pods named "held", and prepares the binding of pods named "slow" until let go."""

    args: Any
    handle: Handle
    name: str = "Hesitant"
    go: threading.Event = field(default_factory=threading.Event)

    def permit(
        self, state: CycleState, pod: PodInfo, node_name: str
    ) -> tuple[Status | None, float]:
        return (Status(Code.WAIT), 60.0) if pod.name == "held" else (None, 0.0)

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if pod.name == "slow":
            self.go.wait()
        return None


@pytest.fixture
def scheduler(clock: VirtualClock) -> Iterator[Scheduler]:
    enabled = {"multiPoint": {"enabled": [{"name": "Hesitant"}]}}
    config = load(
        {"apiVersion": API_VERSION, "kind": KIND, "profiles": [{"plugins": enabled}]},
        plugin_table(PLUGINS, outside=[Hesitant]),
    )
    with ThreadPoolExecutor(1) as executor:
        scheduler = Scheduler(
            config,
            clock=clock,
            tie_break="first-name",
            registry={**BUILT_IN, "Hesitant": Hesitant},
            executor=executor,
        )
        scheduler.handle("Node", None, make_node("a").obj())
        yield scheduler
        plugin = scheduler.profiles["default-scheduler"].plugins["Hesitant"]
        assert isinstance(plugin, Hesitant)
        plugin.go.set()
    scheduler.validate()


def decide(scheduler: Scheduler, name: str, priority: int) -> Decision:
    return attempt(scheduler, make_pod(name).req(cpu="4").priority(priority))


@pytest.mark.parametrize(
    ("victim", "state", "message"),
    [
        ("held", Result.WAITING, "waiting on permit for pod: preempted"),
        ("slow", Result.BINDING, "preempted by DefaultPreemption"),
    ],
)
def test_a_victim_that_is_not_bound_goes_back_to_the_queue(
    scheduler: Scheduler, clock: VirtualClock, victim: str, state: Result, message: str
) -> None:
    assert decide(scheduler, victim, 0).result is state
    decision = decide(scheduler, "vip", 10)
    (eviction,) = decision.intents
    assert isinstance(eviction, Eviction)
    assert (eviction.name, eviction.delete) == (victim, False)
    (rejected,) = scheduler.resolve_waiting()
    assert (rejected.result, rejected.message) == (Result.ERROR, message)
    assert scheduler.queue.contents.place_of(f"default/{victim}") is SubQueue.BACKOFF
    clock.step(60)
    scheduler.queue.flush_backoff_completed()
    winner = scheduler.schedule_one()
    assert winner is not None
    assert (winner.pod_key, winner.node) == ("default/vip", "a")
