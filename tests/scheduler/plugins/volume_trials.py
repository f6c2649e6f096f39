"""The volume plugins on random clusters, for the tests that compare each with a slow reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.node_columns import NodeColumns
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import Node
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


@dataclass
class Trial:
    """A pod before some lines of a table, in a state that PreFilter of all four plugins left."""

    plugins: Plugins
    cluster: Cluster
    pod: PodInfo
    nodes: NodeColumns
    lines: list[int]
    state: CycleState
    #: how often pods on nodes use claims that the pod wants for itself alone
    users: int
    verdicts: dict[str, Verdicts | None] = field(default_factory=dict)

    def reasons(self, plugin: str, line: int) -> set[str]:
        """What a plugin says against a line."""
        if plugin not in self.verdicts:
            self.verdicts[plugin] = self._ask(plugin)
        verdicts = self.verdicts[plugin]
        status = None if verdicts is None else verdicts.statuses[int(verdicts.ids[line])]
        return set() if status is None else set(status.reasons)

    def infos(self) -> Iterator[tuple[int, NodeInfo, Node]]:
        for line in self.lines:
            info = self.nodes.info(line)
            assert info.node is not None
            yield line, info, info.node

    def _ask(self, plugin: str) -> Verdicts | None:
        if plugin in self.state.skip_filter:
            return None
        asked = next(each for each in self.plugins if each.name == plugin)
        found: Verdicts | None = asked.filter(self.state, self.pod, self.nodes)
        return found


def changing_cluster(seed: int, steps: int = 6) -> Iterator[Trial]:
    """Pods before all nodes of a cluster that changes, by plugins that saw it before."""
    cluster = Cluster(Dice(seed))
    plugins = Plugins(cluster)
    for _ in range(steps):
        cluster.change()
        cluster.snapshot.update(cluster.cache)
        pod = cluster.incoming()
        state = pre_filtered(plugins, pod, cluster.snapshot)
        if state is not None:
            users = reference.exclusive_claims_in_use(pod, running(cluster), cluster.listers)
            yield Trial(plugins, cluster, pod, cluster.snapshot, cluster.rows(), state, users)


def pods_come_and_go(seed: int) -> Iterator[Trial]:
    """A pod before each node, from which some pods were removed and to which one was added."""
    cluster = Cluster(Dice(seed))
    plugins, pod = Plugins(cluster), cluster.incoming()
    state = pre_filtered(plugins, pod, cluster.snapshot)
    if state is None:
        return
    for row in cluster.rows():
        dry_state = state.clone()
        overlay = cluster.snapshot.select(np.array([row], dtype=np.int64))
        users = play(cluster, plugins, pod, overlay, dry_state)
        yield Trial(plugins, cluster, pod, overlay, [0], dry_state, users)


def running(cluster: Cluster) -> list[PodInfo]:
    return [other for row in cluster.rows() for other in cluster.snapshot.info(row).pods.values()]


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


def play(
    cluster: Cluster, plugins: Plugins, pod: PodInfo, overlay: Overlay, state: CycleState
) -> int:
    """Remove some pods of the node and add another; returns the users AddPod/RemovePod count."""
    users = reference.exclusive_claims_in_use(pod, running(cluster), cluster.listers)
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
