"""Claims of PodGroups and devices that take resources of their node, as a user sees them."""

from __future__ import annotations

import pytest

from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.studies import rebuilding
from tests.controllers.conftest import Body, Lab, pod
from tests.engine.driving import configure

pytestmark = pytest.mark.django_db(transaction=True)
GATES = {
    "GenericWorkload": True,
    "GangScheduling": True,
    "DRAWorkloadResourceClaims": True,
    "DRANodeAllocatableResources": True,
}
ENTRY = {"name": "link", "resourceClaimTemplateName": "one-link"}


def provide(lab: Lab, **mapping: Body) -> None:
    """Two nodes, a device on each, and a template of claims for one device."""
    lab.create("DeviceClass", {"metadata": {"name": "link"}, "spec": {}})
    for name in ("n0", "n1"):
        lab.node(name, cpu="4")
        device = {"name": "d0", "nodeAllocatableResourceMappings": mapping}
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "link.example.com", "nodeName": name, "pool": pool, "devices": [device]}
        lab.create("ResourceSlice", {"metadata": {"name": name}, "spec": spec})
    exactly = {"deviceClassName": "link", "allocationMode": "ExactCount", "count": 1}
    wanted = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    template = {"metadata": {"name": "one-link"}, "spec": {"spec": wanted}}
    lab.create("ResourceClaimTemplate", template)
    lab.settle()


def user(name: str, *, cpu: str = "1", group: str = "") -> Body:
    spec: Body = {"resourceClaims": [ENTRY]}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    body = pod(name, **spec)
    container = body["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": cpu}, "claims": [{"name": "link"}]}
    return body


def check_rebuilding(lab: Lab) -> None:
    """Every decision is found again from the objects of its version."""
    rows = SchedulingDecision.objects.filter(cluster=lab.cluster).order_by("pk")
    assert rows
    for row in rows:
        assert rebuilding.compare(read(row).decision, rebuilding.recompute(row)) == []


def test_the_pods_of_a_group_share_a_claim_until_the_group_is_deleted(lab: Lab) -> None:
    configure(lab.cluster, featureGates=GATES)
    provide(lab)
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}, "resourceClaims": [ENTRY]}
    for number in range(3):
        lab.create("Pod", user(f"m{number}", group="train"))
    lab.settle()
    assert lab.all("ResourceClaim") == []
    lab.create("PodGroup", {"metadata": {"name": "train"}, "spec": spec})
    lab.settle()
    lab.advance(30)
    (claim,) = lab.all("ResourceClaim")
    name, group = claim["metadata"]["name"], lab.get("PodGroup", "train")
    assert name.startswith("train-link-")
    assert claim["metadata"]["annotations"] == {
        "resource.kubernetes.io/podgroup-claim-name": "link"
    }
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("PodGroup", "train")
    named = [{"name": "link", "resourceClaimName": name}]
    assert group["status"]["resourceClaimStatuses"] == named
    pods = [lab.get("Pod", f"m{number}") for number in range(3)]
    assert [each["status"]["resourceClaimStatuses"] for each in pods] == [named] * 3
    assert len({each["spec"]["nodeName"] for each in pods}) == 1
    (reserved,) = claim["status"]["reservedFor"]
    assert reserved == {
        "apiGroup": "scheduling.k8s.io",
        "resource": "podgroups",
        "name": "train",
        "uid": group["metadata"]["uid"],
    }
    for number in range(3):
        lab.delete("Pod", f"m{number}")
    lab.settle()
    assert lab.get("ResourceClaim", name)["status"]["reservedFor"] == [reserved]
    lab.delete("PodGroup", "train")
    lab.settle()
    lab.advance(60)
    assert lab.all("ResourceClaim") == [] and lab.all("PodGroup") == []
    check_rebuilding(lab)


def test_without_the_gate_the_fields_are_dropped_and_each_pod_has_a_claim(lab: Lab) -> None:
    configure(lab.cluster, featureGates={"GenericWorkload": True, "GangScheduling": True})
    provide(lab, cpu={"allocationMultiplier": "100"})
    (kept, _) = lab.all("ResourceSlice")
    assert kept["spec"]["devices"] == [{"name": "d0"}]
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}, "resourceClaims": [ENTRY]}
    lab.create("PodGroup", {"metadata": {"name": "train"}, "spec": spec})
    assert "resourceClaims" not in lab.get("PodGroup", "train")["spec"]
    for number in range(2):
        lab.create("Pod", user(f"m{number}", group="train"))
    lab.settle()
    lab.advance(30)
    reserved = [each["status"]["reservedFor"][0]["name"] for each in lab.all("ResourceClaim")]
    assert sorted(reserved) == ["m0", "m1"]


def test_devices_take_cpu_of_their_node(lab: Lab) -> None:
    configure(lab.cluster, featureGates=GATES)
    provide(lab, cpu={"allocationMultiplier": "2500m"})
    for name in ("a", "b"):
        lab.create("Pod", user(name))
    lab.settle()
    (first, second) = (lab.get("Pod", name) for name in ("a", "b"))
    assert {first["spec"]["nodeName"], second["spec"]["nodeName"]} == {"n0", "n1"}
    (taken,) = first["status"]["nodeAllocatableResourceClaimStatuses"]
    assert taken["resources"] == {"cpu": "2500m"}
    assert taken["containers"] == [first["spec"]["containers"][0]["name"]]
    assert taken["resourceClaimName"].startswith("a-link-")
    big = pod("big")
    big["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    lab.create("Pod", big)
    lab.settle()
    assert "2 Insufficient cpu" in lab.condition("Pod", "big", "PodScheduled")["message"]
    lab.delete("Pod", "a")
    lab.settle()
    lab.advance(60)
    assert lab.get("Pod", "big")["spec"]["nodeName"] == first["spec"]["nodeName"]
    check_rebuilding(lab)
