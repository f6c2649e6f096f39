"""The cost of a pod with spread constraints or affinity, the next of its kind.

It must not grow with the number of nodes or of pods that run: calls are counted, not time.
"""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable

import pytest

from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
PODS = 20
KINDS: dict[str, Callable[[PodBuilder], PodBuilder]] = {
    "spread over zones": lambda pod: pod.spread(ZONE, {"app": "a"}, max_skew=3),
    "spread over nodes": lambda pod: pod.spread(HOST, {"app": "a"}, max_skew=2),
    "prefers other zones": lambda pod: pod.spread(
        ZONE, {"app": "a"}, when_unsatisfiable="ScheduleAnyway"
    ),
    "prefers other nodes": lambda pod: pod.spread(
        HOST, {"app": "a"}, when_unsatisfiable="ScheduleAnyway"
    ),
    "affinity in a zone": lambda pod: pod.pod_affinity(ZONE, {"app": "a"}),
    "anti-affinity on a node": lambda pod: pod.pod_anti_affinity(HOST, {"app": "a"}),
    "prefers pods on its node": lambda pod: pod.prefers_pods(HOST, {"app": "a"}, weight=5),
    "prefers pods elsewhere": lambda pod: pod.prefers_pods(ZONE, {"app": "a"}, weight=-5),
}

#: calls for a pod, a little more than there are, where reuse has made them few
MOST_CALLS = {
    "spread over nodes": 395,
    "prefers other nodes": 362,
    "affinity in a zone": 714,
    "anti-affinity on a node": 480,
}


def calls(new_scheduler: NewScheduler, kind: str, nodes: int, placed: int) -> float:
    """Of functions, by a pod of a kind that was seen before."""
    scheduler = new_scheduler(config={"percentageOfNodesToScore": 100})
    for number in range(nodes):
        node = make_node(f"n{number}").hostname().zone("abc"[number % 3])
        add(scheduler, node.capacity(cpu="400", memory="800Gi", pods="900"))
    for number in range(placed):
        add(scheduler, make_pod(f"other{number}").label("app", "b").on(f"n{number % nodes}"))
    for number in range(8):
        attempt(scheduler, pod(kind, number))
    return counted(scheduler, kind)


def counted(scheduler: Scheduler, kind: str) -> float:
    for number in range(8, 8 + PODS):
        add(scheduler, pod(kind, number))
    profile = cProfile.Profile()
    with profile:
        nodes = [scheduler.schedule_one() for _ in range(PODS)]
    assert all(decision is not None and decision.node for decision in nodes)
    return pstats.Stats(profile).total_calls / PODS  # type: ignore[attr-defined]


def pod(kind: str, number: int) -> PodBuilder:
    return KINDS[kind](make_pod(f"p{number}").label("app", "a").req(cpu="100m"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_cost_of_a_pod_does_not_grow_with_nodes_and_pods(
    new_scheduler: NewScheduler, kind: str
) -> None:
    few = calls(new_scheduler, kind, nodes=60, placed=20)
    many = calls(new_scheduler, kind, nodes=240, placed=200)
    assert many < 1.15 * few
    assert few < MOST_CALLS.get(kind, few + 1)


def test_verdicts_that_do_not_change_are_not_computed_again(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler(config={"percentageOfNodesToScore": 100})
    add(scheduler, *(make_node(f"n{number}").zone("abc"[number % 3]) for number in range(30)))
    kind = "spread over zones"
    decisions = [attempt(scheduler, pod(kind, number)) for number in range(3)]
    decisions = [attempt(scheduler, pod(kind, number)) for number in range(3, 7)]
    verdicts = {id(each.node_statuses.ids) for each in decisions if each.node_statuses is not None}
    assert len(verdicts) == 1
