"""InterPodAffinity: which nodes are refused, and why."""

from __future__ import annotations

import pytest

from apps.scheduler.framework.events import QueueingHint
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Namespace, decode_as
from apps.scheduler.plugins.interpodaffinity.hints import hint_pod_changed
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder
from apps.scheduler.testing.trial import refusals
from tests.scheduler.cycle import add, attempt, explained
from tests.scheduler.plugins.affine_pods import HOST, NODES, ZONE, pod, term, wants

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"


def everywhere(reason: str, *nodes: str) -> dict[str, str]:
    return dict.fromkeys(nodes or ("a1", "a2", "b1", "plain"), reason)


@pytest.mark.parametrize(
    ("name", "incoming", "running", "refused"),
    [
        (
            "near a pod of the zone",
            wants(pod(), near=[term("web")]),
            [pod("r", "web").on("a1")],
            everywhere(AFFINITY, "b1", "plain"),
        ),
        (
            "near nobody",
            wants(pod(), near=[term("web")]),
            [pod("r", "db").on("a1")],
            everywhere(AFFINITY),
        ),
        (
            "the first of a group may go wherever there is a zone",
            wants(pod(app="web"), near=[term("web")]),
            [],
            everywhere(AFFINITY, "plain"),
        ),
        (
            "not the first, if one runs outside of all zones",
            wants(pod(app="web"), near=[term("web")]),
            [pod("r", "web").on("plain")],
            everywhere(AFFINITY, "plain"),
        ),
        (
            "one pod must match all terms",
            wants(pod(), near=[term("web"), term("db")]),
            [pod("r", "web").on("a1"), pod("q", "db").on("a2")],
            everywhere(AFFINITY),
        ),
        (
            "pods of another namespace are not asked for",
            wants(pod(), near=[term("web")]),
            [pod("r", "web", "other").on("a1")],
            everywhere(AFFINITY),
        ),
        (
            "unless it is named",
            wants(pod(), near=[term("web", namespaces=["other"])]),
            [pod("r", "web", "other").on("a1")],
            everywhere(AFFINITY, "b1", "plain"),
        ),
        (
            "or selected",
            wants(pod(), near=[term("web", namespaceSelector={"matchLabels": {"team": "x"}})]),
            [pod("r", "web", "other").on("a1")],
            everywhere(AFFINITY, "b1", "plain"),
        ),
        (
            "or selected by a selector that no labels match, too, as upstream",
            wants(
                pod(),
                near=[
                    term(
                        "web",
                        namespaceSelector={
                            "matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]
                        },
                    )
                ],
            ),
            [pod("r", "web", "other").on("a1")],
            everywhere(AFFINITY, "b1", "plain"),
        ),
        (
            "away from the zone of a pod",
            wants(pod(), away=[term("web")]),
            [pod("r", "web").on("a1")],
            everywhere(ANTI_AFFINITY, "a1", "a2"),
        ),
        (
            "away from the host of a pod",
            wants(pod(), away=[term("web", HOST)]),
            [pod("r", "web").on("a1")],
            everywhere(ANTI_AFFINITY, "a1"),
        ),
        (
            "a terminating pod is still kept away from",
            wants(pod(), away=[term("web", HOST)]),
            [pod("r", "web").on("a1").terminating()],
            everywhere(ANTI_AFFINITY, "a1"),
        ),
        (
            "the wish of the other counts as well",
            pod(app="web"),
            [wants(pod("r"), away=[term("web")]).on("b1")],
            everywhere(EXISTING, "b1"),
        ),
        (
            "but not if it is about other pods",
            pod(app="db"),
            [wants(pod("r"), away=[term("web")]).on("b1")],
            {},
        ),
        (
            "a term without a selector is about nobody",
            wants(pod(app="web"), away=[{"topologyKey": ZONE}]),
            [pod("r", "web").on("a1")],
            {},
        ),
        (
            "affinity is told before anti-affinity",
            wants(pod(), near=[term("web", HOST)], away=[term("db")]),
            [pod("r", "web").on("b1"), pod("q", "db").on("a1")],
            {"a1": AFFINITY, "a2": AFFINITY, "plain": AFFINITY},
        ),
    ],
)
def test_required_terms(
    scheduler: Scheduler,
    name: str,
    incoming: PodBuilder,
    running: list[PodBuilder],
    refused: dict[str, str],
) -> None:
    body = {"metadata": {"name": "other", "labels": {"team": "x"}}}
    scheduler.handle("Namespace", None, decode_as(Namespace, body))
    assert refusals(attempt(scheduler, incoming, *NODES, *running)) == refused


