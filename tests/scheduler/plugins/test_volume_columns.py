"""The volume plugins against a slow reference, on random clusters that change."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.nodes import NodeColumns
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.plugins import volume_restrictions
from apps.scheduler.plugins.nodevolumelimits.plugin import NodeVolumeLimits
from apps.scheduler.plugins.volume_restrictions import VolumeRestrictions
from apps.scheduler.plugins.volume_zone import VolumeZone
from apps.scheduler.plugins.volumebinding.plugin import VolumeBinding
from tests.scheduler import volume_reference as reference
from tests.scheduler.volume_clusters import Cluster, Dice

seeds = st.integers(0, 2**32 - 1)


class Plugins:
    """The four plugins over one cluster, which keep what they know from change to change."""

    def __init__(self, cluster: Cluster) -> None:
        self.restrictions = VolumeRestrictions(None, cluster.handle)
        self.zone = VolumeZone(None, cluster.handle)
        self.limits = NodeVolumeLimits(None, cluster.handle)
        self.binding = VolumeBinding(None, cluster.handle)

    def __iter__(self) -> Any:
        return iter((self.restrictions, self.zone, self.limits, self.binding))


def said(verdicts: Verdicts | None, line: int) -> set[str]:
    """The reasons given for a line."""
    if verdicts is None:
        return set()
    status = verdicts.statuses[int(verdicts.ids[line])]
    return set() if status is None else set(status.reasons)


def answers(plugin: Any, pod: PodInfo, nodes: NodeColumns, state: CycleState) -> Verdicts | None:
    return None if plugin.name in state.skip_filter else plugin.filter(state, pod, nodes)


def pre_filtered(plugins: Plugins, pod: PodInfo, nodes: NodeColumns) -> CycleState | None:
    """None if a plugin refuses the pod for all nodes."""
    state = CycleState()
    for plugin in plugins:
        _, status = plugin.pre_filter(state, pod, nodes)
        if status is not None and status.is_skip:
            state.skip_filter.add(plugin.name)
        elif status is not None:
            return None
    return state


def check_line(
    plugins: Plugins,
    cluster: Cluster,
    pod: PodInfo,
    nodes: NodeColumns,
    line: int,
    found: dict[str, Verdicts | None],
    in_use: int,
) -> None:
    info, listers = nodes.info(line), cluster.listers
    assert info.node is not None
    expected = set()
    if reference.has_disk_conflict(pod.pod, info.pods.values()):
        expected.add(volume_restrictions.REASON_DISK)
    elif in_use > 0:
        expected.add(volume_restrictions.REASON_READ_WRITE_ONCE_POD)
    assert said(found["VolumeRestrictions"], line) == expected
    zones = set() if reference.in_zone(pod, info.node, listers) else {"zone"}
    assert bool(said(found["VolumeZone"], line)) == bool(zones)
    exceeds = reference.exceeds_limits(pod, info, listers)
    assert bool(said(found["NodeVolumeLimits"], line)) == exceeds
    binding = reference.binding(pod, info.node, listers)
    assert said(found["VolumeBinding"], line) == binding.reasons


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_filters_agree_with_the_reference_while_the_cluster_changes(seed: int) -> None:
    cluster = Cluster(Dice(seed))
    plugins = Plugins(cluster)
    for _ in range(6):
        cluster.change()
        cluster.snapshot.update(cluster.cache)
        pod = cluster.incoming()
        state = pre_filtered(plugins, pod, cluster.snapshot)
        if state is None:
            continue
        found = {each.name: answers(each, pod, cluster.snapshot, state) for each in plugins}
        everywhere = [
            other for row in cluster.rows() for other in cluster.snapshot.info(row).pods.values()
        ]
        in_use = reference.exclusive_claims_in_use(pod, everywhere, cluster.listers)
        for row in cluster.rows():
            check_line(plugins, cluster, pod, cluster.snapshot, row, found, in_use)


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_filters_agree_on_a_node_whose_pods_come_and_go(seed: int) -> None:
    cluster = Cluster(Dice(seed))
    plugins, pod = Plugins(cluster), cluster.incoming()
    state = pre_filtered(plugins, pod, cluster.snapshot)
    if state is None:
        return
    for row in cluster.rows():
        dry_state = state.clone()
        overlay = cluster.snapshot.select(np.array([row], dtype=np.int64))
        users = play(cluster, plugins, pod, overlay, dry_state)
        found = {each.name: answers(each, pod, overlay, dry_state) for each in plugins}
        if plugins.restrictions.name in state.skip_filter:
            users = 0
            info = overlay.info(0)
            if reference.has_disk_conflict(pod.pod, info.pods.values()):
                continue
        check_line(plugins, cluster, pod, overlay, 0, found, users)


def play(
    cluster: Cluster, plugins: Plugins, pod: PodInfo, overlay: Overlay, state: CycleState
) -> int:
    """Remove some pods of the node and add another; returns the users AddPod/RemovePod count."""
    everywhere = [
        other for row in cluster.rows() for other in cluster.snapshot.info(row).pods.values()
    ]
    users = reference.exclusive_claims_in_use(pod, everywhere, cluster.listers)
    exclusive = reference.exclusive_claims(pod, cluster.listers)
    gone = [other for other in overlay.info(0).pods.values() if cluster.dice.odds(0.5)]
    come = cluster.dice.pod("nominated", ["c0", "c1", "c2"]).info()
    tells = plugins.restrictions.name not in state.skip_filter
    for other in gone:
        overlay.remove_pod(0, other.key)
        users -= sum(name in exclusive for name in reference.named_claims(other))
        if tells:
            plugins.restrictions.remove_pod(state, pod, other, overlay)
    overlay.add_pod(0, come)
    users += sum(name in exclusive for name in reference.named_claims(come))
    if tells:
        plugins.restrictions.add_pod(state, pod, come, overlay)
    return users


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_adding_and_removing_a_pod_leaves_the_state_as_it_was(seed: int) -> None:
    cluster = Cluster(Dice(seed))
    plugins, pod = Plugins(cluster), cluster.incoming()
    state = pre_filtered(plugins, pod, cluster.snapshot)
    if state is None or plugins.restrictions.name in state.skip_filter or not cluster.rows():
        return
    overlay = cluster.snapshot.select(np.array(cluster.rows()[:1], dtype=np.int64))
    key, kind = "PreFilterVolumeRestrictions", volume_restrictions.PreFilterState
    before, dry = state.read(key, kind).clone(), state.clone()
    other = cluster.dice.pod("other", ["c0", "c1", "c2"]).info()
    plugins.restrictions.add_pod(dry, pod, other, overlay)
    plugins.restrictions.remove_pod(dry, pod, other, overlay)
    assert dry.read(key, kind) == before == state.read(key, kind)


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_reserve_takes_what_the_reference_finds_and_unreserve_gives_it_back(seed: int) -> None:
    cluster = Cluster(Dice(seed))
    plugins, pod = Plugins(cluster), cluster.incoming()
    state = pre_filtered(plugins, pod, cluster.snapshot)
    if state is None:
        return
    found = answers(plugins.binding, pod, cluster.snapshot, state)
    for row in cluster.rows():
        if said(found, row):
            continue
        info: NodeInfo = cluster.snapshot.info(row)
        assert info.node is not None
        expected = reference.binding(pod, info.node, cluster.listers)
        fresh = state.clone()
        assert plugins.binding.reserve(fresh, pod, info.name) is None
        for claim, volume in expected.bound.items():
            assumed = cluster.listers.assumed_volumes.get(volume)
            assert assumed is not None and assumed.spec.claim_ref is not None
            assert assumed.spec.claim_ref.name == claim
        for claim in expected.made:
            selected = cluster.listers.assumed_claims.get(claim, "default")
            assert selected is not None
            assert selected.metadata.annotations[reference.SELECTED] == info.name
        plugins.binding.unreserve(fresh, pod, info.name)
        for volume_object in cluster.listers.persistent_volumes:
            name = volume_object.metadata.name
            assert cluster.listers.assumed_volumes.get(name) is volume_object
        again = answers(plugins.binding, pod, cluster.snapshot, state)
        assert all(said(again, other) == said(found, other) for other in cluster.rows())
