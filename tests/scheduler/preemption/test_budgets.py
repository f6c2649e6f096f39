"""Which evictions break a PodDisruptionBudget."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.cache.lister import Lister
from apps.scheduler.objects import PodDisruptionBudget, decode_as
from apps.scheduler.preemption.budgets import Budgets
from apps.scheduler.testing.builders import make_pod

WEB = {"matchLabels": {"app": "web"}}
PODS = [make_pod(f"web-{number}").label("app", "web").info() for number in range(3)]


def budget(
    selector: Any = WEB, *, name: str = "b", namespace: str = "default", **status: Any
) -> PodDisruptionBudget:
    body = {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selector},
        "status": status,
    }
    return decode_as(PodDisruptionBudget, body)


def budgets(*listed: PodDisruptionBudget) -> Budgets:
    lister: Lister[PodDisruptionBudget] = Lister()
    for each in listed:
        lister.put(each)
    return Budgets(lister)


def test_evictions_beyond_what_is_allowed_break_the_budget() -> None:
    assert budgets(budget(disruptionsAllowed=1)).violating(PODS) == [False, True, True]


def test_a_pod_breaks_a_budget_if_one_of_several_has_nothing_left() -> None:
    generous, strict = budget(name="a", disruptionsAllowed=9), budget(name="b")
    assert budgets(generous, strict).violating(PODS) == [True, True, True]


def test_a_disruption_that_was_granted_already_is_not_counted_again() -> None:
    granted = budget(disruptionsAllowed=1, disruptedPods={"web-0": "2026-01-01T00:00:00Z"})
    assert budgets(granted).violating(PODS) == [False, False, True]


@pytest.mark.parametrize(
    "other",
    [
        budget(None),
        budget({}),
        budget({"matchExpressions": [{"key": "app", "operator": "Near", "values": ["web"]}]}),
        budget({"matchLabels": {"app": "db"}}),
        budget(namespace="elsewhere"),
    ],
    ids=["no selector", "empty selector", "unreadable selector", "other labels", "namespace"],
)
def test_a_budget_that_does_not_cover_the_pods_is_not_broken(other: PodDisruptionBudget) -> None:
    assert budgets(other).violating(PODS) == [False, False, False]


def test_a_pod_without_labels_is_covered_by_no_budget() -> None:
    everything = budget({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]})
    assert budgets(everything).violating([make_pod().info()]) == [False]


def test_a_changed_budget_is_seen() -> None:
    lister: Lister[PodDisruptionBudget] = Lister()
    known = Budgets(lister)
    assert known.violating(PODS) == [False, False, False]
    lister.put(budget(disruptionsAllowed=2))
    assert known.violating(PODS) == [False, False, True]
    lister.remove(budget())
    assert known.violating(PODS) == [False, False, False]
