"""The index of mounts follows pods that come and go, on the snapshot and on overlays."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.change_log import ChangeLog, LogReader
from apps.scheduler.cache.mount_index import MountIndex
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.mounts import Mount, MountKind
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.testing.builders import make_node, make_pod

CLAIMS = ("a", "b", "c")
NODES = ("n0", "n1", "n2")


def claim(name: str) -> Mount:
    return Mount(MountKind.CLAIM, ("default", name))


@st.composite
def pods(draw: Any) -> list[PodInfo]:
    return [
        make_pod(f"p{number}")
        .claims(*draw(st.lists(st.sampled_from(CLAIMS), max_size=2)))
        .on(draw(st.sampled_from(NODES)))
        .info()
        for number in range(draw(st.integers(0, 6)))
    ]


@settings(max_examples=50, deadline=None)
@given(running=pods(), kept=st.integers(0, 6))
def test_mounted_says_where_some_pod_has_the_volume(running: list[PodInfo], kept: int) -> None:
    cache, snapshot = Cache(), Snapshot()
    for name in NODES:
        cache.add_node(make_node(name).obj())
    for pod in running:
        cache.add_pod(pod)
    snapshot.update(cache)
    for pod in running[kept:]:
        cache.remove_pod(pod.uid)
    snapshot.update(cache)
    for name in CLAIMS:
        expected = {p.pod.spec.node_name for p in running[:kept] if name in p.claim_names}
        found = snapshot.mounted([claim(name)])
        assert {snapshot.names[row] for row in np.flatnonzero(found)} == expected


def test_an_overlay_knows_the_mounts_of_pods_that_came_or_left() -> None:
    cache, snapshot = Cache(), Snapshot()
    for name in NODES:
        cache.add_node(make_node(name).obj())
    running = make_pod("p").claims("a").on("n0").info()
    cache.add_pod(running)
    snapshot.update(cache)
    overlay = snapshot.select(np.arange(3))
    overlay.remove_pod(snapshot.row_of("n0"), running.key)
    overlay.add_pod(snapshot.row_of("n2"), make_pod("q").claims("a").info())
    found = overlay.mounted([claim("a"), claim("b")])
    assert [snapshot.names[row] for row in np.flatnonzero(found)] == ["n2"]
    assert snapshot.mounted([claim("a")]).sum() == 1


def test_only_first_and_last_use_of_a_row_are_logged() -> None:
    index = MountIndex()
    one, two = make_pod("p").claims("a").info(), make_pod("q").claims("a").info()
    for pod, sign in ((one, 1), (two, 1), (one, -1)):
        index.change(pod, 4, sign)
    assert index.log.position == 1
    index.change(two, 4, -1)
    assert index.log.position == 2
    assert list(index) == []


def test_disks_are_known_by_what_they_are() -> None:
    pod = make_pod("p").spec(
        volumes=[
            {"name": "a", "gcePersistentDisk": {"pdName": "disk", "readOnly": True}},
            {"name": "b", "rbd": {"monitors": ["m1", "m2"], "image": "i"}},
            {"name": "c", "ephemeral": {}},
            {"name": "d", "csi": {"driver": "inline"}},
        ]
    )
    assert pod.info().mounts == (
        Mount(MountKind.GCE_DISK, ("disk",), True),
        Mount(MountKind.RBD_IMAGE, ("m1", "rbd", "i")),
        Mount(MountKind.RBD_IMAGE, ("m2", "rbd", "i")),
        Mount(MountKind.EPHEMERAL, ("default", "p-c", "default/p")),
    )


def test_a_reader_that_lags_too_far_behind_starts_over() -> None:
    log: ChangeLog[int] = ChangeLog()
    for key in (1, 2, 1):
        log.append(key)
    assert log.since(0) == [1, 2]
    assert log.since(3) == []
    for key in range(20_000):
        log.append(key)
    assert log.since(3) is None
    assert log.since(log.position - 1) == [19_999]


def test_a_reader_hears_of_everything_first_and_then_of_what_is_new() -> None:
    log: ChangeLog[str] = ChangeLog()
    reader = LogReader(log)
    assert reader.news() is None
    assert reader.news() == []
    log.append("a")
    assert reader.news() == ["a"]
    assert reader.news() == []
