"""Searches for devices that nodes share: the same allocations, and how many searches there are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from apps.scheduler import objects
from apps.scheduler.decision import Decision
from apps.scheduler.framework.intents import MergePatch
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.dynamicresources import filtering
from apps.scheduler.plugins.dynamicresources.device_search import Search, Solution
from apps.scheduler.plugins.dynamicresources.plugin import DynamicResources
from apps.scheduler.plugins.dynamicresources.state import ClaimState
from apps.scheduler.plugins.registry import BUILT_IN
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt

DRIVER = "gpu.example.com"


class OneByOne(DynamicResources):
    """Searches every node."""

    def sign(self, pod: PodInfo) -> Any:
        return super().sign(pod)

    def _share_searches(self, found: ClaimState) -> None:
        found.shared = None


def handle(scheduler: Scheduler, kind: str, body: dict[str, Any]) -> None:
    scheduler.handle(kind, None, objects.decode(kind, body))


def device(rng: random.Random, number: int) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": f"d{number}",
        "attributes": {"model": {"string": rng.choice("ab")}},
        "capacity": {"memory": {"value": rng.choice(["8Gi", "16Gi"])}},
    }
    if rng.random() < 0.3:
        body["allowMultipleAllocations"] = True
    if rng.random() < 0.2:
        counters = {"units": {"value": "1"}}
        body["consumesCounters"] = [{"counterSet": "set", "counters": counters}]
    if rng.random() < 0.1:
        body["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
    return body


def slices(rng: random.Random, shapes: list[list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Most nodes have a pool of their own of one of a few shapes; some pools are special."""
    special = rng.choice(["", "", "same name", "incomplete", "network"])
    for number in range(12):
        pool = {"name": f"pool-{number}", "resourceSliceCount": 2}
        if number == 3 and special == "same name":
            pool["name"] = "pool-0"
        if number == 3 and special == "incomplete":
            pool["resourceSliceCount"] = 3
        node = f"n{number}"
        counters = [{"name": "set", "counters": {"units": {"value": "1"}}}]
        driver = "other.example.com" if pool["name"] != f"pool-{number}" else DRIVER
        common = {"driver": driver, "nodeName": node, "pool": pool}
        yield body(f"{node}-c", {**common, "sharedCounters": counters})
        yield body(f"{node}-d", {**common, "devices": rng.choice(shapes)})
    if special == "network":
        pool = {"name": "network", "resourceSliceCount": 1}
        devices = [device(rng, 0)]
        for each in devices:
            each.pop("consumesCounters", None)
        yield body("net", {"driver": "net", "allNodes": True, "pool": pool, "devices": devices})


def body(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def request(rng: random.Random, name: str) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": "any"}
    match rng.randrange(8):
        case 0:
            exactly["count"] = 2
        case 1:
            expression = f'device.attributes["{DRIVER}"].model == "a"'
            exactly["selectors"] = [{"cel": {"expression": expression}}]
        case 2:
            exactly["capacity"] = {"requests": {"memory": "6Gi"}}
        case 3:
            exactly["allocationMode"] = "All"
    if rng.random() < 0.25:
        alternatives = [{**exactly, "name": "first"}, {"deviceClassName": "any", "name": "second"}]
        return {"name": name, "firstAvailable": alternatives}
    return {"name": name, "exactly": exactly}


def claim(rng: random.Random, name: str) -> dict[str, Any]:
    requests = [request(rng, f"r{number}") for number in range(rng.choice([1, 1, 2]))]
    devices: dict[str, Any] = {"requests": requests}
    if rng.random() < 0.2:
        devices["constraints"] = [{"matchAttribute": f"{DRIVER}/model"}]
    return {
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"devices": devices},
    }


def cluster(new_scheduler: NewScheduler, plugin: type, seed: int) -> Scheduler:
    rng = random.Random(seed)
    registry = {**BUILT_IN, DynamicResources.name: plugin}
    config = {"percentageOfNodesToScore": 100}
    scheduler = new_scheduler(registry=registry, config=config)
    for number in range(13):
        add(scheduler, make_node(f"n{number}").capacity(cpu="64", pods="110"))
    selectors = [{"cel": {"expression": "true"}}]
    handle(
        scheduler, "DeviceClass", {"metadata": {"name": "any"}, "spec": {"selectors": selectors}}
    )
    shapes = [[device(rng, number) for number in range(rng.randrange(1, 5))] for _ in range(3)]
    for each in slices(rng, shapes):
        handle(scheduler, "ResourceSlice", each)
    return scheduler


