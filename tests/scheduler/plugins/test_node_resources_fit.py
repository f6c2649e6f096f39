"""NodeResourcesFit: room for a pod, exact figures of what is missing, and the scores."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from apps.scheduler.cache.cache import Cache
from apps.scheduler.framework.status import Code
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import DeviceClass, ResourceSlice, decode_as
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.scheduler import reference
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt, explained, with_args
from tests.scheduler.plugins.random_nodes import clusters, filtered, pods, scored


@pytest.mark.parametrize(
    ("pod", "node", "reasons"),
    [
        pytest.param(make_pod().req(cpu="4"), make_node("n"), [], id="fits"),
        pytest.param(
            make_pod().req(cpu="4001m"), make_node("n"), ["Insufficient cpu"], id="too much cpu"
        ),
        pytest.param(
            make_pod().req({"example.com/gpu": 1}),
            make_node("n"),
            ["Insufficient example.com/gpu"],
            id="an extended resource nobody has",
        ),
        pytest.param(
            make_pod().req(cpu="9", memory="99Gi"),
            make_node("n").capacity(pods=0),
            ["Too many pods", "Insufficient cpu", "Insufficient memory"],
            id="every reason is given",
        ),
    ],
)
def test_a_pod_needs_room_for_everything_it_asks_for(
    scheduler: Scheduler, pod: PodBuilder, node: NodeBuilder, reasons: list[str]
) -> None:
    status = attempt(scheduler, pod, node).status_of("n")
    assert list(status.reasons if status is not None else ()) == reasons


@pytest.fixture
def occupied(scheduler: Scheduler) -> Scheduler:
    """A node with room for 1500m more CPU and two more pods."""
    add(scheduler, make_node("n").capacity(cpu="4", memory="8Gi", pods=4))
    for name, cpu in (("big", "1500m"), ("small", "1")):
        add(scheduler, make_pod(name).uid(name).req(cpu=cpu, memory="1Gi").on("n"))
    return scheduler


def test_a_resource_that_is_short_names_what_is_free_and_who_holds_it(occupied: Scheduler) -> None:
    assert explained(occupied, make_pod().req(cpu="2")) == [
        "NodeResourcesFit: needs cpu 2, free 1.5 of 4; requested by default/big (1.5), "
        "default/small (1)"
    ]


def test_what_no_node_of_this_size_could_give_is_explained_as_such(occupied: Scheduler) -> None:
    assert explained(occupied, make_pod().req({"cpu": "9", "example.com/gpu": 1})) == [
        "NodeResourcesFit: needs cpu 9, free 1.5 of 4: exceeds the node's allocatable cpu",
        "NodeResourcesFit: needs example.com/gpu 1, and the node has none",
    ]


def test_room_for_a_nominated_pod_is_counted_and_named(occupied: Scheduler) -> None:
    promised = make_pod("vip").uid("vip").req(cpu="1").priority(5).nominated("n").obj()
    occupied.queue.add_nominated_pod(PodInfo(promised))
    assert explained(occupied, make_pod().req(cpu="1")) == [
        "NodeResourcesFit: needs cpu 1, free 0.5 of 4; "
        "requested by default/big (1.5), default/small (1), default/vip (1, nominated)"
    ]


def test_places_for_pods_run_out_like_any_resource(occupied: Scheduler) -> None:
    add(occupied, make_pod("third").on("n"), make_pod("fourth").on("n"))
    assert explained(occupied, make_pod()) == ["NodeResourcesFit: has 4 pods and allows 4"]


def test_a_profile_leaves_out_the_resources_it_ignores(new_scheduler: NewScheduler) -> None:
    config = with_args("NodeResourcesFit", ignoredResourceGroups=["example.com"])
    pod = make_pod().req({"example.com/gpu": 1})
    assert attempt(new_scheduler(config), pod, make_node("n")).node == "n"


def scoring(strategy: str, **more: Any) -> dict[str, Any]:
    resources = [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]
    strategy_args = {"type": strategy, "resources": resources, **more}
    return with_args("NodeResourcesFit", scoringStrategy=strategy_args)


SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]


@pytest.mark.parametrize(
    ("config", "score"),
    [
        (scoring("LeastAllocated"), (75 * 3 + 50) // 4),
        (scoring("MostAllocated"), (25 * 3 + 50) // 4),
        (
            scoring("RequestedToCapacityRatio", requestedToCapacityRatio={"shape": SHAPE}),
            round((25 * 3 + 50) / 4),
        ),
    ],
)
def test_scoring_strategies(
    new_scheduler: NewScheduler, config: dict[str, Any], score: int
) -> None:
    pod = make_pod().req(cpu="1", memory="16Gi")
    decision = attempt(new_scheduler(config), pod, make_node("n"))
    assert decision.scores_of("n")["NodeResourcesFit"][0] == score


def test_amounts_beyond_int64_hundredths_are_exact(scheduler: Scheduler) -> None:
    huge = make_node("n").capacity(memory="8E")
    decision = attempt(scheduler, make_pod().req(cpu="4", memory="4E"), huge)
    assert decision.scores_of("n")["NodeResourcesFit"][0] == (0 + 50) // 2


@settings(max_examples=50, deadline=None)
@given(cache=clusters(), pod=pods())
def test_the_filter_agrees_with_the_reference(cache: Cache, pod: PodInfo) -> None:
    for info, status in filtered("NodeResourcesFit", cache, pod):
        reasons = reference.fit_reasons(pod, info)
        assert sorted(status.reasons if status is not None else ()) == sorted(reasons)
        if status is not None:
            unresolvable = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
            assert unresolvable == reference.fit_unresolvable(pod, info)


@settings(max_examples=50, deadline=None)
@given(cache=clusters(), pod=pods())
def test_the_scores_agree_with_the_reference(cache: Cache, pod: PodInfo) -> None:
    for info, raw in scored("NodeResourcesFit", cache, pod):
        assert raw == reference.least_allocated(pod, info)


def test_preemption_may_help_only_where_the_whole_node_would_be_large_enough(
    scheduler: Scheduler,
) -> None:
    gpu = "example.com/gpu"
    decision = attempt(
        scheduler,
        make_pod().req({gpu: 2}, cpu="4"),
        make_node("exact").capacity({gpu: 2}),
        make_node("small cpu").capacity({gpu: 2}, cpu="3999m"),
        make_node("one gpu").capacity({gpu: 1}),
        make_node("no gpu"),
        make_node("no pods").capacity({gpu: 2}, pods=0),
        make_pod("x").req({gpu: 1}, cpu="1").on("exact"),
        make_pod("y").req({gpu: 1}).on("one gpu"),
    )
    statuses = {name: decision.status_of(name) for name in decision.nodes if name}
    assert {name: status.code for name, status in statuses.items() if status} == {
        "exact": Code.UNSCHEDULABLE,
        "small cpu": Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        "one gpu": Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        "no gpu": Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        "no pods": Code.UNSCHEDULABLE,
    }


def test_a_resource_that_the_node_has_as_devices_does_not_hinder_preemption(
    scheduler: Scheduler,
) -> None:
    extended = {"extendedResourceName": "example.com/gpu"}
    add(scheduler, decode_as(DeviceClass, {"metadata": {"name": "gpu"}, "spec": extended}))
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d", "nodeName": "n", "pool": pool, "devices": [{"name": "d0"}]}
    add(scheduler, decode_as(ResourceSlice, {"metadata": {"name": "s"}, "spec": spec}))
    add(scheduler, make_node("n").capacity(cpu="4"), make_pod("low").req(cpu="4").on("n"))
    pod = make_pod("high").priority(10).req({"example.com/gpu": 1}, cpu="4")
    decision = attempt(scheduler, pod)
    assert decision.filter_message == "0/1 nodes are available: 1 Insufficient cpu."
    assert decision.post_filter is not None
    assert [victim.name for victim in decision.post_filter.victims] == ["low"]
