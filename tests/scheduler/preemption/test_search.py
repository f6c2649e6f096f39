"""Which nodes are tried, and when the search ends."""

from __future__ import annotations

from cProfile import Profile
from typing import Any

from apps.scheduler.decision import Decision
from apps.scheduler.framework.interface import PostFilterResult
from apps.scheduler.objects import PodDisruptionBudget, decode_as
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.tie_break import random_draws
from tests.scheduler.conftest import NewScheduler

NODES = 40


def profile(**args: int) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": "DefaultPreemption", "args": args}]}]}


def fill(scheduler: Scheduler, *, guarded: int = 0, empty: int = 0) -> None:
    """Every node is taken by one pod; a budget guards the pods of the first ``guarded`` nodes."""
    for number in range(NODES):
        name = f"n{number:02}"
        scheduler.handle("Node", None, make_node(name).capacity(cpu="1").obj())
        app = "guarded" if number < guarded else "free"
        priority = 5 if number < empty else 0
        pod = make_pod(f"p{number:02}").label("app", app).req(cpu="1").priority(priority)
        scheduler.handle("Pod", None, pod.on(name).obj())
    budget = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "guarded"}}},
    }
    scheduler.handle("PodDisruptionBudget", None, decode_as(PodDisruptionBudget, budget))


def preempt(scheduler: Scheduler, priority: int = 5) -> tuple[Decision, PostFilterResult]:
    pod = make_pod("incoming").req(cpu="1").priority(priority).obj()
    scheduler.handle("Pod", None, pod)
    decision = scheduler.schedule_one()
    assert decision is not None
    assert decision.post_filter is not None
    return decision, decision.post_filter


def test_search_ends_with_the_greater_of_share_and_number(new_scheduler: NewScheduler) -> None:
    args = {"minCandidateNodesPercentage": 20, "minCandidateNodesAbsolute": 3}
    scheduler = new_scheduler(profile(**args))
    fill(scheduler)
    assert len(preempt(scheduler)[1].candidates) == 8


def test_search_begins_at_a_drawn_node_and_goes_round(new_scheduler: NewScheduler) -> None:
    args = {"minCandidateNodesPercentage": 25, "minCandidateNodesAbsolute": 1}
    seen = set()
    for seed in range(12):
        scheduler = new_scheduler(profile(**args), tie_break="random", draws=random_draws(seed))
        fill(scheduler)
        result = preempt(scheduler)[1]
        order = [scheduler.snapshot.names[row] for row in scheduler.snapshot.order]
        around = (order + order)[result.offset : result.offset + 10]
        assert [candidate.node for candidate in result.candidates] == around
        seen.add(result.offset)
    assert len(seen) > 3


def test_the_seed_alone_says_what_is_drawn(new_scheduler: NewScheduler) -> None:
    found = []
    for _ in range(2):
        scheduler = new_scheduler(
            profile(minCandidateNodesAbsolute=5), tie_break="random", draws=random_draws(7)
        )
        fill(scheduler)
        result = preempt(scheduler)[1]
        found.append((result.offset, result.nominating, result.candidates))
    assert found[0] == found[1]


def test_nothing_is_drawn_when_ties_are_broken_by_name(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler(profile(minCandidateNodesAbsolute=5))
    fill(scheduler)
    decision, result = preempt(scheduler)
    assert result.offset == 0
    assert decision.nominating is not None
    assert decision.nominating.nominated_node == "n00"
    assert result.ties == ("n00", "n01", "n02", "n03", "n04")


def test_search_goes_on_while_every_candidate_breaks_a_budget(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler(profile(minCandidateNodesAbsolute=4))
    fill(scheduler, guarded=30)
    result = preempt(scheduler)[1]
    broken = [candidate.pdb_violations for candidate in result.candidates]
    assert broken == [0, 1, 1, 1, 1]
    assert result.candidates[0].node == "n30"


def test_nodes_the_search_did_not_come_to_have_no_reason(new_scheduler: NewScheduler) -> None:
    scheduler = new_scheduler(profile(minCandidateNodesAbsolute=4))
    fill(scheduler, empty=10)
    statuses = preempt(scheduler)[1].node_statuses
    assert statuses is not None
    refused = {scheduler.snapshot.names[row] for row in (statuses.ids > 0).nonzero()[0]}
    assert refused == {f"n{number:02}" for number in range(10)}


def test_a_search_that_knows_some_candidates_selects_the_other_victims_at_once(
    new_scheduler: NewScheduler,
) -> None:
    args = {"minCandidateNodesPercentage": 1, "minCandidateNodesAbsolute": 100}
    scheduler = new_scheduler(profile(**args), tie_break="random", draws=random_draws(3))
    for number in range(250):
        scheduler.handle("Node", None, make_node(f"n{number}").capacity(cpu="1").obj())
        scheduler.handle("Pod", None, make_pod(f"p{number}").req(cpu="1").on(f"n{number}").obj())
    rounds = []
    for number in range(6):
        incoming = make_pod(f"incoming{number}").req(cpu="1").priority(5).obj()
        scheduler.handle("Pod", None, incoming)
        calls = Profile()
        calls.runcall(scheduler.schedule_one)
        counts = {getattr(each.code, "co_name", ""): each.callcount for each in calls.getstats()}
        rounds.append(counts.get("add_outcomes", 0))
    assert rounds[0] == 1
    assert max(rounds) <= 2
