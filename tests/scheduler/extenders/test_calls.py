"""What an extender is sent, and what becomes of its answers."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.extender_calls import ExtenderVerb
from apps.scheduler.framework.status import Code, Status
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import attempt
from tests.scheduler.extenders.running import RunningExtender

#: no plugin scores, so that the extender's scores stand alone
UNSCORED = [{"plugins": {"score": {"disabled": [{"name": "*"}]}}}]


@pytest.fixture
def new(new_scheduler: NewScheduler, extender: RunningExtender) -> NewScheduler:
    """``new(filterVerb="filter", ...)``: a scheduler with this extender and nodes a, b and c."""

    def make(*, profiles: Any = (), **entry: Any) -> Scheduler:
        config = {"extenders": [{"urlPrefix": extender.url, **entry}], "profiles": profiles}
        scheduler = new_scheduler(config)
        for name in "abc":
            scheduler.handle("Node", None, make_node(name).label("rack", name).obj())
        return scheduler

    return make


def decide(scheduler: Scheduler, **requests: Any) -> Decision:
    return attempt(scheduler, make_pod("p").label("app", "x").req(requests or {"cpu": 1}))


def test_filter_is_sent_whole_objects(new: NewScheduler, extender: RunningExtender) -> None:
    extender.answers("filter", {"Nodes": {"items": [{"metadata": {"name": "b"}}]}})
    assert decide(new(filterVerb="filter")).node == "b"
    args = extender.asked("filter")
    assert args["Pod"]["metadata"]["labels"] == {"app": "x"}
    assert args["Pod"]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": 1}}
    assert [node["metadata"]["labels"] for node in args["Nodes"]["items"]] == [
        {"rack": "a"},
        {"rack": "b"},
        {"rack": "c"},
    ]
    assert args["NodeNames"] is None


def test_an_extender_with_a_cache_is_sent_names(
    new: NewScheduler, extender: RunningExtender
) -> None:
    extender.answers("filter", {"NodeNames": ["c"]})
    assert decide(new(filterVerb="filter", nodeCacheCapable=True)).node == "c"
    args = extender.asked("filter")
    assert (args["Nodes"], args["NodeNames"]) == (None, ["a", "b", "c"])


def test_refused_nodes_say_why_and_which_are_beyond_help(
    new: NewScheduler, extender: RunningExtender
) -> None:
    failed = {"a": "no licence", "b": "no licence", "unheard-of": "?"}
    extender.answers(
        "filter",
        {
            "nodenames": [],
            "failedNodes": failed,
            "failedAndUnresolvableNodes": {"b": "wrong vendor"},
        },
    )
    scheduler = new(filterVerb="filter", nodeCacheCapable=True)
    decision = decide(scheduler)
    assert decision.result is Result.UNSCHEDULABLE
    assert decision.filter_message == ("0/3 nodes are available: 1 no licence, 1 wrong vendor.")
    url = extender.url
    assert decision.status_of("a") == Status(Code.UNSCHEDULABLE, ("no licence",), url)
    beyond = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert decision.status_of("b") == Status(beyond, ("wrong vendor",), url)
    assert decision.status_of("c") == Status(beyond, (), url)
    assert decision.unschedulable_plugins == {"Extender"}


def test_a_pod_that_an_extender_refused_is_retried_after_any_event(
    new: NewScheduler, extender: RunningExtender
) -> None:
    extender.answers("filter", {"NodeNames": []})
    scheduler = new(filterVerb="filter", nodeCacheCapable=True)
    decide(scheduler)
    extender.answers("filter", {"NodeNames": ["a"]})
    changed = make_node("c").label("rack", "z").obj()
    scheduler.handle("Node", make_node("c").label("rack", "c").obj(), changed)
    again = scheduler.schedule_one()
    assert again is not None and (again.node, again.attempt) == ("a", 2)


def test_scores_are_stretched_to_a_hundred_and_weighted(
    new: NewScheduler, extender: RunningExtender
) -> None:
    extender.answers("prioritize", [{"Host": "a", "Score": 2}, {"Host": "b", "Score": 5}])
    scheduler = new(profiles=UNSCORED, prioritizeVerb="prioritize", weight=3)
    decision = decide(scheduler)
    assert decision.node == "b"
    assert decision.scores_of("a") == {extender.url: (2, 20, 60)}
    assert decision.scores_of("b") == {extender.url: (5, 50, 150)}
    assert decision.scores_of("c") == {extender.url: (0, 0, 0)}
    assert decision.total.tolist() == [60, 150, 0]


def test_nobody_is_asked_to_rank_a_single_node(
    new: NewScheduler, extender: RunningExtender
) -> None:
    scheduler = new(prioritizeVerb="prioritize", weight=1)
    scheduler.handle("Pod", None, make_pod("q").spec(nodeSelector={"rack": "b"}).obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.node == "b"
    assert extender.requests() == []


def test_an_extender_is_asked_only_about_its_resources(
    new: NewScheduler, extender: RunningExtender
) -> None:
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
    scheduler = new(filterVerb="filter", nodeCacheCapable=True, managedResources=managed)
    extender.answers("filter", {"NodeNames": ["b"]})
    assert decide(scheduler, cpu=1).node == "a"
    assert extender.requests() == []
    scheduler.handle("Pod", None, make_pod("q").req({"example.com/gpu": 1}).obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.node == "b"


def test_every_call_is_in_the_decision(new: NewScheduler, extender: RunningExtender) -> None:
    extender.answers("sieve", {"NodeNames": ["a", "c"]})
    extender.answers("rank", [{"Host": "c", "Score": 1}])
    extender.answers("bind", {})
    decision = decide(
        new(
            filterVerb="sieve",
            prioritizeVerb="rank",
            bindVerb="bind",
            weight=1,
            nodeCacheCapable=True,
            profiles=UNSCORED,
        )
    )
    assert [
        (call.verb, call.url, call.nodes_in, call.nodes_out, call.error)
        for call in decision.extender_calls
    ] == [
        (ExtenderVerb.FILTER, f"{extender.url}/sieve", 3, 2, ""),
        (ExtenderVerb.PRIORITIZE, f"{extender.url}/rank", 2, 1, ""),
        (ExtenderVerb.BIND, f"{extender.url}/bind", 1, 1, ""),
    ]
    assert all(call.nanoseconds > 0 for call in decision.extender_calls)
    assert decision.durations["Extenders"] > 0


def test_calls_share_a_connection(new: NewScheduler, extender: RunningExtender) -> None:
    extender.answers("filter", {"NodeNames": ["a", "b"]})
    extender.answers("prioritize", [])
    decide(new(filterVerb="filter", prioritizeVerb="prioritize", weight=1, nodeCacheCapable=True))
    assert len({request["connection"] for request in extender.requests()}) == 1


def test_the_extender_binds_in_place_of_the_plugins(
    new: NewScheduler, extender: RunningExtender
) -> None:
    extender.answers("bind", {"Error": ""})
    scheduler = new(bindVerb="bind")
    decision = decide(scheduler)
    assert extender.asked("bind") == {
        "PodName": "p",
        "PodNamespace": "default",
        "PodUID": "default/p",
        "Node": decision.node,
    }
    assert decision.result is Result.SCHEDULED
    (binding,) = decision.intents
    assert binding.bound_by == extender.url


def test_a_pod_the_extender_cannot_bind_is_retried(
    new: NewScheduler, extender: RunningExtender
) -> None:
    extender.answers("bind", {"Error": "out of licences"})
    scheduler = new(bindVerb="bind")
    decision = decide(scheduler)
    assert (decision.result, decision.message) == (Result.ERROR, "out of licences")
    assert decision.intents == ()
    assert not any(node.pods for node in scheduler.cache.nodes.values())
    assert len(scheduler.queue.contents.backoff_pods()) == 1


def test_plugins_bind_where_an_extender_that_may_be_ignored_fails(
    new: NewScheduler, extender: RunningExtender
) -> None:
    extender.answers("bind", {"Error": "out of licences"})
    decision = decide(new(bindVerb="bind", ignorable=True))
    assert decision.result is Result.SCHEDULED
    (call,) = decision.extender_calls
    assert (call.error, call.ignored) == ("out of licences", True)


def test_entries_with_one_address_are_told_apart(
    new_scheduler: NewScheduler, extender: RunningExtender
) -> None:
    entry = {"urlPrefix": extender.url, "prioritizeVerb": "prioritize"}
    extender.answers("prioritize", [{"Host": "a", "Score": 1}])
    extenders = [{**entry, "weight": 1}, {**entry, "weight": 2}]
    scheduler = new_scheduler({"extenders": extenders, "profiles": UNSCORED})
    for name in "ab":
        scheduler.handle("Node", None, make_node(name).obj())
    assert decide(scheduler).scores_of("a") == {
        extender.url: (1, 10, 10),
        f"{extender.url} (2)": (1, 10, 20),
    }
