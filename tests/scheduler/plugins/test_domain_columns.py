"""What the two plugins carry over from cycle to cycle equals what they compute from nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Service, decode_as
from tests.scheduler.machines import machine_settings
from tests.scheduler.plugins.topology_trials import (
    Plugin,
    pre_filter,
    raw_and_normalized,
    reasons,
)
from tests.scheduler.topology_clusters import HOSTNAME, NODES, PODS, Cluster, Dice

#: what a plugin answers about each node, by name
Answers = dict[str, Any]


def with_node(pod: PodInfo, node: str) -> PodInfo:
    spec = msgspec.structs.replace(pod.pod.spec, node_name=node)
    return PodInfo(msgspec.structs.replace(pod.pod, spec=spec))


def plugins(cluster: Cluster) -> Iterator[Plugin]:
    yield cluster.spread
    yield cluster.affinity


def refusals(plugin: Plugin, cluster: Cluster, pod: PodInfo) -> Answers | None:
    """None = Skip."""
    state, rows = pre_filter(plugin, cluster, pod), cluster.rows
    if state is None:
        return None
    found = reasons(plugin, state, pod, cluster.snapshot, rows.tolist())
    return dict(zip((cluster.snapshot.names[row] for row in rows), found, strict=True))


def scores(plugin: Plugin, cluster: Cluster, pod: PodInfo, rows: Int64Array) -> Answers | None:
    """Raw and normalized; None = Skip."""
    found = raw_and_normalized(plugin, cluster, pod, rows)
    if found is None:
        return None
    return dict(zip((cluster.snapshot.names[row] for row in rows), found, strict=True))


class ChangingCluster(RuleBasedStateMachine):
    """Random events in one cluster; after each of them another cluster is built from nothing."""

    @initialize(seed=st.integers(0, 2**32), hard_weight=st.sampled_from([0, 1, 7]))
    def begin(self, seed: int, hard_weight: int) -> None:
        self.dice, self.hard_weight = Dice(seed), hard_weight
        self.cluster = Cluster(hard_weight=hard_weight)
        self.cluster.fill(self.dice)
        self.pods = [self.dice.incoming() for _ in range(3)] + [self._plain(), self._by_host()]
        self.count = 0
        self.assumed: list[str] = []
        self.services: dict[str, Service] = {}
        self.rows: Int64Array | None = None
        self.feasible: set[str] | None = None

    def _plain(self) -> PodInfo:
        """A pod that only the terms of others and default constraints concern."""
        return self.dice.pod("plain").spec(affinity=None).info()

    def _by_host(self) -> PodInfo:
        pod = self.dice.pod("by-host").spread(HOSTNAME, {"app": "x"}, max_skew=2)
        pod.spread(HOSTNAME, {"app": "x"}, when_unsatisfiable="ScheduleAnyway")
        return pod.pod_anti_affinity(HOSTNAME, {"app": "y"}).info()

    # -- events ----------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NODES))
    def create_or_update_node(self, name: str) -> None:
        self.cluster.change("node", self.dice.node(name))

    @rule(name=st.sampled_from(NODES), taints=st.integers(0, 1), zone=st.sampled_from("abc"))
    def change_taints_or_zone(self, name: str, taints: int, zone: str) -> None:
        info = self.cluster.cache.nodes.get(name)
        if info is not None and info.node is not None:
            spec = msgspec.structs.replace(info.node.spec, taints=info.node.spec.taints[:taints])
            labels = {**info.node.metadata.labels, "zone": zone}
            metadata = msgspec.structs.replace(info.node.metadata, labels=labels)
            self.cluster.cache.add_node(
                msgspec.structs.replace(info.node, metadata=metadata, spec=spec)
            )

    @rule(name=st.sampled_from(NODES))
    def delete_node(self, name: str) -> None:
        self.cluster.change("no node", name)

    @rule(name=st.sampled_from(PODS))
    def create_or_update_pod(self, name: str) -> None:
        self.cluster.change("pod", self.dice.running(name))

    @rule(name=st.sampled_from(PODS))
    def delete_pod(self, name: str) -> None:
        self.cluster.change("no pod", name)

    @rule(name=st.sampled_from(PODS), app=st.sampled_from("xyz"), ends=st.booleans())
    def relabel_or_terminate_pod(self, name: str, app: str, ends: bool) -> None:
        for state in list(self.cluster.cache.pods.values()):
            if state.pod.name == name and not state.assumed:
                pod = state.pod.pod
                end = "2026-01-01T00:00:00Z" if ends else pod.metadata.deletion_timestamp
                metadata = msgspec.structs.replace(
                    pod.metadata, labels={**pod.metadata.labels, "app": app}, deletion_timestamp=end
                )
                self.cluster.cache.update_pod(
                    PodInfo(msgspec.structs.replace(pod, metadata=metadata))
                )

    @rule(name=st.sampled_from(["red", "blue"]), team=st.sampled_from(["", "x", "y"]))
    def create_or_relabel_namespace(self, name: str, team: str) -> None:
        self.cluster.change("namespace", (name, {"team": team} if team else {}))

    @rule(name=st.sampled_from("st"), app=st.sampled_from("xy"))
    def create_or_delete_service(self, name: str, app: str) -> None:
        services = self.cluster.cache.listers.services
        if name in self.services:
            services.remove(self.services.pop(name))
        else:
            body = {"metadata": {"name": name, "namespace": "red"}, "spec": {"selector": {}}}
            body["spec"]["selector"] = {"app": app}
            self.services[name] = decode_as(Service, body)
            services.put(self.services[name])

    # -- pods that are scheduled -----------------------------------------------------------------

    @precondition(lambda self: self.cluster.cache.node_tree)
    @rule(which=st.integers(0, 4), count=st.integers(1, 3))
    def assume(self, which: int, count: int) -> None:
        for _ in range(count):
            self.count += 1
            pod = self.pods[which].pod
            name = f"assumed-{self.count}"
            metadata = msgspec.structs.replace(pod.metadata, name=name, uid=f"red/{name}")
            node = self.dice.choice(list(self.cluster.cache.node_tree))
            assumed = with_node(PodInfo(msgspec.structs.replace(pod, metadata=metadata)), node)
            self.cluster.cache.assume_pod(assumed, node)
            self.assumed.append(assumed.uid)

    @precondition(lambda self: self.assumed)
    @rule(bound=st.booleans())
    def bind_or_forget(self, bound: bool) -> None:
        uid = self.assumed.pop(self.dice.randrange(len(self.assumed)))
        if bound:
            found = self.cluster.cache.find_pod(uid)
            assert found is not None
            self.cluster.cache.add_pod(PodInfo(found.pod))
        else:
            self.cluster.cache.forget_pod(uid)

    @rule()
    def some_nodes_are_feasible(self) -> None:
        names = list(self.cluster.cache.node_tree)
        some = self.dice.sample(names, self.dice.randint(0, len(names)))
        self.feasible = set(some) if some else None
        self.rows = None

    @rule(which=st.integers(0, 4))
    def try_preemption(self, which: int) -> None:
        """Pods leave a node and others come to it, in a copy of the state only."""
        self.cluster.snapshot.update(self.cluster.cache)
        pod, snapshot = self.pods[which], self.cluster.snapshot
        for plugin in plugins(self.cluster):
            for row in self.cluster.rows.tolist():
                state = pre_filter(plugin, self.cluster, pod)
                if state is None:
                    break
                overlay, clone = Overlay(snapshot, np.array([row])), state.clone()
                for other in list(snapshot.info(row).pods.values()):
                    overlay.remove_pod(0, other.key)
                    plugin.remove_pod(clone, pod, other, overlay)
                added = self.dice.running("added").info()
                overlay.add_pod(0, added)
                plugin.add_pod(clone, pod, added, overlay)
                plugin.filter(clone, pod, overlay)

    # -- what must hold --------------------------------------------------------------------------

    @invariant()
    def answers_equal_fresh_ones(self) -> None:
        cluster = self.cluster
        cluster.snapshot.update(cluster.cache)
        cluster.snapshot.pods_by_labels.validate()
        cluster.snapshot.pods_by_term.validate()
        if not cluster.snapshot.total_nodes:
            return
        fresh = self._fresh()
        rows, fresh_rows = self._feasible_rows(cluster), self._feasible_rows(fresh)
        self.rows = rows
        for pod in self.pods:
            again = PodInfo(pod.pod)
            for plugin, other in zip(plugins(cluster), plugins(fresh), strict=True):
                assert refusals(plugin, cluster, again) == refusals(other, fresh, pod)
                found = scores(plugin, cluster, again, rows)
                assert found == scores(other, fresh, pod, fresh_rows)

    def _feasible_rows(self, cluster: Cluster) -> Int64Array:
        """In the cluster that changes the same array as long as the rows are the same."""
        names = cluster.snapshot.names
        rows = cluster.rows
        if self.feasible:
            some = [row for row in rows.tolist() if names[row] in self.feasible]
            rows = np.array(some, dtype=np.int64) if some else rows
        if cluster is self.cluster and np.array_equal(rows, self.rows):
            assert self.rows is not None
            return self.rows
        return rows

    def _fresh(self) -> Cluster:
        fresh, cache = Cluster(hard_weight=self.hard_weight), self.cluster.cache
        for name in cache.node_tree:
            node = cache.nodes[name].node
            assert node is not None
            fresh.cache.add_node(node)
        for state in cache.pods.values():
            fresh.cache.add_pod(PodInfo(state.pod.pod))
        for namespace in cache.listers.namespaces:
            fresh.cache.listers.namespaces.put(namespace)
        for service in self.services.values():
            fresh.cache.listers.services.put(service)
        fresh.snapshot.update(fresh.cache)
        return fresh


TestChangingCluster = ChangingCluster.TestCase
TestChangingCluster.settings = machine_settings(60, 30)
