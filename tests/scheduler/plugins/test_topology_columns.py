"""PodTopologySpread and InterPodAffinity against the slow reference, on random clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.scheduler.config.args import LIST_DEFAULTING, PodTopologySpreadArgs
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.nodes import Int64Array, NodeColumns
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import Service, TopologySpreadConstraint, decode_as
from apps.scheduler.plugins.interpodaffinity.plugin import InterPodAffinity
from apps.scheduler.plugins.podtopologyspread.default_constraints import SYSTEM_DEFAULTS
from apps.scheduler.plugins.podtopologyspread.plugin import PodTopologySpread
from tests.scheduler import topology_reference as reference
from tests.scheduler.topology_clusters import CHANGES, HOSTNAME, NODES, PODS, Cluster, Dice

Plugin = PodTopologySpread | InterPodAffinity
Scores = list[tuple[int, int]]

seeds = st.integers(0, 2**32)


def of(pod: PodInfo, action: str) -> list[TopologySpreadConstraint]:
    return [c for c in pod.pod.spec.topology_spread_constraints if c.when_unsatisfiable == action]


def pre_filter(plugin: Plugin, cluster: Cluster, pod: PodInfo) -> CycleState | None:
    """None = Skip."""
    state = CycleState()
    _, status = plugin.pre_filter(state, pod, cluster.snapshot)
    assert status is None or status.is_skip
    return None if status is not None else state


def refusals(
    plugin: Plugin, state: CycleState, pod: PodInfo, table: NodeColumns, lines: Sequence[int]
) -> list[str | None]:
    """The plugin's reason for each line."""
    found = plugin.filter(state, pod, table)
    if found is None:
        return [None] * len(lines)
    statuses = [found.statuses[found.ids[line]] if found.ids[line] else None for line in lines]
    return [None if status is None else status.message for status in statuses]


def scores(plugin: Plugin, cluster: Cluster, pod: PodInfo, rows: Int64Array) -> Scores | None:
    """(raw, normalised) of each row; None = Skip."""
    state = CycleState()
    status = plugin.pre_score(state, pod, cluster.snapshot, rows)
    if status is not None:
        assert status.is_skip
        return None
    raw = plugin.score(state, pod, cluster.snapshot, rows)
    normalized = plugin.normalize_score(state, pod, raw)
    assert all(0 <= score <= 100 for score in normalized)
    return list(zip(raw.tolist(), normalized.tolist(), strict=True))


def check_filters(cluster: Cluster, pod: PodInfo) -> None:
    hard, every = of(pod, "DoNotSchedule"), cluster.infos(cluster.rows)
    wanted: dict[Plugin, Callable[[NodeInfo], str | None]] = {
        cluster.spread: lambda info: reference.spread_refusal(pod, hard, every, info),
        cluster.affinity: lambda info: reference.affinity_refusal(
            pod, every, cluster.namespaces, info
        ),
    }
    for plugin, refusal in wanted.items():
        expected = [refusal(info) for info in every]
        state = pre_filter(plugin, cluster, pod)
        if state is None:
            assert expected == [None] * len(every)
        else:
            assert refusals(plugin, state, pod, cluster.snapshot, cluster.rows) == expected


def check_scores(cluster: Cluster, pod: PodInfo, rows: Int64Array, hard_weight: int) -> None:
    soft, every = of(pod, "ScheduleAnyway"), cluster.infos(cluster.rows)
    feasible = cluster.infos(rows)
    expected = reference.spread_scores(pod, soft, every, feasible, require_all=True)
    assert scores(cluster.spread, cluster, pod, rows) == (expected if soft else None)
    assert scores(cluster.affinity, cluster, pod, rows) == reference.affinity_scores(
        pod, every, cluster.namespaces, feasible, hard_weight=hard_weight
    )


@settings(max_examples=80, deadline=None)
@given(seed=seeds, hard_weight=st.sampled_from([0, 1, 7]))
def test_they_agree_with_the_reference_while_the_cluster_changes(
    seed: int, hard_weight: int
) -> None:
    dice, cluster = Dice(seed), Cluster(hard_weight=hard_weight)
    cluster.fill(dice)
    pods = [dice.incoming() for _ in range(3)]
    for _ in range(4):
        for pod in (*pods, dice.incoming()):
            check_filters(cluster, pod)
            some = dice.sample(cluster.rows.tolist(), dice.randint(1, len(cluster.rows)))
            check_scores(cluster, pod, np.array(sorted(some), dtype=np.int64), hard_weight)
            check_scores(cluster, pod, cluster.rows, hard_weight)
        # Totals are carried on as long as only pods change.
        kinds = CHANGES if dice.odds(0.4) else ("pod", "pod", "no pod")
        for what, item in dice.changes(dice.randint(1, 6), kinds):
            cluster.change(what, item)
        if not cluster.snapshot.total_nodes or "node" in kinds:
            cluster.change("node", dice.node(NODES[0]))
        cluster.snapshot.update(cluster.cache)


