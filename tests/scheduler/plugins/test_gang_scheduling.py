"""GangScheduling on random clusters: a gang is bound as a whole, and nothing of a trial remains."""

from __future__ import annotations

import random
from typing import Any

import pytest

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import API_VERSION, KIND, load
from apps.scheduler.decision import Result
from apps.scheduler.objects import decode
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.scheduler import Scheduler

GATES = {"GenericWorkload": True, "GangScheduling": True}


def build(gates: dict[str, bool]) -> Scheduler:
    config = load({"apiVersion": API_VERSION, "kind": KIND, "featureGates": gates}, TABLE)
    return Scheduler(config, clock=VirtualClock())


def add(scheduler: Scheduler, kind: str, name: str, **fields: Any) -> None:
    namespace = "" if kind == "Node" else "default"
    metadata = {"name": name, "namespace": namespace, "uid": name}
    scheduler.handle(kind, None, decode(kind, {"metadata": metadata, **fields}))


def add_nodes(scheduler: Scheduler, rng: random.Random) -> int:
    """Nodes with 1 to 4 CPUs; returns how many pods with one CPU they can take."""
    sizes = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    for number, size in enumerate(sizes):
        allocatable = {"cpu": str(size), "memory": "8Gi", "pods": "9"}
        add(scheduler, "Node", f"n{number}", status={"allocatable": allocatable})
    return sum(sizes)


def add_member(scheduler: Scheduler, name: str) -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "schedulingGroup": {"podGroupName": "g"}}
    add(scheduler, "Pod", name, spec=spec)


def drain(scheduler: Scheduler) -> list[Result]:
    results = []
    while (decision := scheduler.schedule_one()) is not None:
        results.append(decision.result)
    return results


@pytest.mark.parametrize("seed", range(40))
def test_all_or_nothing(seed: int) -> None:
    rng = random.Random(seed)
    scheduler = build(GATES)
    room = add_nodes(scheduler, rng)
    needed, members = rng.randint(1, 10), rng.randint(1, 10)
    add(scheduler, "PodGroup", "g", spec={"schedulingPolicy": {"gang": {"minCount": needed}}})
    for number in range(members):
        add_member(scheduler, f"m{number}")
    results = drain(scheduler)
    bound = sum(result is Result.SCHEDULED for result in results)
    if members < needed:
        assert results == []
    else:
        assert len(results) == members
        assert bound == (min(members, room) if room >= needed else 0)
    scheduler.validate()
    assert len(scheduler.cache.pods) == bound


def test_members_that_one_event_releases_are_tried_by_name() -> None:
    scheduler = build(GATES)
    add_nodes(scheduler, random.Random(1))
    for name in ("m3", "m1", "m2"):
        add_member(scheduler, name)
    add(scheduler, "PodGroup", "g", spec={"schedulingPolicy": {"gang": {"minCount": 1}}})
    tried = []
    while (decision := scheduler.schedule_one()) is not None:
        tried.append(decision.pod_key)
    assert tried == ["default/m1", "default/m2", "default/m3"]


def test_without_the_gates_the_group_means_nothing() -> None:
    scheduler = build({})
    add_nodes(scheduler, random.Random(1))
    add_member(scheduler, "alone")
    assert drain(scheduler) == [Result.SCHEDULED]
    assert "GangScheduling" not in scheduler.config.profiles[0].plugin_names
