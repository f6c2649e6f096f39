"""Rules for pods that the recorded exchanges do not cover."""

from __future__ import annotations

import copy

import pytest

from tests.cluster.recorded import Cluster, admit, validate

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod(**spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "pause:1"}], **spec},
    }


def container(**fields):
    return {"containers": [{"name": "c", "image": "pause:1", **fields}]}


def complaints(body, old=None, **options):
    """ "field: message" of each cause; messages without the expected values."""
    admitted = admit("Pod", body, Cluster(), old=old)
    return [f"{c.field}: {c.message}" for c in validate("Pod", admitted, old, **options)]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (
            container(
                resources={"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}}
            ),
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
        ),
        (
            container(resources={"limits": {"cpu": "1", "hugepages-2Mi": "3Mi"}}),
            'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": '
            "must be a positive integer multiple of page size",
        ),
        (
            container(imagePullPolicy="Sometimes"),
            'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: '
            '"Always", "IfNotPresent", "Never"',
        ),
        (
            container(image=" pause"),
            'spec.containers[0].image: Invalid value: " pause": must not have leading or trailing '
            "whitespace",
        ),
        (
            container(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
            'spec.containers[0].ports[1].name: Duplicate value: "a"',
        ),
        (
            container(ports=[{"hostPort": 5}]),
            "spec.containers[0].ports[0].containerPort: Required value",
        ),
        (container(env=[{"value": "x"}]), "spec.containers[0].env[0].name: Required value"),
        (
            {"initContainers": [{"name": "i", "image": "x", "livenessProbe": {}}]},
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers "
            "without restartPolicy=Always",
        ),
        (
            {"volumes": [{"name": "a"}, {"name": "a"}]},
            'spec.volumes[1].name: Duplicate value: "a"',
        ),
        (
            {"volumes": [{"name": "a", "image": {}}]},
            "spec.volumes[0].image.reference: Required value",
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "effect": "Never"}]},
            'spec.tolerations[0].effect: Unsupported value: "Never": supported values: '
            '"NoSchedule", "PreferNoSchedule", "NoExecute"',
        ),
        (
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "minDomains": 2,
                        "labelSelector": {},
                    }
                ]
            },
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use "
            "minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
        ),
        (
            {"activeDeadlineSeconds": 0},
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and "
            "2147483647, inclusive",
        ),
        (
            {
                "resources": {
                    "limits": {"example.com/gpu": "1"},
                    "requests": {"example.com/gpu": "1"},
                }
            },
            'spec.resources.limits[example.com/gpu]: Unsupported value: "example.com/gpu": '
            'supported values: "cpu", "hugepages-", "memory"',
        ),
        ({"restartPolicy": "Later"}, None),
    ],
)
def test_an_error_names_its_field(spec, complaint):
    found = complaints(pod(**spec))
    assert found
    assert complaint is None or complaint in found


def test_a_valid_pod_has_no_errors():
    assert (
        complaints(
            pod(
                volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
                nodeSelector={"disk": "ssd"},
                affinity={
                    "nodeAffinity": {
                        REQUIRED: {
                            "nodeSelectorTerms": [
                                {
                                    "matchFields": [
                                        {"key": "metadata.name", "operator": "In", "values": ["n"]}
                                    ]
                                }
                            ]
                        }
                    }
                },
                schedulingGates=[{"name": "example.com/gate"}],
                **container(
                    volumeMounts=[{"name": "v", "mountPath": "/v"}],
                    resources={"limits": {"example.com/gpu": 2, "cpu": 1.5}},
                    ports=[{"containerPort": 80, "name": "http"}],
                ),
            )
        )
        == []
    )


def stored(**spec):
    return admit("Pod", pod(**spec), Cluster())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, container(image="pause:2")),
        ({}, {"activeDeadlineSeconds": 5}),
        ({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 4}),
        (
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
            {"tolerations": [{"key": "b"}, {"key": "a", "operator": "Exists"}]},
        ),
        ({"schedulingGates": [{"name": "x.io/a"}]}, {}),
        ({"terminationGracePeriodSeconds": -1}, {"terminationGracePeriodSeconds": 1}),
    ],
)
def test_these_updates_are_allowed(before, after):
    assert complaints(pod(**after), old=stored(**before)) == []


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ({}, {"nodeName": "n"}, "spec"),
        ({}, {"hostNetwork": True}, "spec"),
        ({}, {"schedulerName": "other"}, "spec"),
        ({}, {"schedulingGates": [{"name": "x.io/a"}]}, "spec.schedulingGates[0].name"),
        ({}, {"initContainers": [{"name": "i", "image": "x"}]}, "spec.initContainers"),
        ({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 6}, "spec.activeDeadlineSeconds"),
        ({"tolerations": [{"key": "a", "operator": "Exists"}]}, {}, "spec.tolerations"),
        ({}, {"terminationGracePeriodSeconds": 1}, "spec"),
        ({}, container(resources={"requests": {"cpu": "1"}}), "spec"),
    ],
)
def test_these_updates_are_refused(before, after, field):
    found = complaints(pod(**after), old=stored(**before))
    assert [text.partition(": ")[0] for text in found] == [field]


def test_a_refused_update_shows_what_differs():
    [text] = complaints(pod(schedulerName="other"), old=stored())
    assert '\n- "SchedulerName": "default-scheduler",\n+ "SchedulerName": "other",\n' in text


def required_affinity(*values):
    terms = [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": [value]}]}
        for value in values
    ]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


def test_the_placement_of_a_gated_pod_may_be_narrowed():
    gated = {"schedulingGates": [{"name": "x.io/a"}]}
    assert complaints(pod(nodeSelector={"a": "b"}, **gated), old=stored(**gated)) == []
    assert complaints(pod(affinity=required_affinity("a"), **gated), old=stored(**gated)) == []
    narrower = required_affinity("a")
    [term] = narrower["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    term["matchExpressions"].append({"key": "disk", "operator": "Exists"})
    old = stored(affinity=required_affinity("a"), **gated)
    assert complaints(pod(affinity=narrower, **gated), old=old) == []


@pytest.mark.parametrize(
    ("after", "complaint"),
    [
        (required_affinity("a", "b"), "no additions/deletions to non-empty"),
        (required_affinity("b"), "only additions are allowed"),
        (None, "no additions/deletions to non-empty"),
    ],
)
def test_the_placement_of_a_gated_pod_may_not_be_changed(after, complaint):
    gated = {"schedulingGates": [{"name": "x.io/a"}]}
    given = pod(**gated, **({"affinity": after} if after else {}))
    [text] = complaints(given, old=stored(affinity=required_affinity("a"), **gated))
    assert complaint in text


def test_a_resize_changes_resources_and_nothing_else():
    old = stored(**container(resources={"requests": {"cpu": "1"}}))
    bigger = pod(**container(resources={"requests": {"cpu": "2"}}))
    assert complaints(bigger, old=old, subresource="resize") == []
    moved = copy.deepcopy(bigger)
    moved["spec"]["nodeName"] = "n"
    [text] = complaints(moved, old=old, subresource="resize")
    assert text.startswith("spec: Forbidden: only cpu and memory resources are mutable")


def test_a_nominated_node_has_the_name_of_a_node():
    old = stored()
    new = {**old, "status": {**old["status"], "nominatedNodeName": "Not A Node"}}
    [text] = complaints(new, old=old, subresource="status")
    assert text.startswith('status.nominatedNodeName: Invalid value: "Not A Node"')
