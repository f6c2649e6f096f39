"""PodTopologySpread and InterPodAffinity on random clusters, against a slow reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.plugins.interpodaffinity.plugin import InterPodAffinity
from apps.scheduler.plugins.podtopologyspread.plugin import PodTopologySpread
from tests.scheduler.topology_clusters import CHANGES, HOSTNAME, NODES, PODS, Cluster, Dice

Plugin = PodTopologySpread | InterPodAffinity
#: the cluster and a pod → compares the plugin's answers with those of the reference
Check = Callable[[Cluster, PodInfo], None]
ScoreCheck = Callable[[Cluster, PodInfo, Int64Array], None]

seeds = st.integers(0, 2**32)


def pre_filter(plugin: Plugin, cluster: Cluster, pod: PodInfo) -> CycleState | None:
    """None = Skip."""
    state = CycleState()
    _, status = plugin.pre_filter(state, pod, cluster.snapshot)
    assert status is None or status.is_skip
    return None if status is not None else state


def reasons(
    plugin: Plugin, state: CycleState, pod: PodInfo, table: NodeColumns, lines: Sequence[int]
) -> list[str | None]:
    """The plugin's reason for each line."""
    found = plugin.filter(state, pod, table)
    if found is None:
        return [None] * len(lines)
    statuses = [found.statuses[found.ids[line]] if found.ids[line] else None for line in lines]
    return [None if status is None else status.message for status in statuses]


def raw_and_normalized(
    plugin: Plugin, cluster: Cluster, pod: PodInfo, rows: Int64Array
) -> list[tuple[int, int]] | None:
    """The scores of each row; None = Skip."""
    state = CycleState()
    status = plugin.pre_score(state, pod, cluster.snapshot, rows)
    if status is not None:
        assert status.is_skip
        return None
    raw = plugin.score(state, pod, cluster.snapshot, rows)
    normalized = plugin.normalize_score(state, pod, raw)
    assert all(0 <= score <= 100 for score in normalized)
    return list(zip(raw.tolist(), normalized.tolist(), strict=True))


def check_filter(
    plugin: Plugin, cluster: Cluster, pod: PodInfo, refusal: Callable[[NodeInfo], str | None]
) -> None:
    """``refusal``: what the reference says of a node."""
    expected = [refusal(info) for info in cluster.infos(cluster.rows)]
    state = pre_filter(plugin, cluster, pod)
    if state is None:
        assert expected == [None] * len(cluster.rows)
    else:
        assert reasons(plugin, state, pod, cluster.snapshot, cluster.rows) == expected


def check_while_the_cluster_changes(
    dice: Dice, cluster: Cluster, check_filter: Check, check_scores: ScoreCheck
) -> None:
    cluster.fill(dice)
    pods = [dice.incoming() for _ in range(3)]
    for _ in range(4):
        for pod in (*pods, dice.incoming()):
            check_filter(cluster, pod)
            some = dice.sample(cluster.rows.tolist(), dice.randint(1, len(cluster.rows)))
            check_scores(cluster, pod, np.array(sorted(some), dtype=np.int64))
            check_scores(cluster, pod, cluster.rows)
        # Totals are carried on as long as only pods change.
        kinds = CHANGES if dice.odds(0.4) else ("pod", "pod", "no pod")
        for what, item in dice.changes(dice.randint(1, 6), kinds):
            cluster.change(what, item)
        if not cluster.snapshot.total_nodes or "node" in kinds:
            cluster.change("node", dice.node(NODES[0]))
        cluster.snapshot.update(cluster.cache)


def check_many_selectors(check: Check) -> None:
    """More columns than are kept, and nodes that come and go in between."""
    dice, cluster = Dice(7), Cluster()
    cluster.fill(dice)
    for number in range(300):
        pod = dice.pod("incoming").label("team", f"t{number}")
        pod.spread(HOSTNAME, {"team": f"t{number % 270}"}).spread("zone", {"app": "x"})
        check(cluster, pod.info())
        if number % 10 == 0:
            for what, item in dice.changes(3, CHANGES):
                cluster.change(what, item)
            cluster.change("node", dice.node(NODES[0]))
            cluster.change("pod", dice.running(PODS[0]))
            cluster.snapshot.update(cluster.cache)


@dataclass(frozen=True)
class Swap:
    """Pods that leave a node and pods that come to it, before a pod is tried there."""

    cluster: Cluster
    pod: PodInfo
    node: str
    gone: Sequence[PodInfo]
    new: Sequence[PodInfo]

    @property
    def after(self) -> dict[str, NodeInfo]:
        """The nodes as they would be."""
        changed = {name: info.clone() for name, info in self.cluster.cache.nodes.items()}
        for other in self.gone:
            changed[self.node].remove_pod(other.key)
        for other in self.new:
            changed[self.node].add_pod(other)
        return changed


def random_swap(seed: int) -> Swap:
    dice, cluster = Dice(seed), Cluster()
    cluster.fill(dice, steady=True)
    pod, node = dice.incoming(), dice.choice(NODES)
    gone = [other for other in cluster.cache.nodes[node].pods.values() if dice.odds(0.5)]
    new = [dice.running(f"new-{number}", steady=True).on(node).info() for number in range(2)]
    return Swap(cluster, pod, node, gone, new)


def dry_run(plugin: Plugin, swap: Swap, state: CycleState) -> str | None:
    """The reason after the swap; all is as it was when that is undone."""
    cluster, pod = swap.cluster, swap.pod
    before = reasons(plugin, state, pod, cluster.snapshot, cluster.rows)
    overlay = Overlay(cluster.snapshot, np.array([cluster.snapshot.row_of(swap.node)]))
    clone = state.clone()

    def exchange(gone: Sequence[PodInfo], new: Sequence[PodInfo]) -> None:
        for other in gone:
            overlay.remove_pod(0, other.key)
            plugin.remove_pod(clone, pod, other, overlay)
        for other in new:
            overlay.add_pod(0, other)
            plugin.add_pod(clone, pod, other, overlay)

    exchange(swap.gone, swap.new)
    reason = reasons(plugin, clone, pod, overlay, [0])[0]
    exchange(swap.new, swap.gone)
    assert reasons(plugin, clone, pod, cluster.snapshot, cluster.rows) == before
    assert reasons(plugin, state, pod, cluster.snapshot, cluster.rows) == before
    return reason
