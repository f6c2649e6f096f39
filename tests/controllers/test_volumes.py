"""Binding, provisioning and reclaiming of volumes."""

from __future__ import annotations

from typing import Any

import pytest

from apps.engine.loop import clock, scheduling
from tests.controllers.conftest import Body, Lab, pod

pytestmark = pytest.mark.django_db(transaction=True)


def storage_class(lab: Lab, *, waits: bool = False, provisioner: str = "mock.csi") -> None:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    lab.create(
        "StorageClass",
        {"metadata": {"name": "disk"}, "provisioner": provisioner, "volumeBindingMode": mode},
    )


def claim(lab: Lab, name: str = "data", size: str = "5Gi") -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "resources": {"requests": {"storage": size}},
    }
    lab.create("PersistentVolumeClaim", {"metadata": {"name": name}, "spec": spec})


def volume(lab: Lab, name: str, size: str, **spec: Any) -> None:
    body = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "hostPath": {"path": "/data"},
        **spec,
    }
    lab.create("PersistentVolume", {"metadata": {"name": name}, "spec": body})


def user(lab: Lab, name: str = "p") -> None:
    mount = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    lab.create("Pod", pod(name, volumes=[mount]))
    lab.settle()


def phases(lab: Lab) -> dict[str, str]:
    return {each["metadata"]["name"]: each["status"]["phase"] for each in lab.all(VOLUME)}


def bound(lab: Lab, name: str = "data") -> Body:
    found = lab.get("PersistentVolumeClaim", name)
    assert found["status"]["phase"] == "Bound"
    return found


VOLUME = "PersistentVolume"


def test_a_claim_gets_the_smallest_matching_volume(lab: Lab) -> None:
    storage_class(lab, provisioner="kubernetes.io/no-provisioner")
    for name, size in (("small", "1Gi"), ("right", "6Gi"), ("big", "50Gi")):
        volume(lab, name, size)
    claim(lab)
    lab.settle()
    assert bound(lab)["spec"]["volumeName"] == "right"
    assert bound(lab)["status"]["capacity"] == {"storage": "6Gi"}
    assert phases(lab) == {"small": "Available", "right": "Bound", "big": "Available"}


def test_two_claims_never_get_one_volume(lab: Lab) -> None:
    storage_class(lab, provisioner="kubernetes.io/no-provisioner")
    for name in ("one", "two"):
        volume(lab, name, "5Gi")
    claim(lab, "a")
    claim(lab, "b")
    lab.settle()
    assert {bound(lab, name)["spec"]["volumeName"] for name in "ab"} == {"one", "two"}


def test_a_volume_is_provisioned_if_none_matches(lab: Lab) -> None:
    storage_class(lab)
    claim(lab)
    lab.settle()
    made = lab.get(VOLUME, bound(lab)["spec"]["volumeName"])
    assert made["spec"]["csi"]["driver"] == "mock.csi"
    assert made["spec"]["capacity"] == {"storage": "5Gi"}


def test_a_claim_that_waits_gets_its_volume_in_the_zone_of_its_first_user(lab: Lab) -> None:
    storage_class(lab, waits=True)
    claim(lab)
    lab.node("n1")
    lab.settle()
    assert lab.get("PersistentVolumeClaim", "data")["status"]["phase"] == "Pending"
    user(lab)
    assert lab.get("Pod", "p")["status"]["phase"] == "Running"
    made = lab.get(VOLUME, bound(lab)["spec"]["volumeName"])
    term = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]
    assert term["matchExpressions"][0]["values"] == ["zone-1"]


def test_a_claim_that_waits_gets_the_volume_that_the_scheduler_chose(lab: Lab) -> None:
    storage_class(lab, waits=True, provisioner="kubernetes.io/no-provisioner")
    volume(lab, "local", "5Gi")
    claim(lab)
    lab.node("n1")
    lab.settle()
    user(lab)
    assert bound(lab)["spec"]["volumeName"] == "local"
    assert lab.get("Pod", "p")["status"]["phase"] == "Running"


def test_a_pod_is_scheduled_once_its_claim_is_bound(lab: Lab) -> None:
    storage_class(lab, provisioner="kubernetes.io/no-provisioner")
    claim(lab)
    lab.node("n1")
    user(lab)
    assert "nodeName" not in lab.get("Pod", "p")["spec"]
    volume(lab, "late", "5Gi")
    lab.settle()
    lab.advance(10)
    assert lab.get("Pod", "p")["status"]["phase"] == "Running"


def test_a_claim_in_use_stays_until_its_pod_is_deleted(lab: Lab) -> None:
    storage_class(lab)
    claim(lab)
    lab.node("n1")
    lab.settle()
    user(lab)
    lab.delete("PersistentVolumeClaim", "data")
    lab.settle()
    assert lab.exists("PersistentVolumeClaim", "data")
    lab.delete("Pod", "p", gracePeriodSeconds=0)
    lab.settle()
    assert not lab.exists("PersistentVolumeClaim", "data")


@pytest.mark.parametrize(
    ("policy", "left"),
    [("Delete", {}), ("Retain", {"v": "Released"}), ("Recycle", {"v": "Available"})],
)
def test_a_volume_without_its_claim_is_reclaimed(
    lab: Lab, policy: str, left: dict[str, str]
) -> None:
    storage_class(lab, provisioner="kubernetes.io/no-provisioner")
    volume(lab, "v", "5Gi", persistentVolumeReclaimPolicy=policy)
    claim(lab)
    lab.settle()
    assert phases(lab) == {"v": "Bound"}
    lab.delete("PersistentVolumeClaim", "data")
    lab.settle()
    assert phases(lab) == left


