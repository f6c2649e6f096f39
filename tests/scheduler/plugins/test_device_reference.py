"""Allocations equal those of a plain allocator, which tries every assignment in its order.

The first assignment that breaks no rule is the answer: requests in their order, alternatives in
theirs, devices by rising position. The rules are the documentation's, one assignment at a time.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from apps.scheduler.objects import DeviceClass, ResourceClaim, ResourceSlice, decode_as
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt

DRIVER = "gpu.example.com"
Body = dict[str, Any]
#: (pool, device)
Place = tuple[str, str]


@dataclass(frozen=True)
class Cluster:
    """Pools of one node, in the order of their names, and the devices that claims have."""

    pools: Mapping[str, Sequence[Body]]
    counters: Mapping[str, int]
    taken: frozenset[Place]

    def devices(self) -> Iterator[tuple[Place, Body]]:
        for pool in sorted(self.pools):
            for device in self.pools[pool]:
                yield (pool, device["name"]), device


#: request → the alternative, and the places of its devices
Assignment = tuple[tuple[int, tuple[Place, ...]], ...]


# -- the reference -------------------------------------------------------------------------------


def allocate(cluster: Cluster, claim: Body) -> list[tuple[str, Place]] | None:
    """(request, device) in the order of the results; None if no assignment keeps all rules."""
    requests = claim["spec"]["devices"]["requests"]
    for assignment in itertools.product(*(list(options(cluster, each)) for each in requests)):
        if keeps_the_rules(cluster, claim, assignment):
            return [
                (full_name(request, chosen[0]), place)
                for request, chosen in zip(requests, assignment, strict=True)
                for place in chosen[1]
            ]
    return None


def options(cluster: Cluster, request: Body) -> Iterator[tuple[int, tuple[Place, ...]]]:
    """All ways to serve one request, the preferred ones first."""
    for number, wanted in enumerate(request.get("firstAvailable") or [request["exactly"]]):
        places = [place for place, device in cluster.devices() if selects(wanted, device)]
        if wanted.get("allocationMode") == "All":
            if places:
                yield number, tuple(places)
        else:
            for chosen in itertools.combinations(places, wanted.get("count", 1)):
                yield number, chosen


def full_name(request: Body, number: int) -> str:
    alternatives = request.get("firstAvailable")
    return f"{request['name']}/{alternatives[number]['name']}" if alternatives else request["name"]


def selects(wanted: Body, device: Body) -> bool:
    model = wanted.get("wants")
    return model is None or device["attributes"]["model"]["string"] == model


def keeps_the_rules(cluster: Cluster, claim: Body, assignment: Assignment) -> bool:
    requests = claim["spec"]["devices"]["requests"]
    devices = dict(cluster.devices())
    uses: Counter[Place] = Counter()
    memory: Counter[Place] = Counter()
    units: Counter[str] = Counter()
    of_request: dict[str, list[Body]] = {}
    for request, (number, places) in zip(requests, assignment, strict=True):
        wanted = (request.get("firstAvailable") or [request["exactly"]])[number]
        of_request[request["name"]] = [devices[place] for place in places]
        asked = wanted.get("capacity", {}).get("requests", {}).get("memory")
        for place in places:
            device, pool = devices[place], place[0]
            if device.get("taints") and not wanted.get("tolerations"):
                return False
            uses[place] += 1
            memory[place] += int(asked or device["capacity"]["memory"]["value"])
            for consumed in device.get("consumesCounters", ()):
                units[pool] += int(consumed["counters"]["units"]["value"])
    alone = all(
        devices[place].get("allowMultipleAllocations")
        or (count == 1 and place not in cluster.taken)
        for place, count in uses.items()
    )
    room = all(
        amount <= int(devices[place]["capacity"]["memory"]["value"])
        for place, amount in memory.items()
    )
    for place in cluster.taken:
        if place[0] not in units:
            continue
        for consumed in devices[place].get("consumesCounters", ()):
            units[place[0]] += int(consumed["counters"]["units"]["value"])
    counted = all(units[pool] <= cluster.counters.get(pool, 0) for pool in units)
    return alone and room and counted and keeps_constraints(claim, of_request)


def keeps_constraints(claim: Body, of_request: Mapping[str, Sequence[Body]]) -> bool:
    for constraint in claim["spec"]["devices"].get("constraints", ()):
        named = constraint.get("requests") or list(of_request)
        values = [
            device["attributes"]["numa"]["int"] for name in named for device in of_request[name]
        ]
        if "matchAttribute" in constraint and len(set(values)) > 1:
            return False
        if "distinctAttribute" in constraint and len(set(values)) < len(values):
            return False
    return True


# -- random clusters and claims ------------------------------------------------------------------


def random_cluster(rng: random.Random, *, counted: bool) -> Cluster:
    """Taints and sharing, or counters: where both meet, kube-scheduler has quirks of its own."""
    pools = {}
    for pool in ("a", "b"):
        pools[pool] = [
            random_device(rng, number, counted=counted) for number in range(rng.randint(1, 3))
        ]
    exclusive = [
        (pool, device["name"])
        for pool, devices in pools.items()
        for device in devices
        if not device.get("allowMultipleAllocations")
    ]
    taken = frozenset(place for place in exclusive if rng.random() < 0.2)
    return Cluster(pools, {pool: rng.randint(1, 4) for pool in pools} if counted else {}, taken)


def random_device(rng: random.Random, number: int, *, counted: bool) -> Body:
    body: Body = {
        "name": f"d{number}",
        "attributes": {"model": {"string": rng.choice("xy")}, "numa": {"int": rng.randint(0, 1)}},
        "capacity": {"memory": {"value": rng.choice(["8", "16"])}},
    }
    if counted:
        amount = {"units": {"value": str(rng.randint(1, 2))}}
        body["consumesCounters"] = [{"counterSet": "set", "counters": amount}]
    elif rng.random() < 0.3:
        body["allowMultipleAllocations"] = True
    elif rng.random() < 0.3:
        body["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
    return body


def random_request(rng: random.Random, name: str, *, plain: bool) -> Body:
    def wanted() -> Body:
        body: Body = {"deviceClassName": "any"}
        if rng.random() < 0.4:
            body["wants"] = rng.choice("xy")
            expression = f'device.attributes["{DRIVER}"].model == "{body["wants"]}"'
            body["selectors"] = [{"cel": {"expression": expression}}]
        if rng.random() < 0.3:
            body["tolerations"] = [{"operator": "Exists"}]
        if rng.random() < 0.4:
            body["capacity"] = {"requests": {"memory": rng.choice(["4", "8"])}}
        if not plain and rng.random() < 0.3:
            body["count"] = 2
        return body

    if rng.random() < 0.3:
        return {"name": name, "firstAvailable": [{**wanted(), "name": n} for n in ("one", "two")]}
    exactly = wanted()
    if not plain and rng.random() < 0.15:
        exactly = {**exactly, "allocationMode": "All"}
        exactly.pop("count", None)
    return {"name": name, "exactly": exactly}


def random_claim(rng: random.Random, *, counted: bool) -> Body:
    constrained = not counted and rng.random() < 0.5
    names = [f"r{number}" for number in range(rng.randint(1, 3))]
    devices: Body = {
        "requests": [random_request(rng, name, plain=constrained) for name in names],
    }
    if constrained:
        kind = rng.choice(["matchAttribute", "distinctAttribute"])
        listed = rng.sample(names, k=rng.randint(0, len(names)))
        devices["constraints"] = [{kind: f"{DRIVER}/numa", "requests": listed}]
    meta = {"name": "claim", "namespace": "default", "uid": "claim"}
    return {"metadata": meta, "spec": {"devices": devices}}


def published(cluster: Cluster) -> Iterator[ResourceSlice]:
    for pool, devices in cluster.pools.items():
        counters = {"units": {"value": str(cluster.counters.get(pool, 0))}}
        about = {"name": pool, "generation": 1, "resourceSliceCount": 1 + bool(cluster.counters)}
        spec: Body = {"driver": DRIVER, "nodeName": "n", "pool": about}
        body = {"metadata": {"name": f"{pool}-devices"}, "spec": {**spec, "devices": devices}}
        yield decode_as(ResourceSlice, body)
        if cluster.counters:
            spec["sharedCounters"] = [{"name": "set", "counters": counters}]
            yield decode_as(ResourceSlice, {"metadata": {"name": f"{pool}-set"}, "spec": spec})


def holder(cluster: Cluster) -> ResourceClaim:
    results = [
        {"request": "r", "driver": DRIVER, "pool": pool, "device": device}
        for pool, device in sorted(cluster.taken)
    ]
    meta = {"name": "holder", "namespace": "default", "uid": "holder"}
    status = {"allocation": {"devices": {"results": results}}}
    return decode_as(ResourceClaim, {"metadata": meta, "status": status})


def solve(new_scheduler: NewScheduler, cluster: Cluster, claim: Body) -> Any:
    scheduler = new_scheduler()
    add(scheduler, decode_as(DeviceClass, {"metadata": {"name": "any"}}), make_node("n"))
    add(scheduler, *published(cluster), holder(cluster), decode_as(ResourceClaim, claim))
    reference = [{"name": "c", "resourceClaimName": "claim"}]
    decision = attempt(scheduler, make_pod("p").spec(resourceClaims=reference))
    if not decision.node:
        assert decision.filter_message == "0/1 nodes are available: 1 cannot allocate all claims."
        return None
    (allocated,) = decision.claims
    results = allocated.allocation.devices.results
    return [(each.request, (each.pool, each.device)) for each in results]


@pytest.mark.parametrize("counted", [False, True])
def test_allocations_are_those_of_a_plain_allocator(
    new_scheduler: NewScheduler, counted: bool
) -> None:
    found = []
    for seed in range(150):
        rng = random.Random(f"{seed}{counted}")
        cluster, claim = random_cluster(rng, counted=counted), random_claim(rng, counted=counted)
        expected = allocate(cluster, claim)
        assert solve(new_scheduler, cluster, claim) == expected, (seed, cluster, claim)
        found.append(expected)
    # both outcomes are frequent
    assert 30 < sum(each is None for each in found) < 120
