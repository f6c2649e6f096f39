"""How many nodes a preemptor tries, and which changes make it try a node again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from apps.scheduler.decision import Decision
from apps.scheduler.framework.interface import Candidate, PostFilterResult
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod, PodDisruptionBudget, decode_as
from apps.scheduler.plugins.default_preemption import DefaultPreemption
from apps.scheduler.plugins.noderesources.fit import NodeResourcesFit
from apps.scheduler.plugins.registry import BUILT_IN
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler

NODES = 40
SECOND = "2026-01-01T00:00:02Z"


class CountingFit(NodeResourcesFit):
    """Counts the rows that the filter is asked about during PostFilter."""

    rows = 0
    counts = False

    def filter(self, state: Any, pod: Any, nodes: Any) -> Any:
        CountingFit.rows += CountingFit.counts * len(nodes)
        return super().filter(state, pod, nodes)

    def sign(self, pod: PodInfo) -> Any:
        return super().sign(pod)

    def room(self, state: Any, nodes: Any) -> Any:
        return super().room(state, nodes)


class CountingPreemption(DefaultPreemption):
    def post_filter(self, state: Any, pod: Any, diagnosis: Any) -> Any:
        CountingFit.counts = True
        try:
            return super().post_filter(state, pod, diagnosis)
        finally:
            CountingFit.counts = False


@pytest.fixture
def scheduler(new_scheduler: NewScheduler) -> Scheduler:
    """Every node has two pods that started at the same time, and no room."""
    counting = {"NodeResourcesFit": CountingFit, "DefaultPreemption": CountingPreemption}
    scheduler = new_scheduler(registry={**BUILT_IN, **counting})
    for number in range(NODES):
        scheduler.handle("Node", None, make_node(f"n{number:02}").capacity(cpu="2").obj())
        for name in "ab":
            scheduler.handle("Pod", None, victim(f"{name}{number:02}", f"n{number:02}"))
    CountingFit.rows = 0
    return scheduler


def victim(name: str, node: str, **status: Any) -> Pod:
    pod = make_pod(name).uid(name).label("app", "web").req(cpu="1").priority(1).on(node)
    status = {"start_time": "2026-01-01T00:00:01Z", **status}
    return msgspec.structs.replace(
        pod.obj(), status=msgspec.structs.replace(pod.obj().status, **status)
    )


def preempt(scheduler: Scheduler, name: str, *, evict: bool = True) -> PostFilterResult:
    scheduler.handle("Pod", None, make_pod(name).uid(name).req(cpu="1").priority(9).obj())
    decision: Decision | None = scheduler.schedule_one()
    assert decision is not None and decision.post_filter is not None
    for pod in decision.post_filter.victims if evict else ():
        scheduler.handle("Pod", pod.pod, None)
    return decision.post_filter


def candidate_on(found: PostFilterResult, node: str) -> Candidate | None:
    return next((each for each in found.candidates if each.node == node), None)


def test_a_preemptor_tries_only_the_nodes_that_changed_since_the_last_of_its_kind(
    scheduler: Scheduler,
) -> None:
    preempt(scheduler, "first")
    assert CountingFit.rows >= NODES
    for number in range(8):
        CountingFit.rows = 0
        preempt(scheduler, f"next-{number}")
        # The room of the last victim is kept for its preemptor, so it is tried with this pod alone.
        assert CountingFit.rows <= 2


def start_later(scheduler: Scheduler) -> None:
    old, new = victim("a05", "n05"), victim("a05", "n05", start_time=SECOND)
    scheduler.handle("Pod", old, new)


def guard_all(scheduler: Scheduler) -> None:
    body = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 1},
    }
    scheduler.handle("PodDisruptionBudget", None, decode_as(PodDisruptionBudget, body))


def nominate(scheduler: Scheduler) -> None:
    pod = make_pod("rival").uid("rival").req(cpu="2").priority(10).info()
    scheduler.queue.add_nominated_pod(pod, "n05")


def delete_pod(scheduler: Scheduler) -> None:
    scheduler.handle("Pod", victim("b05", "n05"), None)
    scheduler.handle("Pod", None, make_pod("c").uid("c").req(cpu="1").priority(9).on("n05").obj())


def shrink(scheduler: Scheduler) -> None:
    old = scheduler.cache.nodes["n05"].node
    scheduler.handle("Node", old, make_node("n05").capacity(cpu="500m").obj())


@pytest.mark.parametrize(
    ("change", "victims"),
    [
        (start_later, ("default/a05",)),
        (guard_all, ("default/a05",)),
        (nominate, None),
        (delete_pod, ("default/a05",)),
        (shrink, None),
    ],
)
def test_a_change_of_a_node_is_seen_by_the_next_preemptor(
    scheduler: Scheduler, change: Callable[[Scheduler], None], victims: tuple[str, ...] | None
) -> None:
    before = candidate_on(preempt(scheduler, "first"), "n05")
    assert before is not None and before.victims == ("default/b05",)
    change(scheduler)
    after = candidate_on(preempt(scheduler, "second"), "n05")
    assert (after and after.victims) == victims
    assert after != before


def test_other_preemptors_keep_the_room_of_a_nominated_pod(scheduler: Scheduler) -> None:
    assert candidate_on(preempt(scheduler, "first", evict=False), "n00") is not None
    pod = make_pod("first").uid("first").req(cpu="1").priority(9).info()
    scheduler.queue.add_nominated_pod(pod, "n00")
    other = candidate_on(preempt(scheduler, "other", evict=False), "n00")
    assert other is not None and len(other.victims) == 2
