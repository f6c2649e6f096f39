"""Conditions of a node determine its taints."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.conftest import Lab

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def node(lab: Lab) -> str:
    lab.node("n1")
    lab.settle()
    return "n1"


@pytest.mark.parametrize(
    ("condition", "status", "taints"),
    [
        ("Ready", "False", {"not-ready:NoSchedule", "not-ready:NoExecute"}),
        ("Ready", "Unknown", {"unreachable:NoSchedule", "unreachable:NoExecute"}),
        ("MemoryPressure", "True", {"memory-pressure:NoSchedule"}),
        ("DiskPressure", "True", {"disk-pressure:NoSchedule"}),
        ("PIDPressure", "True", {"pid-pressure:NoSchedule"}),
        ("NetworkUnavailable", "True", {"network-unavailable:NoSchedule"}),
    ],
)
def test_a_condition_taints_its_node_while_it_lasts(
    lab: Lab, node: str, condition: str, status: str, taints: set[str]
) -> None:
    lab.set_condition(node, condition, status)
    lab.settle()
    assert lab.taints(node) == {f"node.kubernetes.io/{taint}" for taint in taints}
    lab.set_condition(node, condition, "True" if condition == "Ready" else "False")
    lab.settle()
    assert lab.taints(node) == set()


def test_a_cordoned_node_is_tainted_and_its_other_taints_stay(lab: Lab, node: str) -> None:
    own = {"key": "example.com/own", "value": "x", "effect": "NoSchedule"}

    def cordon(on: bool) -> Any:
        spec = {"unschedulable": on}
        return lambda n: {**n, "spec": {"taints": [own, *n["spec"].get("taints", [])], **spec}}

    lab.change("Node", node, cordon(True))
    lab.settle()
    assert lab.taints(node) == {
        "example.com/own:NoSchedule",
        "node.kubernetes.io/unschedulable:NoSchedule",
    }
    lab.change("Node", node, lambda n: {**n, "spec": {**n["spec"], "unschedulable": False}})
    lab.settle()
    assert lab.taints(node) == {"example.com/own:NoSchedule"}


def test_a_taint_says_when_it_was_added(lab: Lab, node: str) -> None:
    lab.advance(60)
    lab.set_condition(node, "Ready", "False")
    lab.settle()
    lab.advance(60)
    taints = lab.get("Node", node)["spec"]["taints"]
    assert {taint["timeAdded"] for taint in taints} == {lab.at(60)}
    # another taint does not restart the time of the present ones
    lab.set_condition(node, "MemoryPressure", "True")
    lab.settle()
    added = {t["key"]: t["timeAdded"] for t in lab.get("Node", node)["spec"]["taints"]}
    assert added == {
        "node.kubernetes.io/not-ready": lab.at(60),
        "node.kubernetes.io/memory-pressure": lab.at(120),
    }
