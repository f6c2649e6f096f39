"""Pods that cannot be told apart take the next nodes of one ranking, as in kube-scheduler.

The placements were compared with those of kube-scheduler 1.36.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from apps.scheduler.clock import VirtualClock
from apps.scheduler.decision import Decision
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from apps.scheduler.tie_break import random_draws
from tests.scheduler.cycle import search_plainly

NewScheduler = Callable[..., Scheduler]

#: without default constraints pods may be batched
UNSPREAD: dict[str, Any] = {
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "PodTopologySpread",
                    "args": {"defaultingType": "List", "defaultConstraints": []},
                }
            ]
        }
    ]
}
OFF = {"featureGates": {"OpportunisticBatching": False}}


def build(new_scheduler: NewScheduler, config: dict[str, Any] = UNSPREAD) -> Scheduler:
    """A scheduler with the small nodes a and b and the large node c."""
    scheduler = new_scheduler(config, tie_break="first-name")
    for name, cpu in (("a", "4"), ("b", "4"), ("c", "64")):
        scheduler.handle("Node", None, make_node(name).capacity(cpu=cpu).hostname().obj())
    return scheduler


def wanting(name: str) -> PodBuilder:
    """A pod that prefers a, then b; two of them do not fit on either."""
    pod = make_pod(name).req(cpu="3")
    for weight, node in ((100, "a"), (10, "b")):
        pod = pod.prefers_in(weight, "kubernetes.io/hostname", node)
    return pod


def decide(scheduler: Scheduler, *pods: PodBuilder) -> list[Decision]:
    for pod in pods:
        scheduler.handle("Pod", None, pod.obj())
    found = []
    while (decision := scheduler.schedule_one()) is not None:
        found.append(decision)
    return found


def nodes(decisions: list[Decision]) -> list[str]:
    return [decision.node for decision in decisions]


@pytest.mark.parametrize("reuses", [True, False])
def test_the_next_node_of_the_old_ranking_is_taken_when_the_last_one_is_full(
    new_scheduler: NewScheduler, reuses: bool
) -> None:
    scheduler = build(new_scheduler)
    if not reuses:
        search_plainly(scheduler)
    first, second, third, fourth = decide(scheduler, *(wanting(f"p{n}") for n in range(4)))
    # At the first decision c had more room than b, which weighs more than the preference for b.
    assert nodes([first, second, third, fourth]) == ["a", "c", "b", "c"]
    assert [each.is_batched for each in (first, second, third, fourth)] == [
        False,
        True,
        False,
        True,
    ]
    assert second.hint is not None
    assert (second.hint.pod_key, second.hint.attempt) == ("default/p0", 1)
    assert (second.evaluated, second.scores, second.total.tolist()) == (1, {}, [])
    # c is not full after the second pod: the third one is scored.
    assert third.hint is None and third.scores


def test_without_the_gate_every_pod_is_scored(new_scheduler: NewScheduler) -> None:
    found = decide(build(new_scheduler, UNSPREAD | OFF), *(wanting(f"p{n}") for n in range(3)))
    assert nodes(found) == ["a", "b", "c"]
    assert [each.hint for each in found] == [None] * 3


@pytest.mark.parametrize(
    "change",
    [
        lambda pod: pod.label("x", "y"),
        lambda pod: pod.toleration("k"),
        lambda pod: pod.req(cpu="2"),
        lambda pod: pod.prefers_in(1, "kubernetes.io/hostname", "c"),
        lambda pod: pod.prefers_pods("kubernetes.io/hostname", {"x": "y"}, weight=1),
        lambda pod: pod.host_port(80),
    ],
)
def test_a_pod_that_differs_is_scored(
    new_scheduler: NewScheduler, change: Callable[[PodBuilder], PodBuilder]
) -> None:
    _, second = decide(build(new_scheduler), wanting("p0"), change(wanting("p1")))
    assert second.hint is None and second.scores


def test_priority_and_namespace_do_not_tell_pods_apart(new_scheduler: NewScheduler) -> None:
    other = make_pod("p1", namespace="other").priority(-1).req(cpu="3")
    for weight, node in ((10, "b"), (100, "a")):
        other = other.prefers_in(weight, "kubernetes.io/hostname", node)
    assert nodes(decide(build(new_scheduler), wanting("p0"), other)) == ["a", "c"]


def test_pods_with_default_constraints_are_never_batched(new_scheduler: NewScheduler) -> None:
    found = decide(build(new_scheduler, {}), *(wanting(f"p{n}") for n in range(3)))
    assert nodes(found) == ["a", "b", "c"]


@pytest.mark.parametrize(("seconds", "node"), [(0.4, "c"), (0.6, "b")])
def test_a_ranking_is_used_for_half_a_second(
    new_scheduler: NewScheduler, clock: VirtualClock, seconds: float, node: str
) -> None:
    scheduler = build(new_scheduler)
    decide(scheduler, wanting("p0"))
    clock.step(seconds)
    assert nodes(decide(scheduler, wanting("p1"))) == [node]


def test_a_pod_without_a_node_in_between_ends_the_batch(new_scheduler: NewScheduler) -> None:
    found = decide(
        build(new_scheduler), wanting("p0"), make_pod("p0-big").req(cpu="100"), wanting("p1")
    )
    assert nodes(found) == ["a", "", "b"]


def test_a_node_of_the_batch_that_rejects_the_pod_is_followed_by_a_search(
    new_scheduler: NewScheduler,
) -> None:
    scheduler = build(new_scheduler)
    decide(scheduler, wanting("p0"))
    node = make_node("c").capacity(cpu="64").hostname()
    scheduler.handle("Node", node.obj(), node.unschedulable().obj())
    [second] = decide(scheduler, wanting("p1"))
    assert second.hint is not None and second.hint.node == "c"
    assert (second.node, second.is_batched) == ("b", False)


def test_the_nominated_node_comes_before_that_of_the_batch(new_scheduler: NewScheduler) -> None:
    [_, second] = decide(build(new_scheduler), wanting("p0"), wanting("p1").nominated("b"))
    assert (second.node, second.hint, second.is_batched) == ("b", None, False)


def test_equal_nodes_of_a_batch_are_drawn(new_scheduler: NewScheduler) -> None:
    def place(seed: int) -> list[str]:
        scheduler = new_scheduler(UNSPREAD, tie_break="random", draws=random_draws(seed))
        for number in range(10):
            scheduler.handle("Node", None, make_node(f"n{number}").capacity(cpu="4").obj())
        return nodes(decide(scheduler, *(make_pod(f"p{n}").req(cpu="3") for n in range(10))))

    assert sorted(place(1)) == sorted(place(2))
    assert place(1) == place(1) != place(2)
