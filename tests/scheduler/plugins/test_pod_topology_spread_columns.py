"""PodTopologySpread against a slow reference, on random clusters."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Service, TopologySpreadConstraint, decode_as
from apps.scheduler.plugins.podtopologyspread.args import LIST_DEFAULTING, PodTopologySpreadArgs
from apps.scheduler.plugins.podtopologyspread.default_constraints import SYSTEM_DEFAULTS
from tests.scheduler import topology_reference as reference
from tests.scheduler.plugins.topology_trials import (
    check_filter,
    check_many_selectors,
    check_while_the_cluster_changes,
    dry_run,
    pre_filter,
    random_swap,
    raw_and_normalized,
    seeds,
)
from tests.scheduler.topology_clusters import NODES, Cluster, Dice


def of(pod: PodInfo, action: str) -> list[TopologySpreadConstraint]:
    return [c for c in pod.pod.spec.topology_spread_constraints if c.when_unsatisfiable == action]


def check_refusals(cluster: Cluster, pod: PodInfo) -> None:
    hard, every = of(pod, "DoNotSchedule"), cluster.infos(cluster.rows)
    check_filter(
        cluster.spread,
        cluster,
        pod,
        lambda info: reference.spread_refusal(pod, hard, every, info),
    )


def check_scores(cluster: Cluster, pod: PodInfo, rows: Int64Array) -> None:
    soft, every = of(pod, "ScheduleAnyway"), cluster.infos(cluster.rows)
    expected = reference.spread_scores(pod, soft, every, cluster.infos(rows), require_all=True)
    found = raw_and_normalized(cluster.spread, cluster, pod, rows)
    assert found == (expected if soft else None)


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_it_agrees_with_the_reference_while_the_cluster_changes(seed: int) -> None:
    check_while_the_cluster_changes(Dice(seed), Cluster(), check_refusals, check_scores)


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_a_pod_added_or_removed_is_as_if_it_were_there_or_gone(seed: int) -> None:
    swap = random_swap(seed)
    pod, spread, after = swap.pod, swap.cluster.spread, swap.after
    hard = of(pod, "DoNotSchedule")
    state = pre_filter(spread, swap.cluster, pod)
    # AddPod and RemovePod count what PreFilter does not.
    if state is not None and not any(map(reference.selects_everything, hard)):
        every = [after[name] for name in swap.cluster.snapshot.names]
        expected = reference.spread_refusal(pod, hard, every, after[swap.node])
        assert dry_run(spread, swap, state) == expected


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
        assert raw_and_normalized(cluster.spread, cluster, pod, rows) == (
            expected if served else None
        )


def test_many_selectors_do_not_confuse_the_counts() -> None:
    check_many_selectors(check_refusals)
