"""ImageLocality: nodes that have the images of a pod."""

from __future__ import annotations

from hypothesis import given, settings

from apps.scheduler.cache.cache import Cache
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler import reference
from tests.scheduler.cycle import attempt
from tests.scheduler.plugins.random_nodes import clusters, node_of, pods, scored

MEGABYTE = 1024 * 1024


def test_image_that_half_of_the_nodes_have_counts_half(scheduler: Scheduler) -> None:
    decision = attempt(
        scheduler,
        make_pod().image("app"),
        make_node("has").image(1046 * MEGABYTE, "app:latest"),
        make_node("lacks"),
    )
    assert decision.scores_of("has")["ImageLocality"] == (51, 51, 51)
    assert decision.scores_of("lacks")["ImageLocality"] == (0, 0, 0)


@settings(max_examples=50, deadline=None)
@given(cache=clusters(), pod=pods())
def test_the_scores_agree_with_the_reference(cache: Cache, pod: PodInfo) -> None:
    for info, raw in scored("ImageLocality", cache, pod):
        every = [node_of(other) for other in cache.nodes.values()]
        assert raw == reference.image_locality(pod, node_of(info), every)


def test_the_share_of_nodes_is_computed_before_the_size_is_multiplied(
    scheduler: Scheduler,
) -> None:
    """As upstream: 7/10 as a float, times the size, truncated. Exact integers would give 91."""
    nodes = [make_node(f"has-{number}").image(1_366_249_590, "app:latest") for number in range(7)]
    nodes += [make_node(f"lacks-{number}") for number in range(3)]
    decision = attempt(scheduler, make_pod().image("app"), *nodes)
    assert decision.scores_of("has-0")["ImageLocality"] == (90, 90, 90)
