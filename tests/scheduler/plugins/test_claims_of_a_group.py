"""Claims that the pods of a group share: gate DRAWorkloadResourceClaims.

On random clusters, the outcome is compared with what the rules leave no choice about: the claim has
one device of one node, so all members that are bound are there, as many as fit.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import MergePatch
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod, decode, decode_as
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.trial import refusals
from tests.scheduler.conftest import NewScheduler

GATES = {
    "GenericWorkload": True,
    "GangScheduling": True,
    "DRAWorkloadResourceClaims": True,
}
DRIVER = "gpu.example.com"
SHARED = {"name": "shared", "resourceClaimName": "of-group"}
OF_GROUP = {
    "apiGroup": "scheduling.k8s.io",
    "resource": "podgroups",
    "name": "g",
    "uid": "g",
}
Body = dict[str, Any]


def add(
    scheduler: Scheduler, kind: str, name: str, meta: Body | None = None, **fields: Any
) -> None:
    namespace = "" if kind in ("Node", "DeviceClass", "ResourceSlice") else "default"
    metadata = {"name": name, "namespace": namespace, "uid": name, **(meta or {})}
    scheduler.handle(kind, None, decode(kind, {"metadata": metadata, **fields}))


def add_node(scheduler: Scheduler, name: str, cpus: int, devices: int) -> None:
    allocatable = {"cpu": str(cpus), "memory": "8Gi", "pods": "20"}
    add(scheduler, "Node", name, status={"allocatable": allocatable})
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": f"d{number}"} for number in range(devices)]
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": listed}
    add(scheduler, "ResourceSlice", name, spec=spec)


def add_claim(scheduler: Scheduler, name: str, meta: Body | None = None) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    add(scheduler, "ResourceClaim", name, meta, spec={"devices": {"requests": [request]}})


def add_group(scheduler: Scheduler, needed: int, *claims: Body) -> None:
    policy = {"gang": {"minCount": needed}}
    spec = {"schedulingPolicy": policy, "resourceClaims": list(claims)}
    add(scheduler, "PodGroup", "g", spec=spec)


def add_member(scheduler: Scheduler, name: str, *claims: Body, status: Body | None = None) -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    group = {"podGroupName": "g"}
    spec = {"containers": [container], "schedulingGroup": group, "resourceClaims": list(claims)}
    add(scheduler, "Pod", name, spec=spec, status=status or {})


def drain(scheduler: Scheduler) -> list[Decision]:
    decisions = []
    while (decision := scheduler.schedule_one()) is not None:
        decisions.append(decision)
    return decisions


def written(decisions: list[Decision]) -> dict[str, Mapping[str, Any]]:
    """claim → its status, as the decisions write it."""
    found: dict[str, Mapping[str, Any]] = {}
    for decision in decisions:
        for intent in decision.intents:
            if isinstance(intent, MergePatch) and intent.subresource == "status":
                found[intent.name] = {**found.get(intent.name, {}), **intent.patch["status"]}
    return found


@pytest.fixture
def scheduler(new_scheduler: NewScheduler) -> Scheduler:
    scheduler = new_scheduler(config={"featureGates": GATES})
    add(scheduler, "DeviceClass", "any")
    return scheduler


def test_the_claim_is_reserved_once_for_the_group(scheduler: Scheduler) -> None:
    add_node(scheduler, "a", 4, 1)
    add_claim(scheduler, "of-group")
    add_group(scheduler, 3, SHARED)
    for name in ("m0", "m1", "m2"):
        add_member(scheduler, name, SHARED)
    decisions = drain(scheduler)
    assert [each.node for each in decisions] == ["a", "a", "a"]
    status = written(decisions)["of-group"]
    assert status["reservedFor"] == [OF_GROUP]
    (result,) = status["allocation"]["devices"]["results"]
    assert (result["pool"], result["device"]) == ("a", "d0")
    assert scheduler.cache.listers.device_claims.reservations() == []


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "another", "resourceClaimName": "of-group"},
        {"name": "shared", "resourceClaimName": "another"},
    ],
)
def test_an_entry_that_differs_is_reserved_for_each_pod(scheduler: Scheduler, entry: Body) -> None:
    add_node(scheduler, "a", 4, 1)
    add_claim(scheduler, "of-group")
    add_group(scheduler, 2, entry)
    for name in ("m0", "m1"):
        add_member(scheduler, name, SHARED)
    decisions = drain(scheduler)
    assert [each.result for each in decisions] == [Result.SCHEDULED] * 2
    pods = [{"resource": "pods", "name": name, "uid": name} for name in ("m0", "m1")]
    reserved = written(decisions)["of-group"]["reservedFor"]
    assert sorted(reserved, key=lambda each: str(each["name"])) == pods


def test_a_claim_from_a_template_belongs_to_the_group(scheduler: Scheduler) -> None:
    """Without the gate it would have to be one of the pod."""
    from_template = {"name": "shared", "resourceClaimTemplateName": "t"}
    named = {"resourceClaimStatuses": [{"name": "shared", "resourceClaimName": "g-shared-1"}]}
    owner = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "controller": True}
    add_node(scheduler, "a", 4, 1)
    add_claim(scheduler, "g-shared-1", {"ownerReferences": [{**owner, "name": "g", "uid": "g"}]})
    add_claim(scheduler, "other", {"ownerReferences": [{**owner, "name": "other", "uid": "other"}]})
    add_group(scheduler, 1, from_template)
    add_member(scheduler, "m0", from_template, status=named)
    decisions = drain(scheduler)
    assert [each.node for each in decisions] == ["a"]
    assert written(decisions)["g-shared-1"]["reservedFor"] == [OF_GROUP]
    wrong = {"resourceClaimStatuses": [{"name": "shared", "resourceClaimName": "other"}]}
    add_member(scheduler, "m1", from_template, status=wrong)
    assert scheduler.schedule_one() is None
    framework = scheduler.profiles["default-scheduler"]
    group = {"podGroupName": "g"}
    spec = {"schedulingGroup": group, "resourceClaims": [from_template]}
    metadata = {"name": "m1", "namespace": "default", "uid": "m1"}
    pod = decode_as(Pod, {"metadata": metadata, "spec": spec, "status": wrong})
    status = framework.run_pre_enqueue_plugins(PodInfo(pod))
    assert status.reasons == (
        "ResourceClaim default/other was not created for Pod default/m1 (neither Pod nor PodGroup "
        "g is the owner)",
    )


def test_a_member_that_comes_later_uses_the_devices_of_the_group(scheduler: Scheduler) -> None:
    add_node(scheduler, "a", 2, 1)
    add_node(scheduler, "b", 8, 1)
    add_group(scheduler, 1, SHARED)
    named = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    only_a = {"nodeSelectorTerms": [{"matchFields": [named]}]}
    results = [{"request": "r", "driver": DRIVER, "pool": "a", "device": "d0"}]
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    allocation = {"devices": {"results": results}, "nodeSelector": only_a}
    add(
        scheduler,
        "ResourceClaim",
        "of-group",
        spec={"devices": {"requests": [request]}},
        status={"allocation": allocation, "reservedFor": [OF_GROUP]},
    )
    for name in ("m0", "m1", "m2"):
        add_member(scheduler, name, SHARED)
    decisions = {each.pod_key: each for each in drain(scheduler)}
    nodes = [decisions[f"default/m{number}"].node for number in range(3)]
    assert nodes == ["a", "a", ""]
    assert refusals(decisions["default/m2"])["b"] == "resourceclaim not available on the node"
    assert written(list(decisions.values())) == {}


def test_random_groups_share_one_device(new_scheduler: NewScheduler) -> None:
    outcomes = []
    for seed in range(60):
        rng = random.Random(seed)
        scheduler = new_scheduler(config={"featureGates": GATES})
        add(scheduler, "DeviceClass", "any")
        room: dict[str, int] = {}
        own = rng.random() < 0.4  # each member has a device of its own besides
        for number in range(rng.randint(1, 4)):
            cpus, devices = rng.randint(1, 5), rng.randint(0, 5)
            add_node(scheduler, f"n{number}", cpus, devices)
            if devices > (1 if own else 0):
                room[f"n{number}"] = min(cpus, devices - 1) if own else cpus
        needed, members = rng.randint(1, 4), rng.randint(1, 6)
        add_claim(scheduler, "of-group")
        add_group(scheduler, needed, SHARED)
        for number in range(members):
            claims = [SHARED]
            if own:
                add_claim(scheduler, f"own-{number}")
                claims.append({"name": "own", "resourceClaimName": f"own-{number}"})
            add_member(scheduler, f"m{number}", *claims)
        decisions = drain(scheduler)
        nodes = {each.node for each in decisions if each.result is Result.SCHEDULED}
        bound = sum(each.result is Result.SCHEDULED for each in decisions)
        assert len(nodes) <= 1, seed
        if members < needed or not room or max(room.values()) < needed:
            assert bound == 0, seed
        elif min(room.values()) >= needed:
            assert bound, seed
        for node in nodes:
            assert bound == min(members, room[node]), seed
            status = written(decisions)
            assert status["of-group"]["reservedFor"] == [OF_GROUP]
            allocated = [
                (result["pool"], result["device"])
                for each in status.values()
                for result in each["allocation"]["devices"]["results"]
            ]
            assert len(set(allocated)) == len(allocated) == 1 + bound * own
            assert {pool for pool, _ in allocated} == {node}
        claims_in_flight = scheduler.cache.listers.device_claims.reservations()
        assert claims_in_flight == []
        outcomes.append(bound)
    assert 15 < sum(map(bool, outcomes)) < 55
