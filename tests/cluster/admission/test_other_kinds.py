"""Admission of other kinds."""

from __future__ import annotations

import pytest

from apps.cluster.errors import Forbidden
from tests.cluster.recorded import Cluster, admit, validate


def body(kind, group="", **fields):
    metadata = {"name": "x", "creationTimestamp": "2026-01-02T03:04:05Z"}
    return {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        **fields,
        "metadata": {**metadata, **fields.get("metadata", {})},
    }


def service(**spec):
    return body("Service", spec={"ports": [{"port": 80}], **spec})


def test_allocatable_defaults_to_capacity_in_canonical_form():
    node = admit("Node", body("Node", status={"capacity": {"cpu": "4000m"}}), Cluster())
    assert node["status"]["capacity"] == node["status"]["allocatable"] == {"cpu": "4"}


def test_a_new_node_is_tainted_only_if_a_controller_removes_the_taint():
    assert "taints" not in admit("Node", body("Node"), Cluster())["spec"]
    tainted = admit("Node", body("Node"), Cluster(), taint_new_nodes=True)
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert tainted["spec"]["taints"] == [taint]
    given = body("Node", spec={"taints": [taint]})
    assert admit("Node", given, Cluster(), taint_new_nodes=True)["spec"]["taints"] == [taint]


def test_a_second_default_priority_class_is_forbidden_but_the_first_may_be_updated():
    cluster = Cluster()
    first = body("PriorityClass", "scheduling.k8s.io", value=1, globalDefault=True)
    stored = cluster.post(first, "")
    assert admit("PriorityClass", stored, cluster, old=stored) == stored
    with pytest.raises(Forbidden, match="PriorityClass x is already marked as default"):
        admit("PriorityClass", {**first, "metadata": {"name": "y"}}, cluster)


def test_a_claim_gets_the_default_class_unless_it_requests_none():
    cluster = Cluster()
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    cluster.post(
        body(
            "StorageClass",
            "storage.k8s.io",
            metadata={"name": "std", "annotations": annotations},
            provisioner="p",
        ),
        "",
    )
    claim = admit("PersistentVolumeClaim", body("PersistentVolumeClaim"), cluster)
    assert claim["spec"]["storageClassName"] == "std"
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    none = body("PersistentVolumeClaim", spec={"storageClassName": ""})
    assert admit("PersistentVolumeClaim", none, cluster)["spec"]["storageClassName"] == ""


def test_a_service_without_an_address_stays_without():
    spec = admit("Service", service(clusterIP="None"), Cluster())["spec"]
    assert spec["clusterIPs"] == ["None"]
    external = admit("Service", service(type="ExternalName", externalName="x.org"), Cluster())
    assert "clusterIP" not in external["spec"]


def test_endpoints_that_are_written_by_hand_may_have_both_families():
    spec = admit("Service", service(clusterIP="None"), Cluster())["spec"]
    assert (spec["ipFamilyPolicy"], spec["ipFamilies"]) == ("RequireDualStack", ["IPv4", "IPv6"])
    selected = admit("Service", service(clusterIP="None", selector={"a": "b"}), Cluster())["spec"]
    assert (selected["ipFamilyPolicy"], selected["ipFamilies"]) == ("SingleStack", ["IPv4"])


def test_an_update_keeps_the_address_and_the_ports_of_a_service():
    ports = [{"port": 80, "nodePort": 30080}]
    old = admit("Service", service(type="NodePort", clusterIP="10.96.0.7", ports=ports), Cluster())
    new = admit("Service", service(type="NodePort"), Cluster(), old=old)
    assert new["spec"] == old["spec"]


def test_another_type_drops_the_fields_of_the_former_one():
    ports = [{"port": 80, "name": "p", "nodePort": 30080}]
    old = admit("Service", service(type="NodePort", clusterIP="10.96.0.7", ports=ports), Cluster())
    internal = admit(
        "Service", {**old, "spec": {**old["spec"], "type": "ClusterIP"}}, Cluster(), old=old
    )
    assert "nodePort" not in internal["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in internal["spec"]
    assert internal["spec"]["clusterIP"] == old["spec"]["clusterIP"]
    named = {**internal["spec"], "type": "ExternalName", "externalName": "x.org"}
    external = admit("Service", {**internal, "spec": named}, Cluster(), old=internal)
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & set(external["spec"])


def test_another_address_is_refused_as_a_change():
    old = admit("Service", service(clusterIP="10.96.0.7"), Cluster())
    given = {**old, "spec": {**old["spec"], "clusterIP": "10.96.0.8"}}
    new = admit("Service", given, Cluster(), old=old)
    assert [f"{each.field}: {each.message}" for each in validate("Service", new, old)] == [
        'spec.clusterIPs[0]: Invalid value: ["10.96.0.8"]: may not change once set'
    ]


def test_an_event_shows_its_unset_times():
    event = admit("Event", body("Event", involvedObject={"kind": "Pod"}, reason=""), Cluster())
    assert event["eventTime"] is None and event["firstTimestamp"] is None
    assert "reason" not in event


@pytest.mark.parametrize(
    ("kind", "group", "fields"),
    [
        ("Node", "", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
        ("Namespace", "", {}),
        ("Service", "", {"spec": {"ports": [{"port": 1}], "sessionAffinity": "ClientIP"}}),
        ("PersistentVolume", "", {"spec": {"hostPath": {"path": "/x"}}}),
        ("CSIDriver", "storage.k8s.io", {}),
        ("CSIStorageCapacity", "storage.k8s.io", {"capacity": "1024Mi"}),
        ("StatefulSet", "apps", {"spec": {"volumeClaimTemplates": [{"spec": {}}]}}),
        ("ReplicationController", "", {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}),
        ("Event", "", {}),
        ("Lease", "coordination.k8s.io", {}),
        ("PodDisruptionBudget", "policy", {}),
        ("RuntimeClass", "node.k8s.io", {"overhead": {"podFixed": {"cpu": "0.1"}}}),
    ],
)
def test_admitting_an_admitted_object_changes_nothing(kind, group, fields):
    once = admit(kind, body(kind, group, **fields), Cluster())
    assert admit(kind, once, Cluster(), old=once) == once
