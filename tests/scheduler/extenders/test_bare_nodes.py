"""Nodes that an extender sends back as objects are scored without their pods and images."""

from __future__ import annotations

import pytest

from apps.scheduler.decision import Decision
from apps.scheduler.explaining.evaluation import evaluate
from apps.scheduler.explaining.scores import ScoredEvaluation
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from apps.scheduler.testing.trial import scores
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add
from tests.scheduler.extenders.running import RunningExtender

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def web(name: str) -> PodBuilder:
    pod = make_pod(name).label("app", "web").req(cpu="1", memory="1Gi").image("i:1")
    for key in (ZONE, HOSTNAME):
        pod.spread(key, {"app": "web"}, when_unsatisfiable="ScheduleAnyway")
    return pod


@pytest.fixture
def decide(new_scheduler: NewScheduler, extender: RunningExtender):
    """Three nodes of one zone each: two pods and the image on a, one pod on b, nothing on c."""

    def decide(answer: object, **entry: object) -> tuple[Decision, ScoredEvaluation]:
        extender.answers("filter", answer)
        url = {"urlPrefix": extender.url, "filterVerb": "filter"}
        scheduler = new_scheduler({"extenders": [{**url, **entry}]})
        for name in "abc":
            node = make_node(name).capacity(cpu="4", memory="8Gi").label(ZONE, f"zone-{name}")
            if name == "a":
                node.image(500_000_000, "i:1")
            add(scheduler, node.label(HOSTNAME, name))
        add(scheduler, web("r1").on("a"), web("r2").on("a"), web("r3").on("b"))
        pod = web("p")
        add(scheduler, pod)
        decision = scheduler.schedule_one()
        assert decision is not None
        return decision, ScoredEvaluation(evaluate(scheduler, PodInfo(pod.obj())), decision)

    return decide


OBJECTS = {"Nodes": {"items": [{"metadata": {"name": name}} for name in "abc"]}}


def test_nodes_sent_back_are_scored_as_if_they_were_empty(decide):
    """The figures are kube-scheduler's."""
    decision, _ = decide(OBJECTS)
    assert decision.scores_bare_nodes
    assert scores(decision, "NodeResourcesFit") == dict.fromkeys("abc", (81, 81, 81))
    assert scores(decision, "NodeResourcesBalancedAllocation") == dict.fromkeys("abc", (71, 71, 71))
    assert scores(decision, "ImageLocality") == dict.fromkeys("abc", (0, 0, 0))
    assert scores(decision, "PodTopologySpread") == {
        "a": (3, 0, 0),
        "b": (2, 33, 66),
        "c": (0, 100, 200),
    }


def test_names_leave_the_nodes_as_they_are(decide):
    decision, _ = decide({"NodeNames": ["a", "b", "c"]}, nodeCacheCapable=True)
    assert not decision.scores_bare_nodes
    assert [scores(decision, "NodeResourcesFit")[name][0] for name in "abc"] == [43, 62, 81]
    assert scores(decision, "ImageLocality")["a"][0] == 13


def test_an_explanation_says_why_scores_are_those_of_an_empty_node(decide):
    _, evaluation = decide(OBJECTS)
    assert "scored as if it had no pods" in evaluation.inputs("a", "NodeResourcesFit").gap
    assert evaluation.inputs("c", "NodeResourcesFit").inputs == ()