def own_devices(node: str, count: int) -> dict[str, Any]:
    """The spec of a slice with equal devices of a node."""
    pool = {"name": node, "resourceSliceCount": 1}
    devices = [{"name": f"d{number}"} for number in range(count)]
    return {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}


def simple_claim(number: int) -> dict[str, Any]:
    """A claim for any one device."""
    meta = {"name": f"c{number}", "namespace": "default", "uid": f"c{number}"}
    requests = [{"name": "r", "exactly": {"deviceClassName": "any"}}]
    return {"metadata": meta, "spec": {"devices": {"requests": requests}}}


def step(
    scheduler: Scheduler, wanted: dict[str, Any], deletes: str, profile: str = "default-scheduler"
) -> tuple[Any, ...]:
    """Try a pod with the claim, and delete another claim; what was decided and written."""
    name = wanted["metadata"]["name"]
    handle(scheduler, "ResourceClaim", wanted)
    reference = [{"name": "c", "resourceClaimName": name}]
    pod = make_pod(f"p-{name}").spec(resourceClaims=reference).scheduler(profile)
    decision = attempt(scheduler, pod)
    if decision.node:
        scheduler.bound(decision)
        write(scheduler, decision)
    gone = scheduler.cache.listers.resource_claims.get(deletes, "default")
    if gone is not None:
        scheduler.handle("ResourceClaim", gone, None)
    return summary(decision)


def write(scheduler: Scheduler, decision: Decision) -> None:
    status: dict[str, Any] = {}
    for intent in decision.intents:
        if isinstance(intent, MergePatch):
            status |= intent.patch.get("status", {})
    name = decision.pod_key.removeprefix("default/p-")
    old = scheduler.cache.listers.resource_claims.get(name, "default")
    assert old is not None
    new = objects.decode("ResourceClaim", {**msgspec.to_builtins(old), "status": status})
    scheduler.handle("ResourceClaim", old, new)


def summary(decision: Decision) -> tuple[Any, ...]:
    if decision.node_statuses is None:
        return "", decision.message
    rows = [(name, str(decision.status_of(name))) for name in decision.nodes]
    scores = {name: column.raw.tolist() for name, column in decision.scores.items()}
    written = [
        [{**each, "shareID": None} for each in allocation["devices"].get("results", ())]
        for intent in decision.intents
        if isinstance(intent, MergePatch)
        and (allocation := intent.patch.get("status", {}).get("allocation"))
    ]
    return decision.node, decision.message, rows, scores, msgspec.to_builtins(written)


@pytest.mark.parametrize("seed", range(12))
def test_shared_searches_find_what_a_search_of_each_node_finds(
    new_scheduler: NewScheduler, seed: int
) -> None:
    ours = cluster(new_scheduler, DynamicResources, seed)
    reference = cluster(new_scheduler, OneByOne, seed)
    rng = random.Random(seed)
    for number in range(40):
        wanted = claim(rng, f"c{number}")
        deletes = f"c{rng.randrange(80)}"
        assert step(ours, wanted, deletes=deletes) == step(reference, wanted, deletes=deletes)


def test_every_profile_learns_which_devices_are_in_use(new_scheduler: NewScheduler) -> None:
    profiles = [{"schedulerName": name} for name in ("one", "other")]
    scheduler = new_scheduler(config={"profiles": profiles})
    handle(scheduler, "DeviceClass", {"metadata": {"name": "any"}})
    for node in ("n0", "n1"):
        add(scheduler, make_node(node).capacity(cpu="64", pods="110"))
        handle(scheduler, "ResourceSlice", body(node, own_devices(node, 2)))
    names = ["one", "other", "one", "other", "one"]
    decided = [step(scheduler, simple_claim(n), "", name) for n, name in enumerate(names)]
    assert [bool(decision[0]) for decision in decided] == [True] * 4 + [False]


def test_a_search_serves_all_nodes_in_the_same_state(
    new_scheduler: NewScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = []

    class Counted(Search):
        def run(self) -> Solution | None:
            searches.append(self)
            return super().run()

    monkeypatch.setattr(filtering, "Search", Counted)
    scheduler = new_scheduler(config={"percentageOfNodesToScore": 100})
    handle(scheduler, "DeviceClass", {"metadata": {"name": "any"}})
    for number in range(50):
        node = f"n{number}"
        add(scheduler, make_node(node).capacity(cpu="64", pods="110"))
        handle(scheduler, "ResourceSlice", body(node, own_devices(node, 4)))
    for number in range(200):
        assert step(scheduler, simple_claim(number), deletes="")[0]
    # no device in use, one, two, three, and all four
    assert len(searches) == 5
