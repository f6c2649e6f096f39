"""The snapshot follows the cache row by row, and equals one that was made from scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.node_columns import CPU, MEMORY, NodeColumns
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.types import HostPort, PodInfo
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod

GIB = 1024**3
#: every pod has a port of its own: two pods on one port is what the filters prevent
PORTS = [HostPort(8000 + number, "TCP", "0.0.0.0") for number in range(10)]


def snapshot_of(cache: Cache) -> Snapshot:
    """A snapshot that learns everything at once, without using up the cache's changes."""
    copy = Cache()
    for info in cache.nodes.values():
        if info.node is not None:
            copy.add_node(info.node)
        for pod in info.pods.values():
            copy.add_pod(pod)
    snapshot = Snapshot()
    snapshot.update(copy)
    return snapshot


def facts(nodes: NodeColumns, row: int) -> dict[str, Any]:
    """What the columns say of one row, without ids that may differ between tables."""
    zone = nodes.label("zone")
    image = nodes.image("app:v1")
    taints = nodes.taint_sets[nodes.taint_ids[row]]
    gpu = nodes.resource_index("example.com/gpu")
    return {
        "cpu": (int(nodes.allocatable[CPU, row]), int(nodes.requested[CPU, row])),
        "gpu": int(nodes.requested[gpu, row]) if gpu >= 0 else 0,
        "nonzero": nodes.nonzero_requested[:, row].tolist(),
        "pods": int(nodes.pod_count[row]),
        "zone": zone.values[zone.ids[row]] if zone.ids[row] >= 0 else None,
        "taints": [taint.key for taint in taints],
        "unschedulable": bool(nodes.unschedulable[row]),
        "ports": [bool(nodes.port_conflicts([port])[row]) for port in PORTS],
        "image": bool(image.present[row]) if image is not None else False,
        "doubled": int(doubled(nodes)[row]),
    }


def doubled(nodes: NodeColumns) -> Any:
    """A memoised column: twice what is requested."""
    return nodes.memo("doubled", lambda table: table.requested[CPU] * 2, depends="pods")


def assert_equal(found: Snapshot, expected: Snapshot) -> None:
    assert [found.names[row] for row in found.order] == [
        expected.names[row] for row in expected.order
    ]
    for name in filter(None, expected.names):
        assert facts(found, found.row_of(name)) == facts(expected, expected.row_of(name))
    assert int(found.alive.sum()) == found.total_nodes == expected.total_nodes


def some_node(name: str, flavour: int) -> NodeBuilder:
    node = make_node(name).label("zone", f"z{flavour % 3}")
    if flavour % 2:
        node.taint(f"t{flavour}").image(1000, "app:v1")
    if flavour % 5 == 0:
        node.unschedulable()
    return node


def some_pod(number: int, node: str) -> PodBuilder:
    pod = make_pod(f"p{number}").req(cpu=f"{100 * (number + 1)}m").on(node)
    if number % 2:
        pod.host_port(PORTS[number].port)
    if number % 3 == 0:
        pod.req({"example.com/gpu": 1})
    if number % 4 == 0:
        pod.label("app", "web").pod_anti_affinity("zone", {"app": "web"})
    return pod


