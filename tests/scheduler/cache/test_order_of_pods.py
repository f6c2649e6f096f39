"""A node lists its pods in the order in which they came."""

from __future__ import annotations

from apps.scheduler.cache.cache import Cache
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.testing.builders import make_node, make_pod


def test_a_pod_keeps_its_place_when_its_labels_change() -> None:
    cache = Cache()
    cache.add_node(make_node("n").obj())
    for name in ("a", "b", "c"):
        cache.add_pod(PodInfo(make_pod(name).uid(name).on("n").obj()))
    changed = make_pod("b").uid("b").on("n").label("app", "web").obj()
    cache.update_pod(PodInfo(changed))
    assert list(cache.nodes["n"].pods) == ["default/a", "default/b", "default/c"]
    assert cache.nodes["n"].pods["default/b"].labels == {"app": "web"}
    cache.validate()
