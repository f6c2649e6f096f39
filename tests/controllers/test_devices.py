"""The mock driver, and evictions by the taints of devices."""

from __future__ import annotations

from typing import Any

import pytest

from apps.controllers.devices.templates import ANNOTATION
from apps.studies.explanations.pending_pods import explain_pod
from tests.controllers.conftest import Body, Lab, pod

pytestmark = pytest.mark.django_db(transaction=True)


def claim(name: str, count: int = 1, **toleration: Any) -> Body:
    exactly: Body = {"deviceClassName": name, "count": count}
    if toleration:
        exactly["tolerations"] = [toleration]
    return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}


def start(lab: Lab, name: str, spec: Body) -> None:
    lab.create("ResourceClaim", {"metadata": {"name": name}, "spec": spec})
    lab.create("Pod", pod(name, resourceClaims=[{"name": "c", "resourceClaimName": name}]))
    lab.settle()


def phase(lab: Lab, name: str) -> str:
    found: str = lab.get("Pod", name)["status"]["phase"]
    return found


def devices(lab: Lab, name: str) -> list[str]:
    allocation = lab.get("ResourceClaim", name)["status"].get("allocation") or {"devices": {}}
    return [each["device"] for each in allocation["devices"].get("results", ())]


def taint_all(lab: Lab, slice_name: str, *taints: Body) -> None:
    def change(body: Body) -> Body:
        listed = [{**each, "taints": list(taints)} for each in body["spec"]["devices"]]
        if not taints:
            listed = [{k: v for k, v in each.items() if k != "taints"} for each in listed]
        return {**body, "spec": {**body["spec"], "devices": listed}}

    lab.change("ResourceSlice", slice_name, change)
    lab.settle()


def events(lab: Lab, reason: str) -> list[str]:
    return [each.get("note") or each.get("message", "") for each in lab.events(reason)]


def test_the_driver_publishes_what_the_node_names_and_cleans_up(lab: Lab) -> None:
    lab.node("n0", annotations={ANNOTATION: "8-a100-mig, 4-nics, unknown"})
    lab.node("plain")
    lab.settle()
    names = {each["metadata"]["name"]: each["spec"] for each in lab.all("ResourceSlice")}
    assert sorted(names) == ["n0-gpu-0", "n0-gpu-1", "n0-gpu-counters", "n0-nic"]
    assert len(names["n0-gpu-0"]["devices"]) == len(names["n0-gpu-1"]["devices"]) == 52
    assert {each["metadata"]["name"] for each in lab.all("DeviceClass")} == {
        "gpu.example.com",
        "mig.example.com",
        "nic.example.com",
    }
    # a whole GPU and seven partitions of another one, then no eighth partition
    start(lab, "gpus", claim("gpu.example.com", 7))
    start(lab, "parts", claim("mig.example.com", 7))
    start(lab, "one-more", claim("mig.example.com"))
    assert devices(lab, "gpus") == [f"gpu-{index}" for index in range(7)]
    assert {name.split("-mig")[0] for name in devices(lab, "parts")} == {"gpu-7"}
    assert phase(lab, "one-more") == "Pending"

    lab.delete("ResourceSlice", "n0-nic")
    lab.settle()
    assert lab.exists("ResourceSlice", "n0-nic")

    def rename(body: Body) -> Body:
        metadata = {**body["metadata"], "annotations": {ANNOTATION: "4-nics"}}
        return {**body, "metadata": metadata}

    lab.change("Node", "n0", rename)
    lab.settle()
    assert [each["metadata"]["name"] for each in lab.all("ResourceSlice")] == ["n0-nic"]
    lab.delete("Node", "n0")
    lab.settle()
    assert lab.all("ResourceSlice") == []


def test_a_pod_keeps_its_node_until_its_devices_are_attached(lab: Lab) -> None:
    lab.node("n0", annotations={ANNOTATION: "2-fpgas"})
    lab.settle()
    start(lab, "p", claim("fpga.example.com"))
    assert phase(lab, "p") == "Pending"
    assert devices(lab, "p") == ["fpga-0"]
    waiting = events(lab, "BindingConditionsPending")
    assert waiting == ["waiting for binding conditions for device on node n0"]
    why = explain_pod(lab.cluster, "default", "p").why_pending
    assert why.startswith("It has node n0, and waits until the devices of claim p are ready")
    lab.advance(5)
    assert phase(lab, "p") == "Pending"
    lab.advance(30)
    assert phase(lab, "p") == "Running"
    (status,) = lab.get("ResourceClaim", "p")["status"]["devices"]
    assert status["device"] == "fpga-0"
    assert [each["status"] for each in status["conditions"]] == ["True"]


