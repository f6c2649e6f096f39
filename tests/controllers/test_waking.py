"""Which pending pods an event moves to the active queue, observed by their attempts."""

from __future__ import annotations

import pytest

from apps.engine.models import SchedulingDecision
from tests.controllers.conftest import Body, Lab

pytestmark = pytest.mark.django_db(transaction=True)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def attempts(lab: Lab, name: str) -> int:
    return SchedulingDecision.objects.filter(cluster=lab.cluster, name=name).count()


def node_of(lab: Lab, name: str) -> str:
    return str(lab.get("Pod", name)["spec"].get("nodeName", ""))


def label(lab: Lab, node: str, key: str, value: str) -> None:
    def change(body: Body) -> Body:
        metadata = body["metadata"]
        return {**body, "metadata": {**metadata, "labels": {**metadata["labels"], key: value}}}

    lab.change("Node", node, change)
    lab.settle()


def test_a_pod_that_waits_for_a_partner_wakes_when_the_partner_is_assigned(lab: Lab) -> None:
    lab.node("n1")
    term = {
        "labelSelector": {"matchLabels": {"app": "db"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    lab.pod("web", affinity={"podAffinity": {REQUIRED: [term]}})
    lab.pod("big", cpu="100")
    lab.settle()
    assert (attempts(lab, "web"), node_of(lab, "web")) == (1, "")
    # an unrelated pod does not help it
    lab.pod("other", labels={"app": "cache"})
    lab.settle()
    assert attempts(lab, "web") == 1
    lab.pod("db", labels={"app": "db"})
    lab.settle()
    lab.advance(2)
    assert (attempts(lab, "web"), node_of(lab, "web")) == (2, "n1")
    assert attempts(lab, "big") == 1


def test_a_label_of_a_node_wakes_only_the_pods_it_can_help(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("wants-ssd", nodeSelector={"disk": "ssd"})
    lab.pod("wants-gpu", nodeSelector={"accelerator": "gpu"})
    lab.pod("too-big", cpu="100")
    lab.settle()
    label(lab, "n1", "disk", "ssd")
    lab.advance(2)
    assert node_of(lab, "wants-ssd") == "n1"
    assert {name: attempts(lab, name) for name in ("wants-gpu", "too-big")} == {
        "wants-gpu": 1,
        "too-big": 1,
    }
