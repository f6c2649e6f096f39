"""Admission of pods."""

from __future__ import annotations

import copy

import pytest

from apps.cluster.admission.tolerations import covers, merge
from apps.cluster.errors import BadRequest, Forbidden
from tests.cluster.recorded import Cluster, admit


def pod(**spec):
    labels = spec.pop("labels", {"app": "web"})
    containers = spec.pop("containers", [{"name": "c", "image": "pause:1"}])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "default",
            "labels": labels,
            "creationTimestamp": "2026-01-02T03:04:05Z",
        },
        "spec": {"containers": containers, **spec},
    }


def test_admission_does_not_change_its_argument():
    given = pod(tolerations=[{"key": "a", "operator": "Exists"}], nodeSelector={})
    before = copy.deepcopy(given)
    admit("Pod", given, Cluster())
    assert given == before


def test_admitting_twice_changes_nothing():
    given = pod(
        hostNetwork=True,
        containers=[
            {
                "name": "c",
                "image": "pause",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}},
                "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                "livenessProbe": {"grpc": {"port": 1}},
            }
        ],
        volumes=[
            {"name": "a"},
            {"name": "b", "secret": {"secretName": "s"}},
            {"name": "d", "azureDisk": {"diskName": "d", "diskURI": "u"}},
        ],
        resources={"limits": {"cpu": "1"}},
        schedulingGates=[{"name": "x.io/g"}],
    )
    once = admit("Pod", given, Cluster())
    assert admit("Pod", once, Cluster(), old=once) == once


def test_requests_default_to_limits():
    resources = {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "1024Mi"}}
    admitted = admit(
        "Pod", pod(containers=[{"name": "c", "image": "i", "resources": resources}]), Cluster()
    )
    assert admitted["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "100m", "memory": "1Gi"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    }


def test_pod_level_requests_default_to_the_sum_of_containers_if_the_pod_has_limits():
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}}}
    sidecar = {
        "name": "s",
        "image": "i",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "250m"}},
    }
    step = {"name": "i", "image": "i", "resources": {"requests": {"cpu": "2"}}}
    admitted = admit(
        "Pod",
        pod(
            containers=[container],
            initContainers=[sidecar, step],
            resources={"limits": {"cpu": "4", "memory": "1Gi"}},
        ),
        Cluster(),
    )
    assert admitted["spec"]["resources"]["requests"] == {"cpu": "2250m", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.25", "IfNotPresent"),
        ("registry:5000/a/nginx", "Always"),
        ("registry:5000/a/nginx:1", "IfNotPresent"),
        (f"nginx@sha256:{'a' * 64}", "IfNotPresent"),
        (f"nginx:latest@sha256:{'a' * 64}", "Always"),
        ("Not An Image", "IfNotPresent"),
    ],
)
def test_only_images_tagged_latest_are_always_pulled(image, policy):
    admitted = admit("Pod", pod(containers=[{"name": "c", "image": image}]), Cluster())
    assert admitted["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ([{}], "BestEffort"),
        (
            [{"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}],
            "BestEffort",
        ),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"cpu": "1"}}], "Burstable"),
        ([{"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}], "Burstable"),
    ],
)
def test_the_quality_of_service_follows_from_cpu_and_memory(resources, quality):
    containers = [
        {"name": f"c{index}", "image": "i", "resources": one} for index, one in enumerate(resources)
    ]
    admitted = admit("Pod", pod(containers=containers), Cluster())
    assert admitted["status"]["qosClass"] == quality


def test_the_status_sent_by_a_client_is_ignored():
    given = {**pod(), "status": {"phase": "Running", "nominatedNodeName": "n"}}
    assert admit("Pod", given, Cluster())["status"] == {
        "phase": "Pending",
        "qosClass": "BestEffort",
    }


def test_a_gated_pod_has_a_scheduling_gated_condition():
    admitted = admit("Pod", pod(schedulingGates=[{"name": "x.io/g"}]), Cluster())
    [condition] = admitted["status"]["conditions"]
    assert (condition["reason"], condition["status"]) == ("SchedulingGated", "False")
    assert condition["lastTransitionTime"] == "2026-01-02T03:04:05Z"


def test_a_pod_without_a_name_gets_one_from_its_prefix():
    given = pod()
    del given["metadata"]["name"]
    given["metadata"]["generateName"] = "w" * 80
    names = {admit("Pod", given, Cluster())["metadata"]["name"] for _ in range(20)}
    assert len(names) == 20
    assert all(len(name) == 63 and name.startswith("w" * 58) for name in names)


def test_a_wrong_type_names_its_field():
    told = 'Pod in version "v1" cannot be handled as a Pod: .*spec.tolerations'
    with pytest.raises(BadRequest, match=told):
        admit("Pod", pod(tolerations="x"), Cluster())


def test_a_version_that_is_not_served_is_refused():
    with pytest.raises(BadRequest, match='no kind "Pod" is registered for version "v2"'):
        admit("Pod", {**pod(), "apiVersion": "v2"}, Cluster())


@pytest.fixture
def cluster():
    made = Cluster()
    made.post(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "low"},
            "value": -5,
            "preemptionPolicy": "Never",
            "globalDefault": True,
        },
        "",
    )
    made.post(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "vm"},
            "handler": "vm",
            "overhead": {"podFixed": {"memory": "64Mi"}},
            "scheduling": {
                "nodeSelector": {"vm": "yes"},
                "tolerations": [{"key": "vm", "operator": "Exists"}],
            },
        },
        "",
    )
    return made


