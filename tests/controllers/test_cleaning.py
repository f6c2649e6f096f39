"""Deletion of dependants: of nodes, namespaces and owners."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.errors import Forbidden
from apps.cluster.models import Event
from tests.controllers.conftest import Lab

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_pods_of_a_deleted_node_are_collected(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p")
    lab.settle()
    lab.delete("Node", "n1")
    lab.settle()
    lab.advance(39)
    assert lab.exists("Pod", "p")
    lab.advance(1)
    assert not lab.exists("Pod", "p")


def test_the_pod_of_a_node_that_never_existed_is_collected(lab: Lab) -> None:
    lab.pod("p", nodeName="nowhere")
    lab.settle()
    lab.advance(40)
    assert not lab.exists("Pod", "p")


def test_a_terminating_pod_of_a_node_out_of_service_is_deleted(lab: Lab) -> None:
    lab.node("n1")
    lab.pod("p", tolerations=[{"operator": "Exists"}])
    lab.settle()
    lab.set_condition("n1", "Ready", "Unknown")
    taint = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
    lab.change("Node", "n1", lambda body: {**body, "spec": {**body["spec"], "taints": [taint]}})
    lab.settle()
    assert lab.exists("Pod", "p")
    lab.delete("Pod", "p", gracePeriodSeconds=3600)
    lab.settle()
    assert not lab.exists("Pod", "p")


def test_a_node_created_in_time_keeps_its_pods(lab: Lab) -> None:
    lab.pod("p", nodeName="n1")
    lab.settle()
    lab.advance(30)
    lab.node("n1")
    lab.advance(60)
    assert lab.get("Pod", "p")["status"]["phase"] == "Running"


def test_a_namespace_is_deleted_after_its_contents(lab: Lab) -> None:
    lab.node("n1")
    lab.create("Namespace", {"metadata": {"name": "old"}})
    body: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    lab.create("Pod", {"metadata": {"name": "p"}, "spec": body}, "old")
    lab.create("Service", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}, "old")
    lab.settle()
    lab.delete("Namespace", "old")
    assert lab.get("Namespace", "old")["status"]["phase"] == "Terminating"
    with pytest.raises(Forbidden, match="because it is being terminated"):
        lab.create("Pod", {"metadata": {"name": "late"}, "spec": body}, "old")
    lab.settle()
    # the pod still has its grace period, and all else waits for it
    assert lab.exists("Pod", "p", "old") and lab.exists("Service", "s", "old")
    lab.advance(30)
    assert not lab.exists("Namespace", "old") and not lab.exists("Pod", "p", "old")
    assert not Event.objects.filter(cluster=lab.cluster, namespace="old").exists()


def service(lab: Lab, name: str, owner: dict[str, Any] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if owner is not None:
        reference = {"apiVersion": "v1", "kind": "Service", "blockOwnerDeletion": True}
        reference |= {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        metadata["ownerReferences"] = [reference]
    return lab.create("Service", {"metadata": metadata, "spec": {"ports": [{"port": 80}]}})


def services(lab: Lab) -> set[str]:
    return {body["metadata"]["name"] for body in lab.all("Service")}


def test_dependants_are_deleted_with_their_owner_recursively(lab: Lab) -> None:
    owner = service(lab, "owner")
    child = service(lab, "child", owner)
    service(lab, "grandchild", child)
    lab.settle()
    lab.delete("Service", "owner")
    lab.settle()
    assert services(lab) == {"kubernetes"}


def test_foreground_deletion_deletes_the_owner_last(lab: Lab) -> None:
    service(lab, "child", service(lab, "owner"))
    lab.delete("Service", "owner", propagationPolicy="Foreground")
    assert lab.get("Service", "owner")["metadata"]["finalizers"] == ["foregroundDeletion"]
    lab.settle()
    assert services(lab) == {"kubernetes"}


def test_orphans_stay_without_the_owner_reference(lab: Lab) -> None:
    service(lab, "child", service(lab, "owner"))
    lab.delete("Service", "owner", propagationPolicy="Orphan")
    lab.settle()
    assert not lab.exists("Service", "owner")
    assert "ownerReferences" not in lab.get("Service", "child")["metadata"]


def test_an_object_whose_owner_never_existed_here_is_kept(lab: Lab) -> None:
    stranger = {"metadata": {"name": "far", "uid": "11111111-1111-1111-1111-111111111111"}}
    service(lab, "imported", stranger)
    lab.settle()
    assert lab.exists("Service", "imported")


def test_a_namespace_says_what_is_left_in_it(lab: Lab) -> None:
    lab.create("Namespace", {"metadata": {"name": "old"}})
    held = {"name": "held", "finalizers": ["example.com/f"]}
    lab.create("ConfigMap", {"metadata": held}, "old")
    lab.settle()
    lab.delete("Namespace", "old")
    lab.settle()
    conditions = {
        each["type"]: each for each in lab.get("Namespace", "old")["status"]["conditions"]
    }
    assert conditions["NamespaceContentRemaining"]["message"] == (
        "Some resources are remaining: configmaps. has 1 resource instances"
    )
    assert conditions["NamespaceFinalizersRemaining"]["message"] == (
        "Some content in the namespace has finalizers remaining: "
        "example.com/f in 1 resource instances"
    )
    assert conditions["NamespaceDeletionContentFailure"]["status"] == "False"
