"""Devices that take CPU and memory of their node: gate DRANodeAllocatableResources.

Random clusters are compared with a plain count: pods on nodes, each with what its containers and
its devices take, node by node.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from apps.scheduler.decision import Decision
from apps.scheduler.framework import intents
from apps.scheduler.objects import (
    DeviceClass,
    PodStatus,
    ResourceClaim,
    ResourceSlice,
    decode_as,
)
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from apps.scheduler.testing.trial import refusals
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt, explained

DRIVER = "cpu.example.com"
ON = {"featureGates": {"DRANodeAllocatableResources": True}}
Body = dict[str, Any]


def device(name: str, **mappings: Any) -> Body:
    """A device; ``cpu="2"`` takes two CPUs of the node."""
    multiplied = {
        resource: {"allocationMultiplier": given} if isinstance(given, str) else given
        for resource, given in mappings.items()
    }
    return {"name": name, "nodeAllocatableResourceMappings": multiplied}


def publish(scheduler: Scheduler, node: str, *devices: Body) -> None:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices)}
    add(scheduler, decode_as(ResourceSlice, {"metadata": {"name": node}, "spec": spec}))


def claim(name: str, count: int = 1, exactly: Body | None = None) -> ResourceClaim:
    request = {
        "name": "r",
        "exactly": {"deviceClassName": "any", "count": count, **(exactly or {})},
    }
    meta = {"name": name, "namespace": "default", "uid": name}
    body = {"metadata": meta, "spec": {"devices": {"requests": [request]}}}
    return decode_as(ResourceClaim, body)


def with_claim(
    pod: str, name: str, requests: dict[str, str] | None = None, *, used: bool = True
) -> PodBuilder:
    """A pod with one container, which uses the claim."""
    listed: Body = {"requests": requests or {}}
    if used:
        listed["claims"] = [{"name": "devices"}]
    reference = {"name": "devices", "resourceClaimName": name}
    container = {"name": "main", "resources": listed}
    return make_pod(pod).spec(containers=[container], resourceClaims=[reference])


@pytest.fixture
def scheduler(new_scheduler: NewScheduler) -> Scheduler:
    scheduler = new_scheduler(config=ON)
    add(scheduler, decode_as(DeviceClass, {"metadata": {"name": "any"}}))
    return scheduler


def noted(decision: Decision) -> Any:
    """What the decision writes to the status of the pod."""
    for intent in decision.intents:
        if isinstance(intent, intents.MergePatch) and intent.kind == "Pod":
            return intent.patch["status"]["nodeAllocatableResourceClaimStatuses"]
    return None


def test_devices_count_with_the_pod_on_its_node(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n").capacity({"cpu": "8", "pods": 10}), claim("c", 2))
    publish(scheduler, "n", device("d0", cpu="2500m"), device("d1", cpu="2500m"))
    decision = attempt(scheduler, with_claim("p", "c", {"cpu": "1"}))
    assert decision.node == "n", decision.message
    taken = {"resourceClaimName": "c", "containers": ["main"], "resources": {"cpu": "5"}}
    assert noted(decision) == [taken]
    assert scheduler.cache.nodes["n"].requested["cpu"] == 6000
    refused = attempt(scheduler, make_pod("q").req({"cpu": "3"}))
    assert refused.filter_message == "0/1 nodes are available: 1 Insufficient cpu."
    assert attempt(scheduler, make_pod("r").req({"cpu": "2"})).node == "n"


def test_without_the_gate_devices_take_nothing_of_the_node(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler()
    add(scheduler, decode_as(DeviceClass, {"metadata": {"name": "any"}}))
    add(scheduler, make_node("n").capacity({"cpu": "1", "pods": 10}), claim("c"))
    publish(scheduler, "n", device("d0", cpu="8"))
    decision = attempt(scheduler, with_claim("p", "c"))
    assert (decision.node, noted(decision)) == ("n", None)
    status = {"resourceClaimName": "x", "resources": {"cpu": "8"}}
    bound = msgspec.convert(
        {"nodeAllocatableResourceClaimStatuses": [status], "phase": "Running"}, PodStatus
    )
    add(scheduler, msgspec.structs.replace(make_pod("old").on("n").obj(), status=bound))
    assert scheduler.cache.nodes["n"].requested.get("cpu", 0) == 0


def test_consumed_capacity_is_multiplied(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n").capacity({"cpu": "8", "memory": "8Gi", "pods": 10}))
    shared = {
        **device(
            "d0",
            cpu={"capacityKey": "cores", "allocationMultiplier": "1500m"},
            memory={"capacityKey": "memory"},
        ),
        "allowMultipleAllocations": True,
        "capacity": {"cores": {"value": "4"}, "memory": {"value": "6Gi"}},
    }
    publish(scheduler, "n", shared)
    amounts = {"capacity": {"requests": {"cores": "3", "memory": "2Gi"}}}
    add(scheduler, claim("c", exactly=amounts))
    decision = attempt(scheduler, with_claim("p", "c"))
    (status,) = noted(decision)
    assert status["resources"] == {"cpu": "4500m", "memory": "2Gi"}
    counted = scheduler.cache.nodes["n"].requested
    assert (counted["cpu"], counted["memory"]) == (4500, 2 * 2**30)


def test_a_capacity_of_a_device_that_is_not_shared_is_an_error(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"), claim("c"))
    whole = {**device("d0", cpu={"capacityKey": "cores"}), "capacity": {"cores": {"value": "4"}}}
    publish(scheduler, "n", whole)
    assert attempt(scheduler, with_claim("p", "c")).message == (
        'running "DynamicResources" filter plugin: '
        "claim default/c, device d0: ConsumedCapacity is nil, but Capacity key 'cores' is set in "
        "NodeAllocatableResourceMappings for resource cpu"
    )


def test_a_claim_that_no_container_uses_is_refused(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"), claim("c"))
    publish(scheduler, "n", device("d0", cpu="1"))
    assert refusals(attempt(scheduler, with_claim("p", "c", used=False))) == {
        "n": "claim c: node-allocatable resource claim not referenced by any container within "
        "the pod"
    }


@pytest.mark.parametrize(("cpu", "fits"), [("5", False), ("6", True)])
def test_pod_level_requests_must_cover_the_devices(
    scheduler: Scheduler, cpu: str, fits: bool
) -> None:
    add(scheduler, make_node("n").capacity({"cpu": "16", "pods": 10}), claim("c"))
    publish(scheduler, "n", device("d0", cpu="4"))
    pod = with_claim("p", "c", {"cpu": "2"}).spec(resources={"requests": {"cpu": cpu}})
    decision = attempt(scheduler, pod)
    if fits:
        assert scheduler.cache.nodes["n"].requested["cpu"] == 6000
    else:
        assert refusals(decision) == {
            "n": "pod level request for cpu is insufficient to cover the aggregated container "
            "and node-allocatable DRA requests"
        }


def test_a_claim_is_used_by_one_pod_on_a_node(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"), claim("c"))
    publish(scheduler, "n", device("d0", cpu="1"))
    first = with_claim("p", "c")
    assert attempt(scheduler, first).node == "n"
    second = with_claim("q", "c")
    assert refusals(attempt(scheduler, second)) == {
        "n": "node allocatable resource claim c is already used by another pod"
    }
    assert explained(scheduler, second) == [
        "DynamicResources: claim default/c takes resources of the node, so that one pod can use "
        "it; it is used by default/p"
    ]


def test_the_explanation_says_what_claims_take(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n").capacity({"cpu": "8", "pods": 10}), claim("c"))
    publish(scheduler, "n", device("d0", cpu="4"))
    pod = with_claim("p", "c", {"cpu": "5"})
    assert refusals(attempt(scheduler, pod)) == {"n": "Insufficient cpu"}
    assert explained(scheduler, pod) == [
        "DynamicResources: needs cpu 9, of which claim c takes 4; free 8 of 8"
    ]


def test_pods_of_low_priority_make_room_for_devices(scheduler: Scheduler) -> None:
    """Only where that helps: a node that is too small stays out of preemption."""
    add(
        scheduler,
        make_node("n").capacity({"cpu": "8", "pods": 10}),
        make_node("small").capacity({"cpu": "3", "pods": 10}),
        make_pod("victim").on("n").req({"cpu": "6"}).priority(1),
        claim("c"),
    )
    publish(scheduler, "n", device("d0", cpu="4"))
    publish(scheduler, "small", device("d0", cpu="4"))
    decision = attempt(scheduler, with_claim("p", "c").priority(10))
    assert refusals(decision) == {"n": "Insufficient cpu", "small": "Insufficient cpu"}
    assert decision.nominating is not None and decision.nominating.nominated_node == "n"


# -- against a plain count ------------------------------------------------------------------------


@dataclass
class Room:
    """A node as the reference sees it: amounts in CPUs and bytes."""

    allocatable: dict[str, Fraction]
    devices: list[dict[str, Fraction]]
    used: set[int] = field(default_factory=set)
    taken: dict[str, Fraction] = field(default_factory=lambda: {"cpu": Fraction(0)})

    def place(self, request: dict[str, Fraction], count: int) -> list[int] | None:
        """The first free devices, if pod and devices fit; None if not."""
        free = [number for number in range(len(self.devices)) if number not in self.used]
        if len(free) < count:
            return None
        total = dict(request)
        for number in free[:count]:
            for name, amount in self.devices[number].items():
                total[name] = total.get(name, Fraction(0)) + amount
        if any(
            amount > self.allocatable[name] - self.taken.get(name, Fraction(0))
            for name, amount in total.items()
            if amount > 0
        ):
            return None
        return free[:count]

    def take(self, request: dict[str, Fraction], chosen: Sequence[int]) -> None:
        for amounts in (request, *(self.devices[number] for number in chosen)):
            for name, amount in amounts.items():
                self.taken[name] = self.taken.get(name, Fraction(0)) + amount
        self.used.update(chosen)


def random_rooms(rng: random.Random) -> Iterator[Room]:
    for _ in range(rng.randint(1, 4)):
        allocatable = {"cpu": Fraction(rng.randint(2, 8)), "memory": Fraction(rng.randint(2, 8))}
        devices = [
            {name: Fraction(rng.randint(0, 6), 2) for name in rng.sample(["cpu", "memory"], k)}
            for k in (rng.randint(0, 2) for _ in range(rng.randint(0, 4)))
        ]
        yield Room(allocatable, devices)


def text(name: str, amount: Fraction) -> str:
    """Thousandths of a CPU; kilobytes of memory."""
    return f"{int(amount * 1000)}{'m' if name == 'cpu' else ''}"


def test_random_pods_are_placed_as_by_a_plain_count(new_scheduler: NewScheduler) -> None:
    outcomes = []
    for seed in range(40):
        rng = random.Random(seed)
        rooms = list(random_rooms(rng))
        scheduler = new_scheduler(config=ON)
        add(scheduler, decode_as(DeviceClass, {"metadata": {"name": "any"}}))
        for number, room in enumerate(rooms):
            listed = {name: text(name, amount) for name, amount in room.allocatable.items()}
            add(scheduler, make_node(f"n{number}").capacity({**listed, "pods": 50}))
            mapped = [
                {name: text(name, amount) for name, amount in amounts.items() if amount}
                for amounts in room.devices
            ]
            publish(scheduler, f"n{number}", *(device(f"d{i}", **m) for i, m in enumerate(mapped)))
        for number in range(8):
            count = rng.randint(0, 2)
            request = {"cpu": Fraction(rng.randint(0, 4), 2)}
            requests = {name: text(name, amount) for name, amount in request.items()}
            pod = make_pod(f"p{number}").req(requests)
            if count:
                add(scheduler, claim(f"c{number}", count))
                pod = with_claim(f"p{number}", f"c{number}", requests)
            decision = attempt(scheduler, pod)
            fitting = {
                f"n{i}": chosen
                for i, room in enumerate(rooms)
                if (chosen := room.place(request, count)) is not None
            }
            feasible = {decision.nodes[row] for row in decision.feasible}
            assert feasible == set(fitting), (seed, number, decision.message)
            if decision.node:
                room = rooms[int(decision.node[1:])]
                room.take(request, fitting[decision.node])
                counted = scheduler.cache.nodes[decision.node].requested
                assert counted.get("cpu", 0) == room.taken["cpu"] * 1000
            outcomes.append(bool(decision.node))
    assert 80 < sum(outcomes) < 290
