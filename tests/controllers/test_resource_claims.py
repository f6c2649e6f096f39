"""Pods with claims for devices: allocation, waiting, release and deletion, as a user sees it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.conftest import Body, Lab, pod

pytestmark = pytest.mark.django_db(transaction=True)


def devices(lab: Lab, *, nodes: int = 1) -> None:
    """One GPU on each node, and a class and a template for them."""
    expression = 'device.driver == "gpu.example.com"'
    selector = {"cel": {"expression": expression}}
    lab.create("DeviceClass", {"metadata": {"name": "gpu"}, "spec": {"selectors": [selector]}})
    for number in range(nodes):
        lab.node(f"n{number}")
        lab.create("ResourceSlice", _slice(f"n{number}"))
    lab.create(
        "ResourceClaimTemplate", {"metadata": {"name": "one-gpu"}, "spec": {"spec": _spec()}}
    )
    lab.settle()


def _slice(node: str) -> Body:
    attributes = {"model": {"string": "a100"}}
    return {
        "metadata": {"name": f"{node}-gpu"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0", "attributes": attributes}],
        },
    }


def _spec() -> Body:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def user(name: str, **reference: Any) -> Body:
    body = pod(name, resourceClaims=[{"name": "gpu", **reference}])
    body["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    return body


def message(lab: Lab, name: str) -> str:
    text: str = lab.condition("Pod", name, "PodScheduled").get("message", "")
    return text


def test_a_pod_waits_for_a_gpu_until_another_pod_frees_it(lab: Lab) -> None:
    devices(lab)
    lab.create("Pod", user("first", resourceClaimTemplateName="one-gpu"))
    lab.settle()
    first = lab.get("Pod", "first")
    assert first["status"]["phase"] == "Running"
    (generated,) = lab.all("ResourceClaim")
    name = generated["metadata"]["name"]
    assert name.startswith("first-gpu-")
    assert first["status"]["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": name}]
    (result,) = generated["status"]["allocation"]["devices"]["results"]
    assert (result["pool"], result["device"]) == ("n0", "gpu-0")
    assert [each["name"] for each in generated["status"]["reservedFor"]] == ["first"]
    assert generated["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]

    lab.create("Pod", user("second", resourceClaimTemplateName="one-gpu"))
    lab.settle()
    assert "cannot allocate all claims" in message(lab, "second")

    lab.delete("Pod", "first")
    lab.settle()
    lab.advance(60)
    assert not lab.exists("ResourceClaim", name)
    assert lab.get("Pod", "second")["status"]["phase"] == "Running"


def test_a_claim_of_the_user_is_released_and_stays(lab: Lab) -> None:
    devices(lab)
    lab.create("Pod", user("p", resourceClaimName="mine"))
    lab.settle()
    assert lab.get("Pod", "p")["status"]["phase"] == "Pending"
    lab.create("ResourceClaim", {"metadata": {"name": "mine"}, "spec": _spec()})
    lab.settle()
    assert lab.get("Pod", "p")["status"]["phase"] == "Running"
    lab.restart()
    lab.create("Pod", user("other", resourceClaimTemplateName="one-gpu"))
    lab.settle()
    assert "cannot allocate all claims" in message(lab, "other")
    lab.delete("Pod", "p")
    lab.settle()
    lab.advance(60)
    status = lab.get("ResourceClaim", "mine").get("status") or {}
    assert "allocation" not in status
    assert not status.get("reservedFor")
    assert lab.get("Pod", "other")["status"]["phase"] == "Running"


def test_a_device_is_never_given_to_two_pods(lab: Lab) -> None:
    devices(lab, nodes=3)
    for number in range(5):
        lab.create("Pod", user(f"p{number}", resourceClaimTemplateName="one-gpu"))
    lab.settle()
    phases = [each["status"]["phase"] for each in lab.all("Pod")]
    assert sorted(phases) == ["Pending"] * 2 + ["Running"] * 3
    taken = [
        (result["pool"], result["device"])
        for claim in lab.all("ResourceClaim")
        for result in claim.get("status", {})
        .get("allocation", {"devices": {}})["devices"]
        .get("results", ())  # noqa: E501  # fmt: skip
    ]
    assert len(taken) == len(set(taken)) == 3


def test_an_extended_resource_is_provided_by_a_device(lab: Lab) -> None:
    devices(lab)
    spec = {"extendedResourceName": "example.com/gpu"}
    lab.create("DeviceClass", {"metadata": {"name": "backing"}, "spec": spec})
    body = pod("p")
    amounts = {"example.com/gpu": "1"}
    body["spec"]["containers"][0]["resources"] |= {"limits": amounts}
    body["spec"]["containers"][0]["resources"]["requests"] |= amounts
    lab.create("Pod", body)
    lab.settle()
    status = lab.get("Pod", "p")["status"]
    assert status["phase"] == "Running"
    claim = lab.get("ResourceClaim", status["extendedResourceClaimStatus"]["resourceClaimName"])
    assert claim["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-0"
