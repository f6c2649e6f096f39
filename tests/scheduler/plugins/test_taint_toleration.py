"""TaintToleration: taints that keep pods away, and those that only make a node less preferred."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from apps.scheduler.cache.cache import Cache
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.scheduler import reference
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt, explained
from tests.scheduler.plugins.random_nodes import EFFECTS, clusters, filtered, node_of, pods, scored


@pytest.mark.parametrize(
    ("pod", "node", "reasons"),
    [
        pytest.param(
            make_pod(),
            make_node("n").taint("gpu", "yes"),
            ["node(s) had untolerated taint(s)"],
            id="tainted",
        ),
        pytest.param(
            make_pod().toleration("gpu", "no", "NoSchedule"),
            make_node("n").taint("gpu", "yes"),
            ["node(s) had untolerated taint(s)"],
            id="taint of another value",
        ),
        pytest.param(
            make_pod().toleration(operator="Exists"),
            make_node("n").taint("gpu", "yes", "NoExecute"),
            [],
            id="everything tolerated",
        ),
    ],
)
def test_a_pod_must_tolerate_every_taint_that_keeps_pods_away(
    scheduler: Scheduler, pod: PodBuilder, node: NodeBuilder, reasons: list[str]
) -> None:
    status = attempt(scheduler, pod, node).status_of("n")
    assert list(status.reasons if status is not None else ()) == reasons


def test_every_taint_that_is_not_tolerated_is_named(scheduler: Scheduler) -> None:
    node = make_node("n").taint("dedicated", "gpu").taint("soft", "", "PreferNoSchedule")
    add(scheduler, node.taint("gone", "", "NoExecute").taint("fine"))
    assert explained(scheduler, make_pod().toleration("fine", operator="Exists")) == [
        "TaintToleration: the pod does not tolerate the taint dedicated=gpu:NoSchedule",
        "TaintToleration: the pod does not tolerate the taint gone:NoExecute",
    ]


def test_preferred_taints_lower_the_score(scheduler: Scheduler) -> None:
    decision = attempt(
        scheduler,
        make_pod(),
        make_node("clean"),
        make_node("one").taint("a", effect="PreferNoSchedule"),
        make_node("two").taint("a", effect="PreferNoSchedule").taint("b", "", "PreferNoSchedule"),
    )
    scores = [decision.scores_of(node)["TaintToleration"] for node in ("clean", "one", "two")]
    assert scores == [(0, 100, 300), (1, 50, 150), (2, 0, 0)]


@settings(max_examples=50, deadline=None)
@given(cache=clusters(), pod=pods())
def test_the_filter_agrees_with_the_reference(cache: Cache, pod: PodInfo) -> None:
    for info, status in filtered("TaintToleration", cache, pod):
        hard = reference.untolerated(node_of(info), pod.pod.spec.tolerations, EFFECTS[:2])
        assert (status is not None) is bool(hard)


@settings(max_examples=50, deadline=None)
@given(cache=clusters(), pod=pods())
def test_the_scores_agree_with_the_reference(cache: Cache, pod: PodInfo) -> None:
    for info, raw in scored("TaintToleration", cache, pod):
        assert raw == reference.untolerated(node_of(info), pod.pod.spec.tolerations, EFFECTS[2:])


@pytest.mark.parametrize(
    ("operator", "level", "tolerated"),
    [("Gt", 949, True), ("Gt", 950, False), ("Lt", 951, True), ("Lt", 950, False)],
)
def test_a_comparing_toleration_excludes_its_own_value(
    new_scheduler: NewScheduler, operator: str, level: int, tolerated: bool
) -> None:
    gates = {"TaintTolerationComparisonOperators": True}
    scheduler = new_scheduler({"featureGates": gates})
    pod = make_pod().toleration("example.com/sla", str(level), "NoSchedule", operator)
    decision = attempt(scheduler, pod, make_node("n").taint("example.com/sla", "950"))
    assert (decision.node == "n") is tolerated
