"""An extender has a say in which pods must leave, and where."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.extender_calls import ExtenderVerb
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.extenders.running import RunningExtender


@pytest.fixture
def decide(new_scheduler: NewScheduler, extender: RunningExtender) -> Any:
    """The decision on an important pod that fits nowhere; nodes a and b run a pod each."""

    def run(**entry: Any) -> Decision:
        wanted = {"urlPrefix": extender.url, "preemptVerb": "preempt", **entry}
        scheduler = new_scheduler({"extenders": [wanted]})
        for name in "ab":
            scheduler.handle("Node", None, make_node(name).obj())
            scheduler.handle("Pod", None, make_pod(f"on-{name}").req(cpu=4).on(name).obj())
        scheduler.handle("Pod", None, make_pod("vip").priority(10).req(cpu=4).obj())
        decision = scheduler.schedule_one()
        assert decision is not None
        return decision

    return run


def keeping(node: str, *uids: str) -> dict[str, Any]:
    pods = [{"UID": uid} for uid in uids]
    return {"NodeNameToMetaVictims": {node: {"Pods": pods, "NumPDBViolations": 0}}}


def test_victims_are_sent_whole_and_what_is_left_of_them_counts(
    decide: Any, extender: RunningExtender
) -> None:
    extender.answers("preempt", keeping("b", "default/on-b"))
    decision = decide()
    assert decision.nominating is not None and decision.nominating.nominated_node == "b"
    args = extender.asked("preempt")
    assert args["Pod"]["metadata"]["name"] == "vip"
    assert args["NodeNameToMetaVictims"] is None
    (victim,) = args["NodeNameToVictims"]["a"]["Pods"]
    assert victim["metadata"]["name"] == "on-a" and victim["spec"]["nodeName"] == "a"
    (call,) = decision.extender_calls
    assert (call.verb, call.nodes_in, call.nodes_out) == (ExtenderVerb.PREEMPT, 2, 1)


def test_an_extender_with_a_cache_is_sent_uids(decide: Any, extender: RunningExtender) -> None:
    extender.answers("preempt", keeping("a", "default/on-a"))
    decision = decide(nodeCacheCapable=True)
    assert decision.nominating is not None and decision.nominating.nominated_node == "a"
    args = extender.asked("preempt")
    assert args["NodeNameToVictims"] is None
    assert args["NodeNameToMetaVictims"]["b"] == {
        "Pods": [{"UID": "default/on-b"}],
        "NumPDBViolations": 0,
    }


@pytest.mark.parametrize("harmed", "ab")
def test_nodes_are_ranked_by_the_answer(
    decide: Any, extender: RunningExtender, harmed: str
) -> None:
    left = {node: keeping(node, f"default/on-{node}") for node in "ab"}
    nodes = {node: left[node]["NodeNameToMetaVictims"][node] for node in "ab"}
    nodes[harmed]["NumPDBViolations"] = 1
    extender.answers("preempt", {"NodeNameToMetaVictims": nodes})
    decision = decide()
    assert decision.nominating is not None
    assert decision.nominating.nominated_node == {"a": "b", "b": "a"}[harmed]


def test_a_victim_that_is_not_there_is_an_error(decide: Any, extender: RunningExtender) -> None:
    extender.answers("preempt", keeping("a", "somebody-else"))
    decision = decide()
    assert decision.result is Result.UNSCHEDULABLE and decision.nominating is None
    assert decision.message.endswith(
        f"preemption: extender: {extender.url} claims to preempt pod (UID: &{{somebody-else}}) on "
        "node: a, but the pod is not found on that node"
    )


def test_no_node_is_left_where_the_extender_leaves_none(
    decide: Any, extender: RunningExtender
) -> None:
    extender.answers("preempt", {})
    decision = decide()
    assert decision.nominating is None
    assert "no candidate node for preemption" in decision.message


def test_nodes_say_why_though_preemption_ends_with_an_error(
    new_scheduler: NewScheduler, extender: RunningExtender
) -> None:
    extender.answers("filter", {"FailedNodes": {"roomy": "refused"}})
    entry = {"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": True}
    scheduler = new_scheduler({"extenders": [entry]})
    for name, cpu in (("roomy", 4), ("small", 2)):
        scheduler.handle("Node", None, make_node(name).capacity(cpu=cpu).obj())
        scheduler.handle("Pod", None, make_pod(f"on-{name}").req(cpu=1).on(name).obj())
    scheduler.handle("Pod", None, make_pod("vip").priority(10).req(cpu=3).obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.nominating is None
    problem = 'expected at least one victim pod on node "roomy"'
    assert decision.message.endswith(f"preemption: {problem}")
    assert decision.post_filter is not None
    tried = decision.post_filter.node_statuses
    assert tried is not None
    statuses = {node: tried.at(row) for row, node in enumerate(decision.nodes)}
    reasons = {node: status and status.message for node, status in statuses.items()}
    assert reasons == {"roomy": problem, "small": "Preemption is not helpful for scheduling"}
