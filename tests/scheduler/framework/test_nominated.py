"""Nominated pods as columns against a look at each of them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.node_columns import NodeColumns
from apps.scheduler.framework.nominated import NominatedPods
from apps.scheduler.framework.pod_change import amounts_of
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.queue.nominator import Nominator
from apps.scheduler.testing.builders import make_node, make_pod

NODES = [f"n{number}" for number in range(6)]


def expected(nominator: Nominator, pod: PodInfo, nodes: NodeColumns) -> dict[int, set[str]]:
    """Line -> keys of the pods to respect."""
    rows: dict[int, set[str]] = {}
    for node_name, other in nominator:
        row = nodes.row_of(node_name)
        if row >= 0 and other.priority >= pod.priority and other.uid != pod.uid:
            rows.setdefault(row, set()).add(other.key)
    return rows


def some_pod(dice: Random, name: str) -> PodInfo:
    gpus = {"example.com/gpu": dice.randint(1, 2)} if dice.random() < 0.3 else {}
    pod = make_pod(name).priority(dice.randint(0, 3)).req(gpus, cpu=dice.choice(["0", "1"]))
    return pod.info()


@pytest.mark.parametrize("seed", range(8))
def test_columns_follow_nominations_and_nodes(seed: int) -> None:
    dice = Random(seed)
    cache, snapshot, nominator = Cache(), Snapshot(), Nominator()
    for name in NODES[:3]:
        cache.add_node(make_node(name).obj())
    snapshot.update(cache)
    columns = NominatedPods(nominator, snapshot)
    for _ in range(60):
        name = dice.choice(NODES)
        match dice.choice(["add", "add", "delete", "node"]):
            case "add":
                nominator.add(some_pod(dice, f"p{dice.randint(0, 9)}"), name)
            case "delete":
                nominator.delete(f"default/p{dice.randint(0, 9)}")
            case _ if name in cache.nodes:
                cache.remove_node(name)
            case _:
                gpus = {"example.com/gpu": 4} if dice.random() < 0.5 else {}
                cache.add_node(make_node(name).capacity(gpus).obj())
        snapshot.update(cache)
        pod = some_pod(dice, f"p{dice.randint(0, 9)}")
        shown = dice.sample(range(len(snapshot)), dice.randint(0, len(snapshot)))
        for nodes in (snapshot, snapshot.select(np.array(sorted(shown), dtype=np.int64))):
            found = columns.pods_to_respect(pod, nodes)
            wanted = expected(nominator, pod, nodes)
            if found is None:
                assert not wanted
                continue
            by_row = {row: found.pods(place) for place, row in enumerate(found.rows.tolist())}
            assert {row: {each.key for each in pods} for row, pods in by_row.items()} == wanted
            for place, pods in enumerate(by_row.values()):
                total = sum(amounts_of(each, snapshot) for each in pods)
                assert found.amounts[:, place].tolist() == np.asarray(total).tolist()


def test_nominations_made_before_count() -> None:
    cache, snapshot, nominator = Cache(), Snapshot(), Nominator()
    cache.add_node(make_node("n").obj())
    snapshot.update(cache)
    nominator.add(make_pod("early").priority(5).info(), "n")
    found = NominatedPods(nominator, snapshot).pods_to_respect(make_pod().info(), snapshot)
    assert found is not None
    assert [pod.key for pod in found.pods(0)] == ["default/early"]
