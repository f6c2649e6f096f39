"""Many rows of an overlay changed at once show what they show when changed pod by pod."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.node_columns import NodeColumns
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.pod_change import PodChange, amounts_of
from apps.scheduler.framework.types import HostPort, PodInfo
from apps.scheduler.testing.builders import make_node, make_pod

PORTS = [HostPort(port, "TCP", "0.0.0.0") for port in range(80, 84)]


def cluster(dice: Random) -> Snapshot:
    cache = Cache()
    for number in range(5):
        cache.add_node(make_node(f"n{number}").capacity({"example.com/gpu": 8}).obj())
    for number in range(12):
        pod = make_pod(f"r{number}").on(f"n{dice.randrange(5)}").req(cpu=dice.choice(["0", "1"]))
        if number < len(PORTS):
            pod.host_port(PORTS[number].port)
        cache.add_pod(pod.info())
    snapshot = Snapshot()
    snapshot.update(cache)
    return snapshot


def change_of(pods: dict[int, Sequence[PodInfo]], nodes: NodeColumns) -> PodChange:
    listed = list(pods.values())
    amounts = np.array([sum(amounts_of(pod, nodes) for pod in each) for each in listed])
    return PodChange(np.array(list(pods)), amounts.T, listed.__getitem__)


def facts(nodes: NodeColumns) -> list[object]:
    return [
        nodes.requested.tolist(),
        nodes.nonzero_requested.tolist(),
        nodes.pod_count.tolist(),
        [nodes.port_conflicts([port]).tolist() for port in PORTS],
        [set(nodes.info(row).pods) for row in range(len(nodes))],
        [nodes.info(row).requested.get("cpu", 0) for row in range(len(nodes))],
    ]


def move(dice: Random, overlay: Overlay, name: str) -> dict[int, Sequence[PodInfo]]:
    """Pods to add (new ones) or remove (some that are there) on a few rows."""
    rows = sorted(dice.sample(range(len(overlay)), dice.randint(1, len(overlay))))
    if name:
        return {
            row: [make_pod(f"{name}-{row}-{n}").req(cpu="1").info() for n in range(2)]
            for row in rows
        }
    there = {row: list(overlay.info(row).pods.values()) for row in rows}
    return {row: dice.sample(pods, min(len(pods), 2)) for row, pods in there.items() if pods}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("looks", [True, False], ids=["looking in between", "looking at the end"])
def test_changes_of_many_lines_add_up(seed: int, looks: bool) -> None:
    dice = Random(seed)
    snapshot = cluster(dice)
    before = facts(snapshot)
    rows = np.array([0, 2, 3, 4])
    together, one_by_one = snapshot.select(rows), snapshot.select(rows)
    for step in range(6):
        adds = dice.random() < 0.5
        moved = move(dice, one_by_one, f"new{step}" if adds else "")
        if not moved:
            continue
        (together.add_pods if adds else together.remove_pods)(change_of(moved, snapshot))
        for row, pods in moved.items():
            for pod in pods:
                if adds:
                    one_by_one.add_pod(row, pod)
                else:
                    one_by_one.remove_pod(row, pod.key)
        if looks:
            assert facts(together) == facts(one_by_one)
    assert facts(together) == facts(one_by_one)
    assert facts(snapshot) == before


@pytest.mark.parametrize("seed", range(6))
def test_a_fork_shows_the_same_lines_and_goes_its_own_way(seed: int) -> None:
    dice = Random(seed)
    overlay = cluster(dice).select(np.array([0, 1, 2, 3, 4]))
    overlay.remove_pods(change_of(move(dice, overlay, ""), overlay))
    overlay.add_pod(1, make_pod("single").req(cpu="1").info())
    rows = np.array([1, 3, 4])
    fork = overlay.fork(rows)
    parent = facts(overlay)
    assert facts(fork) == facts(overlay.fork(rows))
    assert fork.requested.tolist() == overlay.requested[:, rows].tolist()
    assert [set(fork.info(n).pods) for n in range(3)] == [
        set(overlay.info(row).pods) for row in rows.tolist()
    ]
    fork.add_pods(change_of({0: [make_pod("other").req(cpu="2").info()]}, overlay))
    assert facts(overlay) == parent
    assert facts(fork) != facts(overlay.fork(rows))
