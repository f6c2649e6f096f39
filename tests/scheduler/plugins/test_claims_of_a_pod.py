"""Several claims of one pod, with admin access, request policies and binding conditions.

They get the devices of a plain allocator, which tries every assignment of all their requests.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from apps.scheduler.objects import DeviceClass, ResourceClaim, ResourceSlice, decode_as
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt

DRIVER = "gpu.example.com"
Body = dict[str, Any]
#: (pool, device)
Place = tuple[str, str]
Devices = dict[Place, Body]
#: (claim, request with its alternative, place)
Result = tuple[int, str, Place]
VALUES: Body = {"default": "2", "validValues": ["2", "4", "8"]}
RANGE: Body = {"default": "2", "validRange": {"min": "2", "step": "3", "max": "8"}}


# -- the reference -------------------------------------------------------------------------------


def allocate(pools: Body, taken: set[Place], claims: Sequence[Body]) -> list[Result] | None:
    """The first assignment of all requests that breaks no rule; None if there is none."""
    ordered = sorted(pools, key=lambda pool: (waits_for_conditions(pools[pool]), pool))
    devices: Devices = {(pool, each["name"]): each for pool in ordered for each in pools[pool]}
    requests = [
        (number, request) for number, claim in enumerate(claims) for request in claim["requests"]
    ]
    for chosen in itertools.product(*(options(each, devices) for _, each in requests)):
        picks = [
            (number, name, wanted, place)
            for (number, _), (name, wanted, places) in zip(requests, chosen, strict=True)
            for place in places
        ]
        if (
            is_free(picks, devices, taken)
            and has_room(picks, devices)
            and agrees(picks, claims, devices)
        ):
            return [(number, name, place) for number, name, _, place in picks]
    return None


def waits_for_conditions(pool: Sequence[Body]) -> bool:
    return any("bindingConditions" in each for each in pool)


def options(request: Body, devices: Devices) -> list[tuple[str, Body, tuple[Place, ...]]]:
    found = []
    for wanted in request.get("firstAvailable") or [request["exactly"]]:
        name = f"{request['name']}/{wanted['name']}" if "name" in wanted else request["name"]
        places = [place for place in devices if wanted["wants"] in ("", devices[place]["model"])]
        for places_of in itertools.combinations(places, wanted["count"]):
            found.append((name, wanted, places_of))
    return found


def is_free(picks: Sequence[Any], devices: Devices, taken: set[Place]) -> bool:
    """Exclusive devices have one user; administrators use them as well, once in a claim."""
    users: dict[Place, set[int]] = {}
    for number, _, wanted, place in picks:
        if devices[place]["taints"] and not wanted.get("tolerations"):
            return False
        before = users.setdefault(place, set())
        if wanted.get("adminAccess"):
            if number in before and not devices[place]["shared"]:
                return False
        elif not devices[place]["shared"] and (place in taken or before):
            return False
        before.add(number)
    return True


def has_room(picks: Sequence[Any], devices: Devices) -> bool:
    used: dict[Place, int] = {}
    for _, _, wanted, place in picks:
        amount = consumption(wanted["memory"], devices[place])
        if amount is None:
            return False
        total = amount + (used.get(place, 0) if devices[place]["shared"] else 0)
        if total > devices[place]["memory"]:
            return False
        used[place] = total
    return True


def consumption(asked: int, device: Body) -> int | None:
    """What a request takes by the policy of the device; None if the policy forbids so much."""
    match device["policy"]:
        case "values":
            return 2 if not asked else next((each for each in (2, 4, 8) if asked <= each), None)
        case "range":
            amount = 2 if asked <= 2 else 2 + 3 * -(-(asked - 2) // 3)
            return amount if amount <= 8 else None
    return asked or int(device["memory"])


def agrees(picks: Sequence[Any], claims: Sequence[Body], devices: Devices) -> bool:
    for index, claim in enumerate(claims):
        values = [devices[place]["numa"] for number, _, _, place in picks if number == index]
        if claim["match"] and len(set(values)) > 1:
            return False
    return True


# -- random pools and claims ---------------------------------------------------------------------


def random_pools(rng: random.Random) -> Body:
    pools: Body = {}
    for pool in ("a", "b"):
        waits = rng.random() < 0.3
        pools[pool] = [random_device(rng, number, waits) for number in range(rng.randint(1, 3))]
    return pools


def random_device(rng: random.Random, number: int, waits: bool) -> Body:
    shared = rng.random() < 0.4
    device: Body = {
        "name": f"d{number}",
        "model": rng.choice("xy"),
        "numa": rng.randint(0, 1),
        "memory": rng.choice([8, 16]),
        "shared": shared,
        "policy": rng.choice(["", "values", "range"]) if shared else "",
        "taints": rng.random() < 0.15,
    }
    return device | ({"bindingConditions": True} if waits else {})


def random_claim(rng: random.Random) -> Body:
    requests = []
    for number in range(rng.randint(1, 2)):
        name = f"r{number}"
        if rng.random() < 0.3:
            alternatives = [random_wanted(rng) | {"name": each} for each in ("one", "two")]
            requests.append({"name": name, "firstAvailable": alternatives})
        else:
            exactly = random_wanted(rng)
            if exactly["memory"] == 0 and rng.random() < 0.4:
                exactly["adminAccess"] = True
            found: Body = {"name": name, "exactly": exactly}
            requests.append(found)
    return {"requests": requests, "match": rng.random() < 0.3}


def random_wanted(rng: random.Random) -> Body:
    wanted: Body = {
        "wants": rng.choice(["", "", "x"]),
        "count": rng.choice([1, 1, 2]),
        "memory": rng.choice([0, 0, 3, 7]),
    }
    return wanted | ({"tolerations": [{"operator": "Exists"}]} if rng.random() < 0.3 else {})


def published(pools: Body) -> Iterator[ResourceSlice]:
    for pool, devices in pools.items():
        about = {"name": pool, "generation": 1, "resourceSliceCount": 1}
        bodies = [published_device(each) for each in devices]
        spec = {"driver": DRIVER, "nodeName": "n", "pool": about, "devices": bodies}
        yield decode_as(ResourceSlice, {"metadata": {"name": pool}, "spec": spec})


def published_device(device: Body) -> Body:
    memory: Body = {"value": str(device["memory"])}
    if device["policy"]:
        memory["requestPolicy"] = VALUES if device["policy"] == "values" else RANGE
    body: Body = {
        "name": device["name"],
        "attributes": {"model": {"string": device["model"]}, "numa": {"int": device["numa"]}},
        "capacity": {"memory": memory},
        "allowMultipleAllocations": device["shared"],
    }
    if device["taints"]:
        body["taints"] = [{"key": "broken", "effect": "NoExecute"}]
    if "bindingConditions" in device:
        body |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    return body


def posted(wanted: Body) -> Body:
    """The request as the API has it."""
    body = {key: value for key, value in wanted.items() if key not in ("wants", "memory")}
    body["deviceClassName"] = "any"
    if wanted["wants"]:
        expression = f'device.attributes["{DRIVER}"].model == "{wanted["wants"]}"'
        body["selectors"] = [{"cel": {"expression": expression}}]
    if wanted["memory"]:
        body["capacity"] = {"requests": {"memory": str(wanted["memory"])}}
    return body


def claim_of(number: int, claim: Body) -> ResourceClaim:
    requests: list[Body] = []
    for request in claim["requests"]:
        if "exactly" in request:
            requests.append({"name": request["name"], "exactly": posted(request["exactly"])})
        else:
            alternatives = [posted(each) for each in request["firstAvailable"]]
            requests.append({"name": request["name"], "firstAvailable": alternatives})
    devices: Body = {"requests": requests}
    if claim["match"]:
        devices["constraints"] = [{"matchAttribute": f"{DRIVER}/numa"}]
    meta = {"name": f"c{number}", "namespace": "default", "uid": f"c{number}"}
    return decode_as(ResourceClaim, {"metadata": meta, "spec": {"devices": devices}})


def holder(taken: set[Place]) -> ResourceClaim:
    results = [
        {"request": "r", "driver": DRIVER, "pool": pool, "device": device}
        for pool, device in sorted(taken)
    ]
    meta = {"name": "holder", "namespace": "default", "uid": "holder"}
    status = {"allocation": {"devices": {"results": results}}}
    return decode_as(ResourceClaim, {"metadata": meta, "status": status})


def solve(
    new_scheduler: NewScheduler, pools: Body, taken: set[Place], claims: Sequence[Body]
) -> list[Result] | None:
    scheduler = new_scheduler()
    add(scheduler, decode_as(DeviceClass, {"metadata": {"name": "any"}}), make_node("n"))
    add(scheduler, *published(pools), holder(taken))
    add(scheduler, *(claim_of(number, claim) for number, claim in enumerate(claims)))
    references = [
        {"name": f"c{number}", "resourceClaimName": f"c{number}"} for number in range(len(claims))
    ]
    decision = attempt(scheduler, make_pod("p").spec(resourceClaims=references))
    if not decision.node:
        assert decision.filter_message == "0/1 nodes are available: 1 cannot allocate all claims."
        return None
    return [
        (number, each.request, (each.pool, each.device))
        for number, claim in enumerate(decision.claims)
        for each in claim.allocation.devices.results
    ]


def test_several_claims_get_the_devices_of_a_plain_allocator(new_scheduler: NewScheduler) -> None:
    found = []
    for seed in range(120):
        rng = random.Random(seed)
        pools = random_pools(rng)
        exclusive = [
            (pool, each["name"]) for pool in pools for each in pools[pool] if not each["shared"]
        ]
        taken = {place for place in exclusive if rng.random() < 0.2}
        claims = [random_claim(rng) for _ in range(rng.randint(1, 3))]
        expected = allocate(pools, taken, claims)
        assert solve(new_scheduler, pools, taken, claims) == expected, (seed, pools, taken, claims)
        found.append(expected)
    # both outcomes are frequent
    assert 20 < sum(each is None for each in found) < 100
