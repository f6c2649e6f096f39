"""Running pods resized in place, by their subresource."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.errors import Invalid
from apps.engine.models import QueueMove
from tests.controllers.conftest import Lab

pytestmark = pytest.mark.django_db(transaction=True)


def resize(lab: Lab, name: str, **requests: str) -> None:
    def change(body: Any) -> Any:
        (container,) = body["spec"]["containers"]
        resized = {**container, "resources": {"requests": requests}}
        return {**body, "spec": {**body["spec"], "containers": [resized]}}

    lab.change("Pod", name, change, part="resize")
    lab.settle()


def test_a_pod_that_is_resized_down_makes_room_for_others(lab: Lab) -> None:
    lab.node("n1", cpu="4")
    lab.pod("large", cpu="3")
    lab.settle()
    lab.pod("next", cpu="2")
    lab.settle()
    assert "nodeName" not in lab.get("Pod", "next")["spec"]
    resize(lab, "large", cpu="1")
    large = lab.get("Pod", "large")
    (status,) = large["status"]["containerStatuses"]
    assert status["allocatedResources"] == {"cpu": "1"}
    assert status["resources"] == {"requests": {"cpu": "1"}}
    assert large["metadata"]["generation"] == 2
    lab.advance(11)
    assert lab.get("Pod", "next")["spec"]["nodeName"] == "n1"
    moves = QueueMove.objects.filter(name="next", source="unschedulable")
    assert list(moves.values_list("event", flat=True)) == ["AssignedPodUpdatePodScaleDown"]


def test_a_resize_waits_for_room_or_is_infeasible(lab: Lab) -> None:
    lab.node("n1", cpu="4")
    for name in ("a", "b"):
        lab.pod(name, cpu="2")
    lab.settle()
    resize(lab, "a", cpu="3")
    pending = lab.condition("Pod", "a", "PodResizePending")
    assert (pending["reason"], pending["message"]) == (
        "Deferred",
        "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000",
    )
    (status,) = lab.get("Pod", "a")["status"]["containerStatuses"]
    assert status["allocatedResources"] == {"cpu": "2"}
    lab.delete("Pod", "b", gracePeriodSeconds=0)
    lab.advance(10)
    assert not lab.condition("Pod", "a", "PodResizePending")
    (status,) = lab.get("Pod", "a")["status"]["containerStatuses"]
    assert status["allocatedResources"] == {"cpu": "3"}
    resize(lab, "a", cpu="5")
    assert lab.condition("Pod", "a", "PodResizePending")["reason"] == "Infeasible"


def test_a_resize_changes_neither_other_resources_nor_the_quality_of_service(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    with pytest.raises(Invalid, match="Pod QOS Class may not change as a result of resizing"):
        resize(lab, "p")
    with pytest.raises(Invalid, match="only cpu and memory resources are mutable"):
        resize(lab, "p", cpu="1", **{"ephemeral-storage": "1Gi"})
    before = lab.get("Pod", "p")
    lab.change("Pod", "p", lambda body: {**body, "metadata": {"name": "p"}}, part="resize")
    assert lab.get("Pod", "p")["metadata"].get("labels") == before["metadata"].get("labels")
