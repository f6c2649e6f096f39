"""Random clusters of nodes, for the tests that compare a plugin with a slow reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import default_configuration
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import Node
from apps.scheduler.plugins.registry import BUILT_IN, TABLE
from apps.scheduler.queue.nominator import Nominator
from apps.scheduler.testing.builders import NodeBuilder, make_node, make_pod

IMAGE = "registry.example/app:v1"
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
cpus = st.sampled_from(["0", "50m", "100m", "333m", "1", "2500m", "4", "64"])
memories = st.sampled_from(["0", "1", "128Mi", "1Gi", "1500M", "16Gi", "1Ti"])
amounts = st.fixed_dictionaries(
    {},
    optional={
        "cpu": cpus,
        "memory": memories,
        "ephemeral-storage": memories,
        "example.com/gpu": st.sampled_from(["0", "1", "2"]),
    },
)
taints = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from(EFFECTS)), max_size=2
)
labels = st.dictionaries(st.sampled_from(["zone", "disk"]), st.sampled_from(["1", "2", "30"]))


@st.composite
def nodes(draw: Any, name: str) -> NodeBuilder:
    node = make_node(name).labels(draw(labels))
    node.body["status"]["allocatable"] = {"pods": draw(st.sampled_from(["0", "2", "110"]))}
    node.capacity(draw(amounts))
    for key, value, effect in draw(taints):
        node.taint(key, value, effect)
    if draw(st.booleans()):
        node.image(300 * 1024 * 1024, IMAGE)
    if draw(st.booleans()):
        node.unschedulable()
    return node


@st.composite
def clusters(draw: Any) -> Cache:
    cache = Cache()
    names_ = [f"n{number}" for number in range(draw(st.integers(1, 5)))]
    for name in names_:
        cache.add_node(draw(nodes(name)).obj())
    for number in range(draw(st.integers(0, 6))):
        running = make_pod(f"r{number}").req(draw(amounts)).on(draw(st.sampled_from(names_)))
        cache.add_pod(running.info())
    return cache


@st.composite
def pods(draw: Any) -> PodInfo:
    pod = make_pod("p").req(draw(amounts)).image(IMAGE).node_selector(draw(labels))
    for key, value, effect in draw(taints):
        pod.toleration(key, value, draw(st.sampled_from(["", effect])))
    if draw(st.booleans()):
        operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
        values = {"In": ["1", "2"], "NotIn": ["1"], "Gt": ["1"], "Lt": ["3"]}.get(operator, [])
        pod.node_affinity(
            {"matchExpressions": [{"key": "zone", "operator": operator, "values": values}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
        )
    return pod.info()


def framework_over(cache: Cache) -> Framework:
    snapshot = Snapshot()
    snapshot.update(cache)
    handle = Handle(snapshot, cache.listers, Nominator(), VirtualClock())
    return Framework(default_configuration(TABLE).profiles[0], BUILT_IN, handle)


def filtered(plugin: str, cache: Cache, pod: PodInfo) -> Iterator[tuple[NodeInfo, Status | None]]:
    """Every node with the plugin's answer, whatever other plugins say."""
    framework, state = framework_over(cache), CycleState()
    snapshot = framework.handle.snapshot
    _, outcome, _ = framework.run_pre_filter_plugins(state, pod, snapshot)
    assert outcome.is_success
    found = framework.filters.run_filter_plugin(plugin, state, pod, snapshot)
    for row, name in enumerate(snapshot.names):
        yield cache.nodes[name], found.at(row)


def scored(plugin: str, cache: Cache, pod: PodInfo) -> Iterator[tuple[NodeInfo, int]]:
    """Every node with the plugin's raw score; nothing if it skips scoring."""
    framework, state = framework_over(cache), CycleState()
    snapshot = framework.handle.snapshot
    rows = np.arange(len(snapshot))
    assert framework.run_pre_score_plugins(state, pod, snapshot, rows).is_success
    column = framework.run_score_plugins(state, pod, snapshot, rows).get(plugin)
    for row in rows if column is not None else ():
        yield cache.nodes[snapshot.names[row]], int(column.raw[row])


def node_of(info: NodeInfo) -> Node:
    assert info.node is not None
    return info.node
