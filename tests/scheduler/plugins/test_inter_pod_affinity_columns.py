"""InterPodAffinity against a slow reference, on random clusters."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.types import PodInfo
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
from tests.scheduler.topology_clusters import Cluster, Dice


def check_refusals(cluster: Cluster, pod: PodInfo) -> None:
    every = cluster.infos(cluster.rows)
    check_filter(
        cluster.affinity,
        cluster,
        pod,
        lambda info: reference.affinity_refusal(pod, every, cluster.namespaces, info),
    )


@settings(max_examples=60, deadline=None)
@given(seed=seeds, hard_weight=st.sampled_from([0, 1, 7]))
def test_it_agrees_with_the_reference_while_the_cluster_changes(
    seed: int, hard_weight: int
) -> None:
    def check_scores(cluster: Cluster, pod: PodInfo, rows: Int64Array) -> None:
        every, feasible = cluster.infos(cluster.rows), cluster.infos(rows)
        expected = reference.affinity_scores(
            pod, every, cluster.namespaces, feasible, hard_weight=hard_weight
        )
        assert raw_and_normalized(cluster.affinity, cluster, pod, rows) == expected

    cluster = Cluster(hard_weight=hard_weight)
    check_while_the_cluster_changes(Dice(seed), cluster, check_refusals, check_scores)


@settings(max_examples=100, deadline=None)
@given(seed=seeds)
def test_a_pod_added_or_removed_is_as_if_it_were_there_or_gone(seed: int) -> None:
    swap = random_swap(seed)
    affinity, after = swap.cluster.affinity, swap.after
    state = pre_filter(affinity, swap.cluster, swap.pod)
    if state is not None:
        every = [after[name] for name in swap.cluster.snapshot.names]
        namespaces = swap.cluster.namespaces
        expected = reference.affinity_refusal(swap.pod, every, namespaces, after[swap.node])
        assert dry_run(affinity, swap, state) == expected


def test_many_terms_do_not_confuse_the_counts() -> None:
    check_many_selectors(check_refusals)
