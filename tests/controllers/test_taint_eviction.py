"""NoExecute taints evict pods at the documented times."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.conftest import Lab

pytestmark = pytest.mark.django_db(transaction=True)


def taint(lab: Lab, *keys: str) -> None:
    taints = [{"key": key, "effect": "NoExecute"} for key in keys]
    lab.change("Node", "n1", lambda n: {**n, "spec": {**n["spec"], "taints": taints}})
    lab.settle()


def tolerating(key: str, seconds: int | None = None) -> dict[str, Any]:
    limit = {} if seconds is None else {"tolerationSeconds": seconds}
    return {"key": key, "operator": "Exists", "effect": "NoExecute", **limit}


def running_pod(lab: Lab, **spec: Any) -> None:
    lab.node("n1")
    lab.pod("p", **spec)
    lab.settle()
    assert lab.get("Pod", "p")["status"]["phase"] == "Running"


def is_leaving(lab: Lab, name: str = "p") -> bool:
    return "deletionTimestamp" in lab.get("Pod", name)["metadata"]


def test_a_pod_that_tolerates_a_taint_for_3600_seconds_leaves_then_and_not_before(
    lab: Lab,
) -> None:
    running_pod(lab, tolerations=[tolerating("key1", 3600)])
    lab.advance(100)
    taint(lab, "key1")
    lab.advance(3599)
    assert not is_leaving(lab)
    lab.advance(1)
    assert is_leaving(lab)
    condition = lab.condition("Pod", "p", "DisruptionTarget")
    assert condition["reason"] == "DeletionByTaintManager"
    assert condition["message"] == "Taint manager: deleting due to NoExecute taint"
    (event,) = lab.events("TaintManagerEviction")
    assert event["message"] == "Marking for deletion Pod default/p"
    assert event["source"]["component"] == "taint-eviction-controller"
    lab.advance(30)
    assert not lab.exists("Pod", "p")


def test_a_pod_that_does_not_tolerate_the_taint_leaves_at_once(lab: Lab) -> None:
    running_pod(lab)
    taint(lab, "key1")
    assert is_leaving(lab)


def test_a_pod_that_tolerates_it_without_limit_stays(lab: Lab) -> None:
    running_pod(lab, tolerations=[tolerating("key1")])
    taint(lab, "key1")
    lab.advance(10**6)
    assert not is_leaving(lab)


def test_when_the_taint_goes_in_time_the_pod_stays(lab: Lab) -> None:
    running_pod(lab, tolerations=[tolerating("key1", 60)])
    taint(lab, "key1")
    lab.advance(59)
    taint(lab)
    (event,) = lab.events("TaintManagerEviction")
    assert event["message"] == "Cancelling deletion of Pod default/p"
    assert event["involvedObject"]["name"] == "p"
    lab.advance(3600)
    assert not is_leaving(lab)


def test_of_several_tolerations_the_shortest_counts(lab: Lab) -> None:
    running_pod(lab, tolerations=[tolerating("key1", 600), tolerating("key2", 60)])
    taint(lab, "key1", "key2")
    lab.advance(59)
    assert not is_leaving(lab)
    lab.advance(1)
    assert is_leaving(lab)


def test_a_taint_that_is_added_later_does_not_bring_the_end_forward(lab: Lab) -> None:
    running_pod(lab, tolerations=[tolerating("key1", 600), tolerating("key2", 60)])
    taint(lab, "key1")
    lab.advance(10)
    taint(lab, "key1", "key2")
    lab.advance(100)
    assert not is_leaving(lab)
    lab.advance(490)
    assert is_leaving(lab)


def test_a_taint_that_is_not_tolerated_cancels_the_time_that_was_left(lab: Lab) -> None:
    running_pod(lab, tolerations=[tolerating("key1", 600)])
    taint(lab, "key1")
    taint(lab, "key1", "key2")
    assert is_leaving(lab)
    told = [each["message"].split()[0] for each in lab.events("TaintManagerEviction")]
    assert sorted(told) == ["Cancelling", "Marking"]


def test_a_node_going_not_ready_loses_its_pods_after_300_seconds_and_for_good(lab: Lab) -> None:
    running_pod(lab)
    lab.set_condition("n1", "Ready", "False")
    lab.settle()
    lab.advance(299)
    assert not is_leaving(lab)
    lab.advance(1)
    assert is_leaving(lab)
    lab.set_condition("n1", "Ready", "True")
    lab.advance(3600)
    assert not lab.exists("Pod", "p") and lab.all("Pod") == []


def test_the_deadline_survives_a_restart(lab: Lab) -> None:
    running_pod(lab, tolerations=[tolerating("key1", 3600)])
    taint(lab, "key1")
    lab.advance(3000)
    lab.restart()
    lab.advance(599)
    assert not is_leaving(lab)
    lab.restart()
    lab.advance(1)
    assert is_leaving(lab)


def test_a_pod_that_came_later_counts_from_its_binding(lab: Lab) -> None:
    lab.node("n1")
    taint(lab, "key1")
    lab.advance(1000)
    lab.pod("p", tolerations=[tolerating("key1", 60)])
    lab.settle()
    lab.advance(59)
    assert not is_leaving(lab)
    lab.advance(1)
    assert is_leaving(lab)


def test_of_several_tolerations_of_a_taint_the_least_time_counts(lab: Lab) -> None:
    forever = tolerating("key1")
    running_pod(lab, tolerations=[tolerating("key1", 300), forever, tolerating("key1", 60)])
    taint(lab, "key1")
    lab.advance(59)
    assert not is_leaving(lab)
    lab.advance(1)
    assert is_leaving(lab)
