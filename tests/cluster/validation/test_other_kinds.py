"""Rules for other kinds, and for updates, that the recorded exchanges do not cover."""

from __future__ import annotations

import pytest

from apps.cluster.validation import names
from tests.cluster.recorded import Cluster, admit, validate


def body(kind, group="", **fields):
    return {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "metadata": {"name": "x"},
        **fields,
    }


def complaints(new, old=None):
    admitted_old = admit(old["kind"], old, Cluster()) if old else None
    admitted = admit(new["kind"], new, Cluster(), old=admitted_old)
    causes = validate(new["kind"], admitted, admitted_old)
    return [f"{cause.field}: {cause.message}" for cause in causes]


def node(**spec):
    return body("Node", spec=spec)


def priority_class(**fields):
    return body("PriorityClass", "scheduling.k8s.io", **fields)


def storage_class(**fields):
    return body("StorageClass", "storage.k8s.io", **{"provisioner": "p", **fields})


def volume(**spec):
    given = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    return body("PersistentVolume", spec={**given, "hostPath": {"path": "/x"}, **spec})


def budget(**spec):
    return body("PodDisruptionBudget", "policy", spec=spec)


NOT_STANDARD = 'Invalid value: "requests.x": must be a standard resource'


def quota(resource):
    return body("ResourceQuota", spec={"hard": {resource: "1"}})


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            node(taints=[{"key": "a", "effect": "NoSchedule"}] * 2),
            'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule",'
            '"TimeAdded":null}',
        ),
        (
            priority_class(value=1_000_000_001),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
        (
            priority_class(preemptionPolicy="Maybe"),
            'preemptionPolicy: Unsupported value: "Maybe": supported values: "Never", '
            '"PreemptLowerPriority"',
        ),
        (
            volume(nodeAffinity={}),
            "spec.nodeAffinity.required: Required value: must specify required node constraints",
        ),
        (
            volume(capacity={"storage": "0"}),
            'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
        ),
        (
            volume(csi={"driver": "d"}),
            "spec.csi: Forbidden: may not specify more than 1 volume type",
        ),
        (
            storage_class(reclaimPolicy="Keep"),
            'reclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Retain"',
        ),
        (
            budget(maxUnavailable="101%"),
            'spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
        ),
        (
            budget(unhealthyPodEvictionPolicy="x"),
            'spec.unhealthyPodEvictionPolicy: Unsupported value: "x": supported values: '
            '"AlwaysAllow", "IfHealthyBudget"',
        ),
        (body("Service", spec={}), "spec.ports: Required value"),
        (
            body("VolumeAttachment", "storage.k8s.io", spec={"attacher": "a", "nodeName": "n"}),
            "spec.source: Required value: must specify exactly one of inlineVolumeSpec and "
            "persistentVolumeName",
        ),
        (
            body("ReplicaSet", "apps", spec={"selector": {}}),
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment",
        ),
        (body("ReplicationController"), "spec.template: Required value"),
        (
            body("Event", eventTime="2026-01-02T03:04:05.000006Z", type="Normal"),
            "reportingController: Required value",
        ),
        (quota("requests.x"), f"spec.hard[requests.x]: {NOT_STANDARD} type or fully qualified"),
        (quota("requests.x"), f"spec.hard[requests.x]: {NOT_STANDARD} for quota"),
    ],
)
def test_an_error_names_its_field(given, complaint):
    assert complaint in complaints(given)


@pytest.mark.parametrize(
    "given",
    [
        node(taints=[{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]),
        priority_class(value=1_000_000_000),
        volume(),
        storage_class(volumeBindingMode="WaitForFirstConsumer"),
        budget(minAvailable="30%"),
        budget(),
        body("Service", spec={"clusterIP": "None"}),
        body("Lease", "coordination.k8s.io"),
        body("Namespace"),
        body("CSIDriver", "storage.k8s.io"),
    ],
)
def test_a_valid_object_has_no_errors(given):
    assert complaints(given) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            node(providerID="a"),
            node(providerID="b"),
            'spec.providerID: Forbidden: node updates may not change providerID except from "" to '
            "valid",
        ),
        (
            priority_class(),
            priority_class(preemptionPolicy="Never"),
            'preemptionPolicy: Invalid value: "Never": field is immutable',
        ),
        (
            storage_class(),
            storage_class(parameters={"a": "b"}),
            'parameters: Invalid value: {"a":"b"}: field is immutable',
        ),
        (
            storage_class(),
            storage_class(volumeBindingMode="WaitForFirstConsumer"),
            'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
        ),
        (
            volume(),
            volume(hostPath={"path": "/y"}),
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable "
            "after creation",
        ),
    ],
)
def test_immutable_fields_cannot_be_changed(old, new, complaint):
    # a difference of the fields may follow
    assert complaint in [each.partition("\n")[0] for each in complaints(new, old)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            node(),
            node(providerID="b", unschedulable=True, taints=[{"key": "a", "effect": "NoExecute"}]),
        ),
        (priority_class(value=5), priority_class(value=5, description="d")),
        (volume(), volume(claimRef={"name": "c", "namespace": "default"})),
        (storage_class(), storage_class(allowVolumeExpansion=True)),
    ],
)
def test_mutable_fields_can_be_changed(old, new):
    assert complaints(new, old) == []


def test_an_object_that_is_being_deleted_gets_no_new_finalizers():
    old = body("Node", metadata={"name": "x", "deletionTimestamp": "2026-01-02T03:04:05Z"})
    new = {**old, "metadata": {**old["metadata"], "finalizers": ["a.io/b"]}}
    text, again = complaints(new, old)
    assert text == again
    assert text.startswith("metadata.finalizers: Forbidden: no new finalizers can be added")


@pytest.mark.parametrize(
    ("check", "text", "problems"),
    [
        (names.dns_label, "a-1", 0),
        (names.dns_label, "a" * 64, 1),
        (names.dns_label, "-a", 1),
        (names.dns_label, "a\n", 1),
        (names.dns_subdomain, "a.b-c.d", 0),
        (names.dns_subdomain, "a..b", 1),
        (names.qualified_name, "example.com/Name_1.x", 0),
        (names.qualified_name, "a/b/c", 1),
        (names.qualified_name, "/a", 1),
        (names.qualified_name, "A.com/a", 1),
        (names.qualified_name, "", 2),
        (names.label_value, "", 0),
        (names.label_value, "v_1.2-x", 0),
        (names.label_value, "-", 1),
        (names.port_name, "http-2", 0),
        (names.port_name, "123", 1),
        (names.port_name, "-A--", 4),
        (names.environment_name, "MY.VAR 1", 0),
        (names.environment_name, "", 1),
    ],
)
def test_names_have_rules(check, text, problems):
    assert len(check(text)) == problems


def test_pods_of_a_stateful_set_mount_the_volumes_of_its_claims_and_no_others():
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("data", "scratch")]
    container = {"name": "c", "image": "i", "volumeMounts": mounts}
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [container]}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    stateful = {
        "selector": {"matchLabels": {"app": "db"}},
        "template": template,
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": spec}],
    }
    assert complaints(body("StatefulSet", "apps", spec=stateful)) == [
        'spec.template.spec.containers[0].volumeMounts[1].name: Not found: "scratch"'
    ]