@settings(max_examples=120, deadline=None)
@given(seed=seeds)
def test_a_pod_added_or_removed_is_as_if_it_were_there_or_gone(seed: int) -> None:
    dice, cluster = Dice(seed), Cluster()
    cluster.fill(dice, steady=True)
    pod, node = dice.incoming(), dice.choice(NODES)
    gone = [other for other in cluster.cache.nodes[node].pods.values() if dice.odds(0.5)]
    new = [dice.running(f"new-{number}", steady=True).on(node).info() for number in range(2)]
    changed = {name: info.clone() for name, info in cluster.cache.nodes.items()}
    for other in gone:
        changed[node].remove_pod(other.key)
    for other in new:
        changed[node].add_pod(other)
    every = [changed[name] for name in cluster.snapshot.names]
    hard = of(pod, "DoNotSchedule")
    expected: dict[Plugin, str | None] = {
        cluster.spread: reference.spread_refusal(pod, hard, every, changed[node]),
        cluster.affinity: reference.affinity_refusal(pod, every, cluster.namespaces, changed[node]),
    }
    if any(reference.selects_everything(constraint) for constraint in hard):
        # AddPod and RemovePod count what PreFilter does not.
        del expected[cluster.spread]
    for plugin, reason in expected.items():
        state = pre_filter(plugin, cluster, pod)
        if state is not None:
            assert dry_run(plugin, cluster, state, pod, node, gone, new) == reason


def dry_run(
    plugin: Plugin,
    cluster: Cluster,
    state: CycleState,
    pod: PodInfo,
    node: str,
    gone: Sequence[PodInfo],
    new: Sequence[PodInfo],
) -> str | None:
    """The reason without ``gone`` and with ``new``; all is as it was when that is undone."""
    before = refusals(plugin, state, pod, cluster.snapshot, cluster.rows)
    overlay = Overlay(cluster.snapshot, np.array([cluster.snapshot.row_of(node)]))
    clone = state.clone()

    def swap(gone: Sequence[PodInfo], new: Sequence[PodInfo]) -> None:
        for other in gone:
            overlay.remove_pod(0, other.key)
            plugin.remove_pod(clone, pod, other, overlay)
        for other in new:
            overlay.add_pod(0, other)
            plugin.add_pod(clone, pod, other, overlay)

    swap(gone, new)
    reason = refusals(plugin, clone, pod, overlay, [0])[0]
    swap(new, gone)
    assert refusals(plugin, clone, pod, cluster.snapshot, cluster.rows) == before
    assert refusals(plugin, state, pod, cluster.snapshot, cluster.rows) == before
    return reason


@settings(max_examples=60, deadline=None)
@given(seed=seeds, system=st.booleans())
def test_default_constraints_spread_the_pods_of_a_service(seed: int, system: bool) -> None:
    """With system defaults a node without a zone takes part, otherwise it is ignored."""
    zone = TopologySpreadConstraint(
        max_skew=2, topology_key="zone", when_unsatisfiable="ScheduleAnyway"
    )
    args = (
        None
        if system
        else PodTopologySpreadArgs(default_constraints=(zone,), defaulting_type=LIST_DEFAULTING)
    )
    dice, cluster = Dice(seed), Cluster(spread=args)
    cluster.fill(dice)
    for name in dice.sample(NODES, 4):
        node = dice.node(name)
        if dice.odds(0.7):
            node.zone(dice.choice(["", "a", "b"]))
        cluster.change("node", node)
    cluster.snapshot.update(cluster.cache)
    service = {"metadata": {"name": "s", "namespace": "red"}, "spec": {"selector": {"app": "x"}}}
    cluster.cache.listers.services.put(decode_as(Service, service))
    pod = dice.pod("incoming").info()
    served = pod.namespace == "red" and pod.labels["app"] == "x"
    constraints = [
        reference.selecting(constraint, {"app": "x"})
        for constraint in (SYSTEM_DEFAULTS if system else (zone,))
    ]
    some = dice.sample(cluster.rows.tolist(), dice.randint(1, len(cluster.rows)))
    for rows in (np.array(sorted(some), dtype=np.int64), cluster.rows):
        expected = reference.spread_scores(
            pod,
            constraints,
            cluster.infos(cluster.rows),
            cluster.infos(rows),
            require_all=not system,
        )
        assert scores(cluster.spread, cluster, pod, rows) == (expected if served else None)


def test_many_selectors_and_terms_do_not_confuse_the_counts() -> None:
    """More columns than are kept, and nodes that come and go in between."""
    dice, cluster = Dice(7), Cluster()
    cluster.fill(dice)
    for number in range(300):
        pod = dice.pod("incoming").label("team", f"t{number}")
        pod.spread(HOSTNAME, {"team": f"t{number % 270}"}).spread("zone", {"app": "x"})
        check_filters(cluster, pod.info())
        if number % 10 == 0:
            for what, item in dice.changes(3, CHANGES):
                cluster.change(what, item)
            cluster.change("node", dice.node(NODES[0]))
            cluster.change("pod", dice.running(PODS[0]))
            cluster.snapshot.update(cluster.cache)