steps = st.lists(
    st.tuples(
        st.sampled_from(["node", "node", "drop node", "pod", "pod", "drop pod", "look", "narrow"]),
        st.integers(0, 5),
        st.integers(0, 9),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(steps=steps)
def test_incremental_snapshot_equals_a_fresh_one(steps: list[tuple[str, int, int]]) -> None:
    cache, snapshot = Cache(), Snapshot()
    for step, which, flavour in steps:
        name = f"n{which}"
        known = cache.nodes.get(name)
        if step == "node":
            cache.add_node(some_node(name, flavour).obj())
        elif step == "drop node" and known is not None and known.node is not None:
            cache.remove_node(name)
        elif step == "pod":
            cache.add_pod(some_pod(flavour, name).info())
        elif step == "drop pod":
            cache.remove_pod(f"default/p{flavour}")
        elif step == "look":
            snapshot.update(cache)
            if len(snapshot):
                facts(snapshot, 0)
        elif step == "narrow":
            look_at_a_part(cache, snapshot, flavour)
    cache.validate()
    snapshot.update(cache)
    expected = snapshot_of(cache)
    # The order of nodes within zones depends on history; compare the rest.
    expected.order = np.array(
        [expected.row_of(snapshot.names[row]) for row in snapshot.order], dtype=np.int64
    )
    assert_equal(snapshot, expected)
    assert classes_of(snapshot) == classes_of(expected)


def look_at_a_part(cache: Cache, snapshot: Snapshot, flavour: int) -> None:
    """In the block there are the nodes with one parity only; a pod that is assumed there stays."""
    snapshot.update(cache)
    nodes = [name for name, info in cache.nodes.items() if info.node is not None]
    before = {name: snapshot.row_of(name) for name in nodes}
    part = [name for name in nodes if int(name[1:]) % 2 == flavour % 2]
    assumed = make_pod(f"assumed-{flavour}").req({"example.com/new": 1}).label("app", "web")
    pod = assumed.pod_affinity("zone", {"app": "web"}).on(part[0]).info() if part else None
    with snapshot.narrowed(cache, frozenset(part)):
        if pod is not None and cache.find_pod(pod.uid) is None:
            cache.assume_pod(pod, part[0])
            snapshot.update(cache)
            if flavour % 3:
                cache.forget_pod(pod.uid)
            snapshot.update(cache)
        assert sorted(filter(None, snapshot.names)) == sorted(part)
        assert {name: snapshot.row_of(name) for name in part} == {n: before[n] for n in part}
        expected = snapshot_of(cache)
        expected.order = np.array(
            [expected.row_of(snapshot.names[row]) for row in snapshot.order], dtype=np.int64
        )
        assert_equal(snapshot, expected)
        assert classes_of(snapshot) == classes_of(expected)
    assert {name: snapshot.row_of(name) for name in nodes} == before


def classes_of(snapshot: Snapshot) -> dict[Any, dict[str, int]]:
    """How many pods of each label class, and how many with each term, are on which node."""
    found: dict[Any, dict[str, int]] = {}
    for index in (snapshot.pods_by_labels, snapshot.pods_by_term):
        index.validate()
        for known in index:
            found[known.key] = {snapshot.names[row]: n for row, n in known.rows.items()}
    return found


def small_cluster() -> tuple[Cache, Snapshot]:
    cache = Cache()
    for number in range(4):
        cache.add_node(some_node(f"n{number}", number).obj())
    cache.add_pod(some_pod(1, "n1").info())
    cache.add_pod(some_pod(2, "n2").info())
    snapshot = Snapshot()
    snapshot.update(cache)
    return cache, snapshot


def test_overlay_shows_what_the_snapshot_would_after_pods_move() -> None:
    cache, snapshot = small_cluster()
    overlay = snapshot.select(np.array([1, 3]))
    moved = overlay.remove_pod(0, "default/p1")
    overlay.add_pod(1, moved)
    cache.remove_pod(moved.uid)
    cache.add_pod(some_pod(1, "n3").info())
    expected = snapshot_of(cache)
    for row, name in enumerate(["n1", "n3"]):
        assert facts(overlay, row) == facts(expected, expected.row_of(name))


def test_overlay_leaves_the_snapshot_alone() -> None:
    _, snapshot = small_cluster()
    before = [facts(snapshot, row) for row in range(4)]
    overlay = Overlay(snapshot, np.array([2]))
    overlay.remove_pod(0, "default/p2")
    assert facts(overlay, 0) != before[2]
    assert [facts(snapshot, row) for row in range(4)] == before


def test_memoised_column_is_computed_again_for_changed_rows_only() -> None:
    cache, snapshot = small_cluster()
    sizes: list[int] = []

    def compute(table: NodeColumns) -> Any:
        sizes.append(len(table))
        return table.requested[CPU].copy()

    def column() -> Any:
        return snapshot.memo("requested", compute, depends="pods")

    first = column()
    assert column() is first
    cache.add_pod(make_pod("new").req(cpu="1").on("n0").info())
    snapshot.update(cache)
    assert column().tolist() == [1000, 200, 300, 0]
    assert first.tolist() == [0, 200, 300, 0], "a column that was handed out never changes"
    assert sizes == [4, 1]


def test_columns_about_nodes_ignore_pods() -> None:
    cache, snapshot = small_cluster()
    sizes: list[int] = []

    def compute(table: NodeColumns) -> Any:
        sizes.append(len(table))
        return table.unschedulable.copy()

    snapshot.memo("cordoned", compute, depends="node")
    cache.add_pod(make_pod("new").on("n0").info())
    snapshot.update(cache)
    snapshot.memo("cordoned", compute, depends="node")
    assert sizes == [4]


def test_rows_are_stable_and_used_again() -> None:
    cache, snapshot = small_cluster()
    cache.remove_node("n0")
    snapshot.update(cache)
    assert snapshot.names[0] == "" and not snapshot.alive[0]
    assert snapshot.row_of("n3") == 3
    cache.add_node(make_node("later").obj())
    snapshot.update(cache)
    assert snapshot.row_of("later") == 0


def test_pods_that_came_before_their_node_are_counted() -> None:
    cache, snapshot = Cache(), Snapshot()
    cache.add_pod(make_pod("p").req(cpu="1", memory="1Gi").on("late").info())
    snapshot.update(cache)
    assert snapshot.total_nodes == 0
    cache.add_node(make_node("late").obj())
    snapshot.update(cache)
    assert snapshot.requested[[CPU, MEMORY], snapshot.row_of("late")].tolist() == [1000, GIB]


def test_new_resource_makes_the_matrices_taller() -> None:
    cache, snapshot = small_cluster()
    assert snapshot.resource_index("example.com/fpga") == -1
    cache.add_node(make_node("n9").capacity({"example.com/fpga": 3}).obj())
    snapshot.update(cache)
    row = snapshot.resource_index("example.com/fpga")
    assert snapshot.allocatable[row].tolist() == [0, 0, 0, 0, 3]


def test_a_row_that_another_node_takes_over_has_nothing_of_the_node_before() -> None:
    cache, snapshot = Cache(), Snapshot()
    port = PORTS[0]
    cache.add_node(make_node("old").image(1, "app:v1").obj())
    cache.add_node(make_node("stays").image(1, "app:v1").obj())
    old = make_pod("p").host_port(port.port).on("old").obj()
    cache.add_pod(PodInfo(old))
    snapshot.update(cache)
    row = snapshot.row_of("old")
    assert facts(snapshot, row)["image"]
    assert snapshot.port_conflicts([port])[row]

    # its node stays
    cache.remove_pod(old.metadata.uid)
    snapshot.update(cache)
    assert not snapshot.port_conflicts([port]).any()
    # its node is removed with it
    cache.add_pod(PodInfo(old))
    snapshot.update(cache)
    cache.remove_pod(old.metadata.uid)
    cache.remove_node("old")
    snapshot.update(cache)
    assert not snapshot.port_conflicts([port]).any()
    cache.add_node(make_node("new").obj())
    snapshot.update(cache)
    assert snapshot.row_of("new") == row
    assert not facts(snapshot, row)["image"]
    assert not snapshot.port_conflicts([port]).any()


def test_the_columns_of_images_follow_every_change_of_nodes_and_images() -> None:
    cache, snapshot = Cache(), Snapshot()
    cache.add_node(make_node("a").image(1, "app:v1").obj())
    snapshot.update(cache)
    assert facts(snapshot, snapshot.row_of("a"))["image"]
    # a node without images: its row is new, the images are the same
    cache.add_node(make_node("b").obj())
    snapshot.update(cache)
    assert not facts(snapshot, snapshot.row_of("b"))["image"]
    # a node that pulls the image: the rows are the same
    cache.add_node(make_node("b").image(1, "app:v1").obj())
    snapshot.update(cache)
    assert facts(snapshot, snapshot.row_of("b"))["image"]
    cache.add_node(make_node("a").obj())
    snapshot.update(cache)
    assert not facts(snapshot, snapshot.row_of("a"))["image"]