def test_a_pod_without_a_class_gets_the_default_class(cluster):
    spec = admit("Pod", pod(), cluster)["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("low", -5)
    assert spec["preemptionPolicy"] == "Never"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        ({"priority": 3}, r"the integer value of priority \(3\) must not be provided"),
        (
            {"preemptionPolicy": "PreemptLowerPriority"},
            r"the string value of PreemptionPolicy \(PreemptLowerPriority\) must not be provided",
        ),
        ({"runtimeClassName": "none"}, 'RuntimeClass "none" not found'),
        ({"overhead": {"cpu": "1"}}, "Overhead set without corresponding RuntimeClass"),
        ({"runtimeClassName": "vm", "overhead": {"cpu": "1"}}, "Overhead doesn't match"),
        (
            {"runtimeClassName": "vm", "nodeSelector": {"vm": "no"}},
            r"conflict: runtimeClass.scheduling.nodeSelector\[vm\] = yes",
        ),
    ],
)
def test_a_pod_that_contradicts_its_classes_is_forbidden(cluster, spec, why):
    with pytest.raises(Forbidden, match=why) as refused:
        admit("Pod", pod(**spec), cluster)
    assert refused.value.details == {"name": "p", "kind": "pods"}


@pytest.mark.parametrize(("cpu", "same"), [("0.1", True), ("100m", True), ("1", False)])
def test_the_overhead_of_a_pod_is_compared_as_an_exact_quantity(cluster, cpu, same):
    overhead = {"podFixed": {"cpu": "100m"}}
    body = {"metadata": {"name": "small"}, "handler": "vm", "overhead": overhead}
    cluster.post({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", **body}, "")
    given = pod(runtimeClassName="small", overhead={"cpu": cpu})
    if same:
        assert admit("Pod", given, cluster)["spec"]["overhead"] == {"cpu": "100m"}
    else:
        with pytest.raises(Forbidden, match="Overhead doesn't match"):
            admit("Pod", given, cluster)


def test_a_runtime_class_adds_overhead_and_placement(cluster):
    given = pod(runtimeClassName="vm", overhead={"memory": "65536Ki"}, nodeSelector={"a": "b"})
    spec = admit("Pod", given, cluster)["spec"]
    assert spec["overhead"] == {"memory": "64Mi"}
    assert spec["nodeSelector"] == {"a": "b", "vm": "yes"}
    assert [t["key"] for t in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "vm",
    ]


def test_an_update_keeps_the_priority_that_was_computed(cluster):
    old = admit("Pod", pod(), cluster)
    new = admit("Pod", pod(), Cluster(), old=old)
    assert (new["spec"]["priority"], new["spec"]["preemptionPolicy"]) == (-5, "Never")


@pytest.mark.parametrize(
    ("tolerations", "added"),
    [
        ([], ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]),
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
        (
            [{"operator": "Exists", "effect": "NoSchedule"}],
            ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"],
        ),
        (
            [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
            ["node.kubernetes.io/unreachable"],
        ),
    ],
)
def test_a_pod_tolerates_an_unreachable_node_for_five_minutes_by_default(tolerations, added):
    spec = admit("Pod", pod(tolerations=tolerations), Cluster())["spec"]
    new = spec.get("tolerations", [])[len(tolerations) :]
    assert [toleration["key"] for toleration in new] == added
    assert all(toleration["tolerationSeconds"] == 300 for toleration in new)


def test_label_keys_are_merged_into_selectors_for_labels_the_pod_has():
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["rev", "absent"],
        "mismatchLabelKeys": ["team"],
    }
    affinity = {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": term}
            ]
        }
    }
    admitted = admit("Pod", pod(labels={"rev": "7", "team": "a"}, affinity=affinity), Cluster())
    rules = admitted["spec"]["affinity"]["podAntiAffinity"]
    [weighted] = rules["preferredDuringSchedulingIgnoredDuringExecution"]
    merged = weighted["podAffinityTerm"]
    assert merged["labelSelector"]["matchExpressions"] == [
        {"key": "rev", "operator": "In", "values": ["7"]},
        {"key": "team", "operator": "NotIn", "values": ["a"]},
    ]
    assert merged["matchLabelKeys"] == ["rev", "absent"]