def test_a_deleted_bound_volume_stays_until_its_claim_is_deleted(lab: Lab) -> None:
    storage_class(lab)
    claim(lab)
    lab.settle()
    name = bound(lab)["spec"]["volumeName"]
    lab.delete(VOLUME, name)
    lab.settle()
    assert lab.exists(VOLUME, name)
    lab.delete("PersistentVolumeClaim", "data")
    lab.settle()
    assert not lab.exists(VOLUME, name)


def test_an_ephemeral_volume_is_created_and_deleted_with_its_pod(lab: Lab) -> None:
    storage_class(lab)
    lab.node("n1")
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    lab.create("Pod", pod("p", volumes=[scratch]))
    lab.settle()
    lab.advance(10)
    assert lab.get("Pod", "p")["status"]["phase"] == "Running"
    assert bound(lab, "p-scratch")
    lab.delete("Pod", "p", gracePeriodSeconds=0)
    lab.settle()
    assert lab.all("PersistentVolumeClaim") == [] and lab.all(VOLUME) == []


def test_a_claim_without_a_class_gets_the_default_class_that_appears_later(lab: Lab) -> None:
    lab.node("n0")
    for name, more in (("data", {}), ("classless", {"storageClassName": ""})):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        lab.create("PersistentVolumeClaim", {"metadata": {"name": name}, "spec": spec | more})
    lab.settle()
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    for name in ("older", "disk", "zzz"):
        if name == "disk":
            clock.advance(lab.cluster, 60)
        metadata = {"name": name, "annotations": default}
        lab.create("StorageClass", {"metadata": metadata, "provisioner": "mock.csi"})
    lab.settle()
    assert bound(lab)["spec"]["storageClassName"] == "disk"
    assert lab.get("PersistentVolumeClaim", "classless")["status"]["phase"] == "Pending"


def test_controllers_act_after_a_batch_that_its_limit_has_ended(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of time, too, on a slow machine: more pods may wait, so controllers act rarely."""
    monkeypatch.setattr(scheduling, "BATCH_DECISIONS", 1)
    lab.node("n1")
    storage_class(lab, waits=True)
    claim(lab)
    lab.settle()
    user(lab)
    assert bound(lab)


def test_a_volume_that_names_its_claim_is_bound(lab: Lab) -> None:
    modes = ["ReadWriteOnce"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": modes,
        "hostPath": {"path": "/x"},
        "storageClassName": "",
        "claimRef": {**reference, "namespace": "default", "name": "c"},
    }
    lab.create("PersistentVolume", {"metadata": {"name": "v"}, "spec": spec})
    wanted = {"accessModes": modes, "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "c"}, "spec": {**wanted, "storageClassName": ""}}
    lab.create("PersistentVolumeClaim", claim)
    lab.settle()
    assert lab.get("PersistentVolume", "v")["status"]["phase"] == "Bound"
    assert lab.get("PersistentVolumeClaim", "c")["status"]["phase"] == "Bound"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"capacity": {"storage": "1Gi"}}, "requested PV is too small"),
        ({"storageClassName": "other"}, "storageClassName does not match"),
        ({"volumeMode": "Block"}, "incompatible volumeMode"),
        ({"accessModes": ["ReadOnlyMany"]}, "incompatible accessMode"),
    ],
)
def test_a_volume_that_does_not_satisfy_the_claim_that_names_it_stays_free(
    lab: Lab, spec: Body, problem: str
) -> None:
    volume(lab, "named", "9Gi", **spec)
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "volumeName": "named",
        "resources": {"requests": {"storage": "5Gi"}},
    }
    lab.create("PersistentVolumeClaim", {"metadata": {"name": "data"}, "spec": wanted})
    lab.settle()
    assert phases(lab) == {"named": "Available"}
    (event,) = lab.events("VolumeMismatch")
    assert event["message"] == f'Cannot bind to requested volume "named": {problem}'


def test_an_ephemeral_volume_does_not_take_a_claim_of_its_name(lab: Lab) -> None:
    claim(lab, "p-scratch")
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    lab.create("Pod", pod("p", volumes=[scratch]))
    lab.settle()
    (event,) = [each for each in lab.events("FailedBinding") if each["type"] == "Warning"]
    assert event["message"] == (
        "ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p "
        "(pod is not owner)"
    )


def test_a_claim_that_has_lost_its_volume_says_so(lab: Lab) -> None:
    storage_class(lab, provisioner="kubernetes.io/no-provisioner")
    volume(lab, "only", "9Gi")
    claim(lab)
    lab.settle()
    assert bound(lab)
    lab.delete(VOLUME, "only")
    lab.change(VOLUME, "only", without_finalizers)
    lab.settle()
    status = lab.get("PersistentVolumeClaim", "data")["status"]
    assert status == {"phase": "Lost"}
    (event,) = lab.events("ClaimLost")
    assert event["message"].startswith("Bound claim has lost its PersistentVolume.")


def without_finalizers(body: Body) -> Body:
    return {**body, "metadata": {**body["metadata"], "finalizers": []}}