def test_a_namespace_that_changes_its_labels_is_selected_anew(scheduler: Scheduler) -> None:
    wanting = [term("web", namespaceSelector={"matchLabels": {"team": "x"}})]
    running = pod("r", "web", "other").on("a1")
    before = attempt(scheduler, wants(pod("p1"), near=wanting), *NODES, running)
    assert refusals(before) == everywhere(AFFINITY)
    body = {"metadata": {"name": "other", "labels": {"team": "x"}}}
    scheduler.handle("Namespace", None, decode_as(Namespace, body))
    after = attempt(scheduler, wants(pod("p2"), near=wanting))
    assert after.node in ("a1", "a2")


def test_the_group_follows_its_first_pod_before_anything_is_written(scheduler: Scheduler) -> None:
    first = attempt(scheduler, wants(pod("p1", "web"), near=[term("web")]), *NODES)
    second = attempt(scheduler, wants(pod("p2", "web"), near=[term("web")]))
    assert first.node[0] == second.node[0]


@pytest.fixture
def zones(scheduler: Scheduler) -> Scheduler:
    """Two nodes in zone a with two web pods, one in zone b."""
    add(scheduler, *NODES[:3], pod("big", "web").on("a1"), pod("small", "web").on("a1"))
    return scheduler


def test_a_term_that_nothing_meets_is_explained(zones: Scheduler) -> None:
    assert explained(zones, wants(pod(), near=[term("web")]), "b1") == [
        f"InterPodAffinity: affinity term 1 requires pods with app=web in the same {ZONE}: "
        "there are none in b"
    ]


def test_a_node_without_the_key_of_a_term_is_explained(zones: Scheduler) -> None:
    add(zones, NODES[3])
    assert explained(zones, wants(pod(), near=[term("web")]), "plain") == [
        f"InterPodAffinity: affinity term 1: the node has no label {ZONE}"
    ]


def test_the_pods_that_a_term_keeps_away_from_are_named(zones: Scheduler) -> None:
    assert explained(zones, wants(pod(), away=[term("web")]), "a2") == [
        "InterPodAffinity: anti-affinity term 1 excludes pods with app=web in the same "
        f"{ZONE}=a: default/big, default/small"
    ]


def test_pods_that_keep_others_away_are_named(zones: Scheduler) -> None:
    add(zones, wants(pod("loner"), away=[term("web")]).on("b1"))
    assert explained(zones, pod(app="web"), "b1") == [
        f"InterPodAffinity: pods in {ZONE}=b have anti-affinity to this pod: default/loner"
    ]


@pytest.mark.parametrize(
    ("apps", "hint"),
    [
        (["web"], QueueingHint.QUEUE),
        (["web", "db"], QueueingHint.QUEUE_SKIP),
        ([], QueueingHint.QUEUE_SKIP),
    ],
)
def test_the_end_of_a_pod_with_anti_affinity_is_a_reason_for_whom_all_its_terms_match(
    apps: list[str], hint: QueueingHint
) -> None:
    running = wants(pod("r").on("a1"), away=[term(app) for app in apps])
    waiting = PodInfo(pod(app="web").obj())
    assert hint_pod_changed(waiting, running.obj(), None) is hint
