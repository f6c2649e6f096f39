"""NodeResourcesBalancedAllocation: which nodes a pod evens out."""

from __future__ import annotations

from hypothesis import given, settings

from apps.scheduler.cache.cache import Cache
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler import reference
from tests.scheduler.cycle import attempt
from tests.scheduler.plugins.random_nodes import clusters, pods, scored


def test_best_effort_pod_is_not_balanced(scheduler: Scheduler) -> None:
    decision = attempt(scheduler, make_pod(), make_node("n"))
    assert "NodeResourcesBalancedAllocation" in decision.score_skipped


@settings(max_examples=50, deadline=None)
@given(cache=clusters(), pod=pods())
def test_the_scores_agree_with_the_reference(cache: Cache, pod: PodInfo) -> None:
    for info, raw in scored("NodeResourcesBalancedAllocation", cache, pod):
        assert raw == reference.balanced_allocation(pod, info)
