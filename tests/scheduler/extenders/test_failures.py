"""Extenders that are away, slow, or talk nonsense: an error worded as upstream, nothing worse."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from apps.scheduler.decision import Decision, Result
from apps.scheduler.extenders.http import ExtenderConfigError
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.extenders.running import RunningExtender


def scheduler_with(new_scheduler: NewScheduler, url: str, **entry: Any) -> Scheduler:
    wanted = {"urlPrefix": url, "nodeCacheCapable": True, **entry}
    scheduler = new_scheduler({"extenders": [wanted]})
    for name in "ab":
        scheduler.handle("Node", None, make_node(name).obj())
    scheduler.handle("Pod", None, make_pod("p").obj())
    return scheduler


def decide(new_scheduler: NewScheduler, url: str, **entry: Any) -> Decision:
    decision = scheduler_with(new_scheduler, url, **entry).schedule_one()
    assert decision is not None
    return decision


def nobodys_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


def test_an_extender_that_is_away_fails_the_attempt(new_scheduler: NewScheduler) -> None:
    port = nobodys_port()
    scheduler = scheduler_with(new_scheduler, f"http://127.0.0.1:{port}", filterVerb="filter")
    decision = scheduler.schedule_one()
    assert decision is not None
    said = (
        f'Post "http://127.0.0.1:{port}/filter": '
        f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    )
    assert (decision.result, decision.message) == (Result.ERROR, said)
    assert decision.extender_calls[0].error == said
    assert len(scheduler.queue.contents.backoff_pods()) == 1


def test_an_extender_that_may_be_ignored_is(new_scheduler: NewScheduler) -> None:
    url = f"http://127.0.0.1:{nobodys_port()}"
    decision = decide(new_scheduler, url, filterVerb="filter", ignorable=True)
    assert decision.result is Result.SCHEDULED
    (call,) = decision.extender_calls
    assert call.ignored and "connection refused" in call.error


def test_without_its_scores_the_others_decide(new_scheduler: NewScheduler) -> None:
    url = f"http://127.0.0.1:{nobodys_port()}"
    decision = decide(new_scheduler, url, prioritizeVerb="prioritize", weight=100)
    assert decision.result is Result.SCHEDULED
    assert url not in decision.scores
    assert decision.extender_calls[0].ignored


@pytest.mark.parametrize("how", [{"held": True}, {"drip": 0.05}])
def test_an_answer_that_takes_too_long_is_not_waited_for(
    new_scheduler: NewScheduler, extender: RunningExtender, how: dict[str, Any]
) -> None:
    extender.answers("filter", {"NodeNames": ["a", "b"]}, **how)
    decision = decide(new_scheduler, extender.url, filterVerb="filter", httpTimeout="200ms")
    assert decision.message == (
        f'Post "{extender.url}/filter": '
        "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    )
    assert 0.15 < decision.extender_calls[0].nanoseconds / 1e9 < 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"body": "", "status": 500}, "failed filter with extender at URL {url}/filter, code 500"),
        ({"body": '{"Error": "no idea"}'}, "no idea"),
        ({"body": ""}, "EOF"),
        ({"body": "", "close": True}, 'Post "{url}/filter": EOF'),
        ({"body": "<html>"}, "the answer is not JSON: JSON is malformed: invalid character"),
        ({"body": "[1]"}, "cannot read the answer: Expected"),
        ({"body": '{"NodeNames": "a"}'}, "cannot read the answer: NodeNames: Expected"),
        (
            {"body": '{"NodeNames": ["z"]}'},
            'extender "{url}" claims a filtered node "z" which is not found in the input node list',
        ),
    ],
)
def test_nonsense_is_an_error_with_its_reason(
    new_scheduler: NewScheduler, extender: RunningExtender, answer: dict[str, Any], said: str
) -> None:
    extender.answers("filter", **answer)
    decision = decide(new_scheduler, extender.url, filterVerb="filter")
    assert decision.result is Result.ERROR
    assert decision.message.startswith(said.format(url=extender.url))


def test_null_means_nothing(new_scheduler: NewScheduler, extender: RunningExtender) -> None:
    extender.answers("filter", "null")
    decision = decide(new_scheduler, extender.url, filterVerb="filter")
    assert decision.result is Result.UNSCHEDULABLE
    assert decision.extender_calls[0].nodes_out == 0


def test_a_connection_the_extender_closed_is_not_used_again(
    new_scheduler: NewScheduler, extender: RunningExtender
) -> None:
    extender.answers("filter", "", close=True)
    scheduler = scheduler_with(new_scheduler, extender.url, filterVerb="filter", ignorable=True)
    assert scheduler.schedule_one() is not None
    extender.answers("filter", {"NodeNames": ["b"]})
    scheduler.handle("Pod", None, make_pod("q").obj())
    decision = scheduler.schedule_one()
    assert decision is not None and decision.node == "b"


@pytest.mark.parametrize("url", ["example.com/x", "ftp://example.com", "http://", "http://h:port"])
def test_an_address_that_cannot_be_used_is_refused_at_once(
    new_scheduler: NewScheduler, url: str
) -> None:
    with pytest.raises(ExtenderConfigError) as refused:
        new_scheduler({"extenders": [{"urlPrefix": url, "filterVerb": "filter"}]})
    assert refused.value.field == "extenders[0]"
