"""Groups in topology domains, and preemption for whole groups: user stories, and plain references.

The stories follow KEP-5732 (topology-aware workload scheduling) and KEP-5710 (workload-aware
preemption).
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import API_VERSION, KIND, load
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Eviction
from apps.scheduler.group_attempt import GroupAttempt
from apps.scheduler.objects import decode
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.scheduler import Scheduler

GANGS = {"GenericWorkload": True, "GangScheduling": True}
PLACED = {**GANGS, "TopologyAwareWorkloadScheduling": True}
PREEMPTING = {**GANGS, "WorkloadAwarePreemption": True}


def build(gates: dict[str, bool], clock: VirtualClock | None = None) -> Scheduler:
    config = load({"apiVersion": API_VERSION, "kind": KIND, "featureGates": gates}, TABLE)
    return Scheduler(config, clock=clock or VirtualClock(), tie_break="first-name")


def add(scheduler: Scheduler, kind: str, name: str, **fields: Any) -> None:
    namespace = "" if kind == "Node" else "default"
    metadata = {"name": name, "namespace": namespace, "uid": name} | fields.pop("metadata", {})
    scheduler.handle(kind, None, decode(kind, {"metadata": metadata, **fields}))


def add_node(scheduler: Scheduler, name: str, cpu: int, rack: str = "") -> None:
    labels = {"rack": rack} if rack else {}
    allocatable = {"cpu": str(cpu), "memory": "64Gi", "pods": "99"}
    add(scheduler, "Node", name, metadata={"labels": labels}, status={"allocatable": allocatable})


def add_pod(scheduler: Scheduler, name: str, cpu: int = 1, group: str = "", **more: Any) -> None:
    requests = {"cpu": str(cpu), "memory": "1Gi"}
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    metadata = {"labels": more.pop("labels", {})}
    status = {"startTime": more.pop("start", None)}
    add(scheduler, "Pod", name, metadata=metadata, spec={**spec, **more}, status=status)


def add_group(scheduler: Scheduler, name: str, needed: int, **spec: Any) -> None:
    policy = {"gang": {"minCount": needed}} if needed else {"basic": {}}
    add(scheduler, "PodGroup", name, spec={"schedulingPolicy": policy, **spec})


def in_one(key: str) -> dict[str, Any]:
    return {"schedulingConstraints": {"topology": [{"key": key}]}}


def drain(scheduler: Scheduler, most: int = 50) -> list[Decision]:
    found: list[Decision] = []
    while len(found) < most and (decision := scheduler.schedule_one()) is not None:
        found.append(decision)
    return found


def nodes_of(decisions: list[Decision]) -> dict[str, str]:
    found = [each for each in decisions if each.result is Result.SCHEDULED]
    return {each.pod_key.split("/")[1]: each.node for each in found}


def attempt_of(decisions: list[Decision]) -> GroupAttempt:
    attempt = decisions[0].group_attempt
    assert attempt is not None
    return attempt


# -- topology-aware workload scheduling ------------------------------------------------------------


def test_a_gang_is_placed_in_the_rack_that_has_room_for_all_of_it() -> None:
    scheduler = build(PLACED)
    for number, rack in enumerate("aabbcc"):
        add_node(scheduler, f"n{number}", 2 if rack == "b" else 1, rack)
    add_group(scheduler, "train", 3, **in_one("rack"))
    for number in range(3):
        add_pod(scheduler, f"m{number}", group="train")
    decisions = drain(scheduler)
    assert set(nodes_of(decisions).values()) == {"n2", "n3"}
    attempt = attempt_of(decisions)
    assert attempt.status.is_success
    assert [(each.name, each.nodes, each.placed, each.chosen) for each in attempt.placements] == [
        ("a", 2, 2, False),
        ("b", 2, 3, True),
        ("c", 2, 2, False),
    ]
    assert (attempt.placements[0].failing, attempt.placements[0].message) == (
        "m1",
        "0/2 nodes are available: 2 Insufficient cpu.",
    )
    # the decision shows the nodes of its placement alone
    assert sorted(filter(None, decisions[0].nodes)) == ["n2", "n3"]
    scheduler.validate()
    # a member that comes later has to be in the same rack, although others have room
    add_pod(scheduler, "m3", group="train")
    add_pod(scheduler, "m4", group="train")
    (fits, fails) = drain(scheduler)
    assert fits.node in ("n2", "n3") and fails.message.startswith("0/2 nodes are available")


def test_trying_racks_leaves_what_is_known_about_all_nodes() -> None:
    scheduler = build(PLACED)
    for number in range(30):
        add_node(scheduler, f"n{number}", 2, f"rack-{number % 10}")
    add_pod(scheduler, "alone")
    drain(scheduler)
    before, rows = scheduler.snapshot.node_version, scheduler.snapshot.names
    add_group(scheduler, "train", 3, **in_one("rack"))
    for number in range(3):
        add_pod(scheduler, f"m{number}", group="train")
    attempt = attempt_of(drain(scheduler))
    assert len(attempt.placements) == 10
    scheduler.snapshot.update(scheduler.cache)
    assert (scheduler.snapshot.node_version, scheduler.snapshot.names) == (before, rows)


def test_a_gang_that_fits_in_no_rack_stays_pending_although_the_cluster_has_room() -> None:
    scheduler = build(PLACED)
    for number in range(4):
        add_node(scheduler, f"n{number}", 1, "ab"[number % 2])
    add_node(scheduler, "without-rack", 9)
    add_group(scheduler, "train", 3, **in_one("rack"))
    for number in range(3):
        add_pod(scheduler, f"m{number}", group="train")
    decisions = drain(scheduler, 3)
    assert not nodes_of(decisions)
    assert attempt_of(decisions).status.message == (
        "0/2 placements are available, first placement status: pod group is unschedulable"
    )
    assert decisions[2].message == (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: not "
        "eligible due to placement-based pod group scheduling limitation"
    )
    # without the gate the constraint does not count
    free = build(GANGS)
    for number in range(4):
        add_node(free, f"n{number}", 1, "ab"[number % 2])
    add_group(free, "train", 3, **in_one("rack"))
    for number in range(3):
        add_pod(free, f"m{number}", group="train")
    assert len(nodes_of(drain(free))) == 3


def test_pods_of_a_group_without_a_constraint_preempt_one_by_one() -> None:
    scheduler = build(PLACED)
    add_node(scheduler, "n0", 1)
    add_pod(scheduler, "low", nodeName="n0", priority=1)
    add_group(scheduler, "train", 1)
    add_pod(scheduler, "m0", group="train", priority=50)
    assert evicted(drain(scheduler, 1)) == ["low"]


def test_the_fuller_rack_is_preferred_and_then_the_one_for_more_pods() -> None:
    scheduler = build(PLACED)
    for name, rack in (("n0", "a"), ("n1", "b"), ("n2", "b")):
        add_node(scheduler, name, 4, rack)
    add_pod(scheduler, "before", 2, nodeName="n1")
    add_group(scheduler, "train", 2, **in_one("rack"))
    for number in range(5):
        add_pod(scheduler, f"m{number}", group="train")
    decisions = drain(scheduler, 5)
    first, second = attempt_of(decisions).placements
    # a: 4 of 5 pods, 4 of 4 CPUs and 4 of 64 GiB; b: all, 7 of 8 CPUs and 6 of 128 GiB
    assert [(each.plugin, each.score) for each in first.scores] == [
        ("NodeResourcesFit", (100 + 6) // 2),
        ("PodGroupPodsCount", 80),
    ]
    assert [(each.plugin, each.score) for each in second.scores] == [
        ("NodeResourcesFit", (87 + 4) // 2),
        ("PodGroupPodsCount", 100),
    ]
    assert second.chosen and len(nodes_of(decisions)) == 5


def test_a_group_that_is_in_two_racks_already_is_an_error() -> None:
    scheduler = build(PLACED)
    add_node(scheduler, "n0", 4, "a")
    add_node(scheduler, "n1", 4, "b")
    add_group(scheduler, "train", 1, **in_one("rack"))
    add_pod(scheduler, "m0", group="train", nodeName="n0")
    add_pod(scheduler, "m1", group="train", nodeName="n1")
    add_pod(scheduler, "m2", group="train")
    (decision,) = drain(scheduler, 1)
    assert decision.result is Result.ERROR
    assert "more than 1 domain found for pod group: a, b" in decision.message


@pytest.mark.parametrize("seed", range(25))
def test_placements_agree_with_a_plain_reference(seed: int) -> None:
    rng = random.Random(seed)
    scheduler = build(PLACED)
    room: dict[str, list[int]] = {}
    for number in range(rng.randint(1, 12)):
        cpu, rack = rng.randint(1, 4), rng.choice("abcd")
        add_node(scheduler, f"n{number}", cpu, rack)
        room.setdefault(rack, []).append(cpu)
    needed, members, size = rng.randint(1, 6), rng.randint(1, 8), rng.randint(1, 2)
    add_group(scheduler, "g", needed, **in_one("rack"))
    for number in range(members):
        add_pod(scheduler, f"m{number}", size, group="g")
    decisions = drain(scheduler, members)
    if members < needed:
        assert decisions == []
        return
    fitting = {
        rack: min(sum(cpu // size for cpu in sizes), members)
        for rack, sizes in room.items()
        if min(sum(cpu // size for cpu in sizes), members) >= needed
    }
    placed = nodes_of(decisions)
    scheduler.validate()
    if not fitting:
        assert not placed
        return
    most = max(fitting.values())
    totals = {
        rack: count * 100 // most
        + (count * size * 100 // sum(room[rack]) + count * 100 // (64 * len(room[rack]))) // 2
        for rack, count in fitting.items()
    }
    best = min(totals, key=lambda rack: (-totals[rack], rack))
    of_node = {
        name: node.node.metadata.labels["rack"]
        for name, node in scheduler.cache.nodes.items()
        if node.node
    }
    assert {of_node[node] for node in placed.values()} == {best}
    assert len(placed) == fitting[best]
    assert scheduler.cache.nodes.keys() == of_node.keys()


# -- workload-aware preemption ---------------------------------------------------------------------


def evicted(decisions: list[Decision]) -> list[str]:
    intents = [intent for each in decisions for intent in each.intents]
    return [each.name for each in intents if isinstance(each, Eviction)]


def test_a_group_preempts_for_all_of_its_pods_at_once() -> None:
    clock = VirtualClock()
    scheduler = build(PREEMPTING, clock)
    for number in range(3):
        add_node(scheduler, f"n{number}", 2)
        add_pod(scheduler, f"low{number}", 2, nodeName=f"n{number}", priority=number)
    add_group(scheduler, "train", 2, priority=10)
    add_pod(scheduler, "m0", 2, group="train")
    add_pod(scheduler, "m1", 2, group="train")
    decisions = drain(scheduler, 2)
    # the most important one is spared; each member does not preempt for itself
    assert evicted(decisions) == ["low1", "low0"]
    intents = [each for each in decisions[0].intents if isinstance(each, Eviction)]
    assert intents[0].beneficiary == "podgroup train on node cluster"
    assert intents[0].message.endswith("preempting to accommodate a higher priority podgroup")
    assert [each.name for each in attempt_of(decisions).victims] == ["low1", "low0"]
    assert decisions[0].message.endswith(
        "preemption: not eligible due to workload aware preemption enabled"
    )
    # while the victims are there, the group is kept out of the queue
    assert scheduler.schedule_one() is None
    for name in ("low0", "low1"):
        pod = scheduler.cache.pods[name].pod.pod
        scheduler.handle("Pod", pod, None)
    clock.step(20)
    scheduler.queue.flush_backoff_completed()
    assert len(nodes_of(drain(scheduler, 2))) == 2


def test_nothing_is_evicted_in_vain() -> None:
    scheduler = build(PREEMPTING)
    add_node(scheduler, "n0", 2)
    add_pod(scheduler, "low", 2, nodeName="n0")
    add_group(scheduler, "train", 2, priority=10)
    add_pod(scheduler, "m0", 2, group="train")
    add_pod(scheduler, "m1", 2, group="train")
    decisions = drain(scheduler, 2)
    assert evicted(decisions) == [] and not attempt_of(decisions).victims
    # without the gate the first member preempts, and the group does not fit all the same
    alone = build(GANGS)
    add_node(alone, "n0", 2)
    add_pod(alone, "low", 2, nodeName="n0")
    add_group(alone, "train", 2)
    add_pod(alone, "m0", 2, group="train", priority=10)
    add_pod(alone, "m1", 2, group="train", priority=10)
    assert evicted(drain(alone, 2)) == ["low"]


def test_a_group_with_disruption_mode_pod_group_is_evicted_as_a_whole_or_spared() -> None:
    scheduler = build(PREEMPTING)
    for number in range(3):
        add_node(scheduler, f"n{number}", 2)
    add_group(scheduler, "old", 2, priority=1, disruptionMode="PodGroup")
    # the priorities of its pods do not count
    add_pod(scheduler, "old0", 2, group="old", nodeName="n0", priority=100)
    add_pod(scheduler, "old1", 2, group="old", nodeName="n1", priority=100)
    add_pod(scheduler, "single", 2, nodeName="n2", priority=1)
    add_group(scheduler, "small", 1, priority=10)
    add_pod(scheduler, "m0", 2, group="small")
    # groups are more important than single pods of their priority
    assert evicted(drain(scheduler, 1)) == ["single"]

    add_group(scheduler, "great", 2, priority=20)
    add_pod(scheduler, "g0", 2, group="great")
    add_pod(scheduler, "g1", 2, group="great")
    decisions = drain(scheduler, 2)
    assert sorted(evicted(decisions)) == ["old0", "old1"]
    assert {each.group for each in attempt_of(decisions).victims} == {"old"}


@pytest.mark.parametrize(
    ("spec", "policy", "reason"),
    [
        ({"priority": 1}, "", "No preemption victims found for incoming preemptor"),
        ({"priority": 9}, "Never", "not eligible due to preemptionPolicy=Never."),
        (
            {"priority": 9, **in_one("rack")},
            "",
            "workload aware preemption is not supported for pod groups with scheduling constraints",
        ),
    ],
)
def test_the_group_says_why_it_does_not_preempt(
    spec: dict[str, Any], policy: str, reason: str
) -> None:
    scheduler = build(PREEMPTING)
    add_node(scheduler, "n0", 1)
    add_pod(scheduler, "low", nodeName="n0", priority=1)
    add_group(scheduler, "g", 1, **spec)
    more: dict[str, Any] = {"preemptionPolicy": policy} if policy else {}
    add_pod(scheduler, "m0", group="g", priority=50, **more)
    decisions = drain(scheduler, 1)
    assert evicted(decisions) == []
    assert attempt_of(decisions).status.message == f"pod group is unschedulable, {reason}"


def test_pods_of_a_disruption_budget_are_spared_before_more_important_ones() -> None:
    scheduler = build(PREEMPTING)
    for number in range(2):
        add_node(scheduler, f"n{number}", 1)
    add_pod(scheduler, "guarded", nodeName="n0", priority=0, labels={"app": "db"})
    add_pod(scheduler, "better", nodeName="n1", priority=5)
    selector = {"matchLabels": {"app": "db"}}
    add(scheduler, "PodDisruptionBudget", "pdb", spec={"selector": selector})
    add_group(scheduler, "g", 1, priority=10)
    add_pod(scheduler, "m0", group="g")
    assert evicted(drain(scheduler, 1)) == ["better"]


@pytest.mark.parametrize("seed", range(25))
def test_victims_agree_with_a_plain_reference(seed: int) -> None:
    rng = random.Random(seed)
    scheduler = build(PREEMPTING)
    free = {}
    for number in range(rng.randint(1, 4)):
        free[f"n{number}"] = rng.randint(1, 4)
        add_node(scheduler, f"n{number}", free[f"n{number}"])
    groups = {name: (rng.randint(0, 9), rng.random() < 0.6) for name in "xy"}
    for name, (priority, whole) in groups.items():
        mode = "PodGroup" if whole else "Pod"
        add_group(scheduler, name, 0, priority=priority, disruptionMode=mode)
    units: dict[str, tuple[tuple[Any, ...], list[tuple[str, str]]]] = {}
    for number in range(rng.randint(0, 9)):
        node, group, own = rng.choice(list(free)), rng.choice(["", "", "x", "y"]), rng.randint(0, 9)
        if not free[node]:
            continue
        free[node] -= 1
        start = f"2026-01-01T00:00:{number:02}Z"
        add_pod(scheduler, f"p{number}", group=group, nodeName=node, priority=own, start=start)
        priority, whole = groups.get(group, (own, False))
        priority = priority if whole else own
        name = group if whole else f"p{number}"
        _, pods = units.get(name, ((), []))
        pods.append((f"p{number}", node))
        key = (-priority, not group, -len(pods), int(pods[0][0][1:]))
        units[name] = key, pods
    needed, priority = rng.randint(1, 4), rng.randint(0, 10)
    add_group(scheduler, "g", needed, priority=priority)
    for number in range(needed):
        add_pod(scheduler, f"m{number}", group="g")
    decisions = drain(scheduler, needed)
    scheduler.validate()

    below = sorted(each for each in units.values() if -each[0][0] < priority)
    for _, pods in below:
        for _, node in pods:
            free[node] += 1
    expected: set[str] = set()
    before = sum(free.values()) - sum(len(pods) for _, pods in below)
    if before < needed <= sum(free.values()):
        for _, pods in below:
            for _, node in pods:
                free[node] -= 1
            if sum(free.values()) < needed:
                expected |= {name for name, _ in pods}
                for _, node in pods:
                    free[node] += 1
    assert set(evicted(decisions)) == expected
