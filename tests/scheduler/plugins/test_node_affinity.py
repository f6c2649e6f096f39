"""NodeAffinity: nodeSelector, required and preferred terms, and what a profile adds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from apps.scheduler.cache.cache import Cache
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from apps.scheduler.testing.trial import refusals
from tests.scheduler import reference
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt, explained, with_args
from tests.scheduler.plugins.random_nodes import clusters, filtered, node_of, pods


@pytest.mark.parametrize(
    ("pod", "node", "reasons"),
    [
        pytest.param(
            make_pod().node_selector({"disk": "ssd"}),
            make_node("n"),
            ["node(s) didn't match Pod's node affinity/selector"],
            id="label missing",
        ),
        pytest.param(
            make_pod().node_affinity_in("disk", "hdd", "ssd"),
            make_node("n").label("disk", "ssd"),
            [],
            id="affinity to this value",
        ),
        pytest.param(
            make_pod().node_names("m"),
            make_node("n"),
            ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
            id="affinity by name to another node",
        ),
    ],
)
def test_a_node_must_match_the_selector_and_the_required_terms(
    scheduler: Scheduler, pod: PodBuilder, node: NodeBuilder, reasons: list[str]
) -> None:
    status = attempt(scheduler, pod, node).status_of("n")
    assert list(status.reasons if status is not None else ()) == reasons


def test_terms_about_names_that_exclude_each_other_refuse_every_node(
    scheduler: Scheduler,
) -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [each]} for each in "ab"]
    pod = make_pod().node_affinity({"matchFields": fields})
    decision = attempt(scheduler, pod, make_node("a"), make_node("b"))
    assert decision.pre_filter.reasons == ("pod affinity terms conflict",)
    assert decision.filter_message == "0/2 nodes are available: pod affinity terms conflict."


def test_every_entry_of_the_selector_that_is_not_met_is_explained(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n").label("disk", "hdd"))
    assert explained(scheduler, make_pod().node_selector({"disk": "ssd", "gen": "3"})) == [
        "NodeAffinity: the node selector requires disk=ssd: the node has disk=hdd",
        "NodeAffinity: the node selector requires gen=3: the node has no label gen",
    ]


def test_every_requirement_that_fails_is_explained(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n").label("disk", "hdd"))
    assert explained(scheduler, make_pod().node_affinity_in("disk", "ssd", "nvme")) == [
        "NodeAffinity: required node affinity, term 1: requires disk In (ssd, nvme): "
        "the node has disk=hdd"
    ]


def test_preferred_affinity_adds_weights(scheduler: Scheduler) -> None:
    decision = attempt(
        scheduler,
        make_pod().prefers_in(10, "disk", "ssd").prefers_in(30, "zone", "a"),
        make_node("both").labels({"disk": "ssd", "zone": "a"}),
        make_node("disk").label("disk", "ssd"),
        make_node("neither"),
    )
    scores = [decision.scores_of(node)["NodeAffinity"] for node in ("both", "disk", "neither")]
    assert scores == [(40, 100, 200), (10, 25, 50), (0, 0, 0)]


def test_added_affinity_holds_for_every_pod_of_the_profile(new_scheduler: NewScheduler) -> None:
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["web"]}]}
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    scheduler = new_scheduler(with_args("NodeAffinity", addedAffinity=added))
    decision = attempt(scheduler, make_pod(), make_node("n"), make_node("w").label("pool", "web"))
    assert decision.node == "w"
    assert refusals(decision) == {"n": "node(s) didn't match scheduler-enforced node affinity"}


@settings(max_examples=50, deadline=None)
@given(cache=clusters(), pod=pods())
def test_the_filter_agrees_with_the_reference(cache: Cache, pod: PodInfo) -> None:
    for info, status in filtered("NodeAffinity", cache, pod):
        assert (status is None) is reference.node_affinity_matches(pod, node_of(info))
