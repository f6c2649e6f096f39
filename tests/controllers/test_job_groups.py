"""Jobs with the gate WorkloadWithJob: their pods are a gang."""

from __future__ import annotations

import pytest

from tests.controllers.conftest import Body, Lab
from tests.engine.driving import configure

pytestmark = pytest.mark.django_db(transaction=True)
GATES = {"GenericWorkload": True, "GangScheduling": True, "WorkloadWithJob": True}


def job(name: str, *, cpu: str = "1", **spec: object) -> Body:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    whole = {"parallelism": 3, "completions": 3, "completionMode": "Indexed"}
    return {"metadata": {"name": name}, "spec": {**whole, "template": template, **spec}}


def test_a_job_whose_pods_run_at_once_becomes_a_gang(lab: Lab) -> None:
    configure(lab.cluster, featureGates=GATES)
    lab.node("n0", cpu="2")
    lab.create("Job", job("train"))
    lab.create("Job", job("plain", cpu="100m", completions=5))
    lab.settle()
    (workload,) = lab.all("Workload")
    (group,) = lab.all("PodGroup")
    assert workload["spec"]["controllerRef"]["name"] == "train"
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 3}}
    assert [each["kind"] for each in group["metadata"]["ownerReferences"]] == ["Job", "Workload"]
    name = group["metadata"]["name"]
    members = [each for each in lab.all("Pod") if each["spec"].get("schedulingGroup")]
    assert {each["spec"]["schedulingGroup"]["podGroupName"] for each in members} == {name}
    assert len(members) == 3 and not any(each["spec"].get("nodeName") for each in members)
    notes = [each["message"] for each in lab.events("WorkloadCreated")]
    assert notes == [f"Created Workload {workload['metadata']['name']} for Job train"]
    lab.node("n1", cpu="2")
    lab.settle()
    lab.advance(60)
    members = [each for each in lab.all("Pod") if each["spec"].get("schedulingGroup")]
    assert all(each["spec"].get("nodeName") for each in members)
    lab.delete("Job", "train", propagationPolicy="Background")
    lab.settle()
    lab.advance(60)
    assert lab.all("PodGroup") == [] and lab.all("Workload") == []


def test_without_the_gate_a_job_has_no_group(lab: Lab) -> None:
    configure(lab.cluster, featureGates=GATES | {"WorkloadWithJob": False})
    lab.node("n0")
    lab.create("Job", job("train"))
    lab.settle()
    assert lab.all("PodGroup") == []
    assert len(lab.all("Pod")) == 3