EVERYTHING = {"operator": "Exists"}
KEY = {"key": "a", "operator": "Exists"}
VALUE = {"key": "a", "operator": "Equal", "value": "x"}
SHORT = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
LONG = {**SHORT, "tolerationSeconds": 50}


@pytest.mark.parametrize(
    ("wide", "narrow", "covered"),
    [
        (EVERYTHING, KEY, True),
        (KEY, VALUE, True),
        (VALUE, KEY, False),
        (KEY, {"key": "b", "operator": "Exists"}, False),
        (LONG, SHORT, True),
        (SHORT, LONG, False),
        (SHORT, KEY, False),
        (KEY, LONG, True),
        (VALUE, {**VALUE, "value": "y"}, False),
        ({"key": "a", "value": ""}, {"key": "a"}, True),
        ({"key": "a"}, {"key": "a", "value": ""}, True),
        ({"key": "a", "value": "x"}, {"key": "a", "operator": "Lt", "value": "x"}, False),
        ({**VALUE, "effect": "NoSchedule"}, VALUE, False),
        ({**KEY, "effect": "NoExecute"}, SHORT, True),
    ],
)
def test_one_toleration_covers_another(wide, narrow, covered):
    assert covers(wide, narrow) is covered


def test_merging_drops_tolerations_that_another_one_covers():
    assert merge([VALUE, SHORT], [LONG, KEY]) == [KEY]
    assert merge([VALUE], [VALUE]) == [VALUE]


def test_a_status_update_keeps_the_quality_of_service_and_completes_container_states():
    old = admit("Pod", pod(), Cluster())
    status = {"phase": "Running", "containerStatuses": [{"name": "c", "ready": True}]}
    new = admit("Pod", {**old, "status": status}, Cluster(), old=old)
    assert new["status"]["qosClass"] == "BestEffort"
    [container] = new["status"]["containerStatuses"]
    assert (container["lastState"], container["restartCount"]) == ({}, 0)
