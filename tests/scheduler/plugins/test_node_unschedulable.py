"""NodeUnschedulable: cordoned nodes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from apps.scheduler.cache.cache import Cache
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.scheduler.cycle import add, attempt, explained
from tests.scheduler.plugins.random_nodes import clusters, filtered, node_of, pods


@pytest.mark.parametrize(
    ("pod", "node", "reasons"),
    [
        (make_pod(), make_node("n"), []),
        (make_pod(), make_node("n").unschedulable(), ["node(s) were unschedulable"]),
        (
            make_pod().toleration("node.kubernetes.io/unschedulable", operator="Exists"),
            make_node("n").unschedulable(),
            [],
        ),
    ],
)
def test_a_cordoned_node_takes_only_pods_that_tolerate_it(
    scheduler: Scheduler, pod: PodBuilder, node: NodeBuilder, reasons: list[str]
) -> None:
    status = attempt(scheduler, pod, node).status_of("n")
    assert list(status.reasons if status is not None else ()) == reasons


def test_the_cordon_is_the_explanation(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n").unschedulable())
    assert explained(scheduler, make_pod()) == ["NodeUnschedulable: the node is cordoned"]


@settings(max_examples=50, deadline=None)
@given(cache=clusters(), pod=pods())
def test_the_filter_agrees_with_the_reference(cache: Cache, pod: PodInfo) -> None:
    for info, status in filtered("NodeUnschedulable", cache, pod):
        assert (status is not None) is node_of(info).spec.unschedulable