def test_a_no_execute_taint_of_a_device_evicts_its_pod(lab: Lab) -> None:
    lab.node("n0", annotations={ANNOTATION: "4-nics"})
    lab.settle()
    forever = {"key": "broken", "operator": "Exists"}
    start(lab, "brave", claim("nic.example.com", **forever))
    start(lab, "patient", claim("nic.example.com", **forever, tolerationSeconds=60))
    start(lab, "plain", claim("nic.example.com"))
    taint = {"key": "broken", "effect": "NoExecute"}
    taint_all(lab, "n0-nic", taint)
    stored = lab.get("ResourceSlice", "n0-nic")["spec"]["devices"][0]["taints"]
    assert stored == [{**taint, "timeAdded": lab.at(0)}]
    assert not lab.exists("Pod", "plain") or lab.get("Pod", "plain")["metadata"].get(
        "deletionTimestamp"
    )
    assert events(lab, "DeviceTaintManagerEviction") == ["Marking for deletion"]
    lab.advance(30)
    taint_all(lab, "n0-nic")
    assert "Cancelling deletion" in events(lab, "DeviceTaintManagerEviction")
    taint_all(lab, "n0-nic", taint)
    lab.advance(59)
    assert phase(lab, "patient") == "Running"
    lab.advance(2)
    lab.advance(60)
    assert not lab.exists("Pod", "patient")
    assert phase(lab, "brave") == "Running"


def report(lab: Lab, name: str, condition: str) -> None:
    """A condition of the only device of a claim, from its driver."""

    def change(body: Body) -> Body:
        (result,) = body["status"]["allocation"]["devices"]["results"]
        known = {key: result[key] for key in ("driver", "pool", "device")}
        reported = {"type": condition, "status": "True", "reason": "Broken", "message": "no link"}
        conditions = [{**reported, "lastTransitionTime": lab.at(0)}]
        return {
            **body,
            "status": {**body["status"], "devices": [{**known, "conditions": conditions}]},
        }

    lab.change("ResourceClaim", name, change, part="status")
    lab.settle()


def external_device(lab: Lab) -> None:
    """A device of a driver that is not here, with binding conditions."""
    selector = {"cel": {"expression": 'device.driver == "link.example.com"'}}
    lab.create("DeviceClass", {"metadata": {"name": "link"}, "spec": {"selectors": [selector]}})
    device = {
        "name": "link-0",
        "bindingConditions": ["example.com/ready"],
        "bindingFailureConditions": ["example.com/failed"],
    }
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "link.example.com", "nodeName": "n0", "pool": pool, "devices": [device]}
    lab.create("ResourceSlice", {"metadata": {"name": "n0-link"}, "spec": spec})
    lab.node("n0", cpu="1")


def test_while_it_waits_a_pod_takes_the_room_of_its_node(lab: Lab) -> None:
    external_device(lab)
    lab.create("ResourceClaim", {"metadata": {"name": "p"}, "spec": claim("link")})
    lab.create(
        "Pod", pod("p", cpu="800m", resourceClaims=[{"name": "c", "resourceClaimName": "p"}])
    )
    lab.settle()
    assert lab.get("Pod", "p")["status"]["nominatedNodeName"] == "n0"
    lab.create("Pod", pod("other", cpu="800m"))
    lab.settle()
    assert "Insufficient cpu" in lab.condition("Pod", "other", "PodScheduled")["message"]
    # a new process finds the pod and its reservation, and goes on waiting
    lab.restart()
    lab.advance(20)
    assert phase(lab, "p") == "Pending"
    report(lab, "p", "example.com/ready")
    lab.advance(15)
    assert phase(lab, "p") == "Running"
    assert len(lab.get("ResourceClaim", "p")["status"]["reservedFor"]) == 1


def test_a_failure_or_the_timeout_gives_the_devices_back(lab: Lab) -> None:
    external_device(lab)
    start(lab, "p", claim("link"))
    report(lab, "p", "example.com/failed")
    message = lab.condition("Pod", "p", "PodScheduled")["message"]
    assert 'claim p binding failed: reason=Broken, message="no link"' in message
    assert not lab.get("ResourceClaim", "p")["status"].get("reservedFor")
    lab.delete("Pod", "p")
    lab.delete("ResourceClaim", "p")
    lab.advance(60)
    start(lab, "late", claim("link"))
    assert devices(lab, "late") == ["link-0"]
    lab.advance(599)
    assert lab.get("ResourceClaim", "late")["status"]["reservedFor"]
    lab.advance(6)
    assert "device binding timeout" in " ".join(events(lab, "FailedScheduling"))
