"""The steps of a pod through the cache."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apps.scheduler.cache.cache import Cache, CacheError
from apps.scheduler.cache.node_tree import NodeTree
from apps.scheduler.testing.builders import make_node, make_pod

MEGABYTE = 1024 * 1024


@pytest.fixture
def cache() -> Iterator[Cache]:
    cache = Cache()
    cache.add_node(make_node("a").obj())
    cache.add_node(make_node("b").obj())
    yield cache
    cache.validate()


def test_assumed_pod_takes_room_until_it_is_forgotten(cache: Cache) -> None:
    pod = make_pod("p").req(cpu="1").on("a").info()
    cache.assume_pod(pod, "a")
    assert cache.is_assumed(pod.uid)
    assert cache.nodes["a"].requested == {"cpu": 1000}
    cache.forget_pod(pod.uid)
    assert cache.nodes["a"].requested == {"cpu": 0}
    assert cache.find_pod(pod.uid) is None


def test_pod_cannot_be_assumed_twice(cache: Cache) -> None:
    pod = make_pod("p").on("a").info()
    cache.assume_pod(pod, "a")
    with pytest.raises(CacheError, match="default/p is in the cache"):
        cache.assume_pod(pod, "b")


def test_confirmed_pod_cannot_be_forgotten(cache: Cache) -> None:
    pod = make_pod("p").on("a").info()
    cache.assume_pod(pod, "a")
    cache.add_pod(make_pod("p").on("a").info())
    with pytest.raises(CacheError, match="was not assumed"):
        cache.forget_pod(pod.uid)


def test_confirmation_brings_the_newer_version(cache: Cache) -> None:
    cache.assume_pod(make_pod("p").on("a").info(), "a")
    confirmed = make_pod("p").on("a").phase("Running").nominated("x").info()
    cache.take_changes()
    cache.add_pod(confirmed)
    found = cache.find_pod("default/p")
    assert found is not None and found.pod is confirmed.pod
    assert cache.nodes["a"].pods["default/p"] is found
    assert not cache.take_changes().nodes, "the same room is taken, so no column changes"


def test_a_pod_with_other_labels_takes_the_room_that_is_counted(cache: Cache) -> None:
    cache.assume_pod(make_pod("p").req(cpu="1").label("app", "a").on("a").info(), "a")
    cache.assume_pod(make_pod("q").req(cpu="1").on("a").info(), "a")
    labelled = make_pod("p").req(cpu="1").label("app", "b").on("a").info()
    cache.take_changes()
    cache.add_pod(labelled)
    assert "requests" in vars(labelled), "requests are not computed again"
    assert not cache.is_assumed(labelled.uid)
    assert list(cache.nodes["a"].pods) == ["default/p", "default/q"]
    assert cache.nodes["a"].requested == {"cpu": 2000}
    changes = [(pod.labels["app"], sign) for pod, _, sign in cache.take_changes().pods]
    assert changes == [("a", -1), ("b", 1)]


def test_update_counts_the_difference(cache: Cache) -> None:
    cache.add_pod(make_pod("p").req(cpu="1").on("a").info())
    cache.update_pod(make_pod("p").req(cpu="3").on("a").info())
    assert cache.nodes["a"].requested == {"cpu": 3000}


def test_node_outlives_its_pods_and_pods_their_node(cache: Cache) -> None:
    cache.add_pod(make_pod("p").on("a").info())
    cache.remove_node("a")
    assert cache.nodes["a"].node is None
    cache.remove_pod("default/p")
    assert "a" not in cache.nodes


def test_unknown_node_cannot_be_removed(cache: Cache) -> None:
    with pytest.raises(CacheError):
        cache.remove_node("nobody")


def test_image_keeps_the_size_of_the_first_node_that_had_it(cache: Cache) -> None:
    cache.add_node(make_node("c").image(5 * MEGABYTE, "app:v1").obj())
    cache.add_node(make_node("d").image(9 * MEGABYTE, "app:v1").obj())
    assert (cache.image_states["app:v1"].size, len(cache.image_states["app:v1"].nodes)) == (
        5 * MEGABYTE,
        2,
    )
    cache.remove_node("c")
    assert cache.image_states["app:v1"].size == 5 * MEGABYTE
    cache.remove_node("d")
    assert "app:v1" not in cache.image_states


def test_nodes_are_visited_zone_by_zone_in_turn() -> None:
    tree = NodeTree()
    for name, zone in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("c1", "c")):
        tree.add(make_node(name).zone(zone).obj())
    assert list(tree) == ["a1", "b1", "c1", "a2", "a3"]
    tree.add(make_node("a1").zone("b").obj())
    assert list(tree) == ["a2", "b1", "c1", "a3", "a1"]
    tree.remove("b1")
    assert list(tree) == ["a2", "a1", "c1", "a3"]
