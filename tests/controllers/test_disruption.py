"""Disruption budgets count their pods, and evictions respect them."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.errors import TooManyRequests
from apps.cluster.writing.eviction import evict
from tests.controllers.conftest import ACTOR, Lab

pytestmark = pytest.mark.django_db(transaction=True)


def budget(lab: Lab, **spec: Any) -> None:
    selector = {"matchLabels": {"app": "web"}}
    body = {"metadata": {"name": "budget"}, "spec": {"selector": selector, **spec}}
    lab.create("PodDisruptionBudget", body)
    lab.settle()


def counts(lab: Lab) -> tuple[int, int, int, int]:
    status = lab.get("PodDisruptionBudget", "budget")["status"]
    return (
        status["expectedPods"],
        status["currentHealthy"],
        status["desiredHealthy"],
        status["disruptionsAllowed"],
    )


def web_pods(lab: Lab, count: int) -> None:
    lab.node("n1")
    for number in range(count):
        lab.pod(f"web-{number}", labels={"app": "web"})
    lab.settle()


def test_a_budget_counts_the_healthy_pods_it_selects(lab: Lab) -> None:
    web_pods(lab, 3)
    lab.pod("other")
    budget(lab, minAvailable=2)
    assert counts(lab) == (3, 3, 2, 1)
    assert lab.condition("PodDisruptionBudget", "budget", "DisruptionAllowed")["status"] == "True"


def test_an_eviction_the_budget_allows_is_followed_by_one_it_denies(lab: Lab) -> None:
    web_pods(lab, 3)
    budget(lab, minAvailable=2)
    evict(lab.cluster, "default", "web-0", actor=ACTOR)
    lab.settle()
    assert counts(lab)[1:] == (2, 2, 0)
    with pytest.raises(TooManyRequests, match="violate the pod's disruption budget"):
        evict(lab.cluster, "default", "web-1", actor=ACTOR)
    lab.pod("web-9", labels={"app": "web"})
    lab.settle()
    evict(lab.cluster, "default", "web-1", actor=ACTOR)


def test_pods_without_a_controller_do_not_count_for_a_percentage(lab: Lab) -> None:
    web_pods(lab, 3)
    budget(lab, maxUnavailable=1)
    condition = lab.condition("PodDisruptionBudget", "budget", "DisruptionAllowed")
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")
    (event,) = lab.events("UnmanagedPods")
    assert event["type"] == "Warning"
    assert event["source"] == {"component": "controllermanager"}
    assert event["message"].startswith(
        "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:"
        "map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found"
    )


def test_a_budget_without_pods_says_so(lab: Lab) -> None:
    budget(lab, minAvailable=1)
    (event,) = lab.events("NoPods")
    assert (event["type"], event["message"]) == ("Normal", "No matching pods found")


def test_a_pod_that_is_not_ready_is_not_healthy(lab: Lab) -> None:
    web_pods(lab, 2)
    budget(lab, minAvailable=1)
    assert counts(lab)[3] == 1
    lab.pod("web-pending", labels={"app": "web"}, cpu="100")
    lab.settle()
    assert counts(lab) == (3, 2, 1, 1)


def test_percentages_of_a_budget_round_up(lab: Lab) -> None:
    """Of 7 pods, 50 % available are 4, and 30 % unavailable are 3."""
    lab.node("n1")
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    selector = {"matchLabels": {"app": "web"}}
    spec = {"replicas": 7, "selector": selector, "template": template}
    lab.create("ReplicaSet", {"metadata": {"name": "web"}, "spec": spec})
    lab.settle()
    budget(lab, minAvailable="50%")
    assert counts(lab) == (7, 7, 4, 3)
    lab.delete("PodDisruptionBudget", "budget")
    budget(lab, maxUnavailable="30%")
    assert counts(lab) == (7, 7, 4, 3)
