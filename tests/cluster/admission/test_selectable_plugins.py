"""Optional admission plugins, and their effects on pods and nodes."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.clusters.settings import change_settings
from apps.cluster import kinds
from apps.cluster.admission.plugins.registry import check_plugins
from apps.cluster.errors import Forbidden
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import store

Body = dict[str, Any]
ACTOR = Actor("alice")
MEMORY_PRESSURE = {
    "key": "node.kubernetes.io/memory-pressure",
    "operator": "Exists",
    "effect": "NoSchedule",
}

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(db: None) -> Cluster:
    return create_cluster("c1", user="alice")


def enable(cluster: Cluster, name: str, **parameters: Any) -> None:
    change_settings(cluster, {"admission_plugins": {name: parameters}})


def pod(cluster: Cluster, name: str = "p", *, requests: Body | None = None, **spec: Any) -> Body:
    resources = {"requests": requests, "limits": requests} if requests else {}
    container = {"name": "c", "image": "i", "resources": resources}
    body = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
    return store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")


def tolerations(body: Body) -> list[Body]:
    """The tolerations of a pod besides the two default ones."""
    return [each for each in body["spec"]["tolerations"] if each.get("tolerationSeconds") != 300]


def test_no_plugin_is_enabled_by_default(cluster: Cluster) -> None:
    assert cluster.admission_plugins == {}
    assert tolerations(pod(cluster, requests={"cpu": "1", "example.com/gpu": "1"})) == []


def test_pods_that_are_not_best_effort_tolerate_memory_pressure(cluster: Cluster) -> None:
    enable(cluster, "PodTolerationRestriction")
    assert tolerations(pod(cluster, "burstable", requests={"cpu": "1"})) == [MEMORY_PRESSURE]
    assert tolerations(pod(cluster, "best-effort")) == []


def test_a_namespace_has_default_tolerations_and_a_whitelist(cluster: Cluster) -> None:
    spot = {"key": "spot", "operator": "Exists"}
    # all keys, but only for five minutes: the default tolerations
    short = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    enable(cluster, "PodTolerationRestriction", default=[spot], whitelist=[spot, short])
    assert tolerations(pod(cluster, "p1")) == [spot]
    with pytest.raises(Forbidden, match="conflict with its namespace whitelist"):
        pod(cluster, "p2", tolerations=[{"key": "gpu", "operator": "Exists"}])
    own: Body = {
        "scheduler.alpha.kubernetes.io/defaultTolerations": "[]",
        "scheduler.alpha.kubernetes.io/tolerationsWhitelist": "",
    }

    def annotate(body: Body) -> Body:
        return {**body, "metadata": {**body["metadata"], "annotations": own}}

    store.patch(cluster, kinds.NAMESPACE, "", "default", annotate, actor=ACTOR)
    gpu = {"key": "gpu", "operator": "Exists"}
    assert tolerations(pod(cluster, "p2", tolerations=[gpu])) == [gpu]


def test_an_invalid_annotation_is_named_in_the_error(cluster: Cluster) -> None:
    enable(cluster, "PodTolerationRestriction")
    own: Body = {"scheduler.alpha.kubernetes.io/defaultTolerations": "{oops"}

    def annotate(body: Body) -> Body:
        return {**body, "metadata": {**body["metadata"], "annotations": own}}

    store.patch(cluster, kinds.NAMESPACE, "", "default", annotate, actor=ACTOR)
    with pytest.raises(Forbidden, match="defaultTolerations is no list of tolerations"):
        pod(cluster)


def test_a_pod_that_requests_a_device_tolerates_its_taint(cluster: Cluster) -> None:
    enable(cluster, "ExtendedResourceToleration")
    made = pod(cluster, requests={"cpu": "1", "example.com/gpu": "1", "a.io/b": "2"})
    assert tolerations(made) == [
        {"key": "a.io/b", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    ]


def test_required_anti_affinity_must_use_the_hostname_key(cluster: Cluster) -> None:
    enable(cluster, "LimitPodHardAntiAffinityTopology")

    def apart(key: str) -> Body:
        term = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": key}
        rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        return {"podAntiAffinity": rules}

    pod(cluster, "by-node", affinity=apart("kubernetes.io/hostname"))
    with pytest.raises(Forbidden) as refusal:
        pod(cluster, "by-zone", affinity=apart("zone"))
    assert refusal.value.message == (
        'pods "by-zone" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has '
        "TopologyKey zone but only key kubernetes.io/hostname is allowed"
    )


@pytest.mark.parametrize(
    ("chosen", "problems"),
    [
        (
            ["NodeRestriction"],
            [
                'P: Invalid value: ["NodeRestriction"]: must map names of plugins to '
                "their parameters"
            ],
        ),
        ({"NodeRestriction": None}, ["P.NodeRestriction: Invalid value: null: must be an object"]),
        (
            {"LimitPodHardAntiAffinityTopology": {"key": "zone"}},
            ['P.LimitPodHardAntiAffinityTopology.key: Invalid value: "zone": unknown parameter'],
        ),
        (
            {"DedicatedNodes": {"key": "a b", "effect": "Evict", "groups": []}},
            [
                "P.DedicatedNodes.key: ",
                'P.DedicatedNodes.effect: Unsupported value: "Evict"',
                "P.DedicatedNodes.groups: Invalid value: []: must map names of groups to "
                "their members",
            ],
        ),
        (
            {"DedicatedNodes": {"key": 1}},
            ["P.DedicatedNodes.key: Invalid value: 1: must be a label key"],
        ),
        (
            {"DedicatedNodes": {"groups": {"a": ["x"]}}},
            ['P.DedicatedNodes.groups[a]: Invalid value: ["x"]: must have namespaces or users'],
        ),
        (
            {"DedicatedNodes": {"groups": {"a": {"users": "bob", "teams": []}}}},
            [
                "P.DedicatedNodes.groups[a].teams: Invalid value: []: unknown parameter",
                'P.DedicatedNodes.groups[a].users: Invalid value: "bob": must be a list of names',
            ],
        ),
    ],
)
def test_wrong_parameters_are_named(chosen: Any, problems: list[str]) -> None:
    found = [f"{cause.field}: {cause.message}" for cause in check_plugins(chosen, "P")]
    assert len(found) == len(problems), found
    for cause, expected in zip(found, problems, strict=True):
        assert cause.startswith(expected)


def test_a_kubelet_cannot_set_reserved_labels_of_its_node(cluster: Cluster) -> None:
    enable(cluster, "NodeRestriction", kubelets=["bob"])
    label = "example.node-restriction.kubernetes.io/pci"

    def node_with(*keys: str) -> Body:
        return {"metadata": {"name": "n1", "labels": dict.fromkeys(keys, "yes")}}

    two = (label, "other.node-restriction.kubernetes.io/usb")
    with pytest.raises(Forbidden, match=f"the following labels: {', '.join(two)}"):
        store.create(cluster, kinds.NODE, node_with(*two), actor=Actor("system:node:n1"))
    for reserved in ("team.kubernetes.io/x", "k8s.io/y"):
        with pytest.raises(Forbidden, match=f"the following labels: {reserved}"):
            store.create(cluster, kinds.NODE, node_with(reserved), actor=Actor("system:node:n1"))
    allowed = ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack")
    with pytest.raises(Forbidden, match=f"is not allowed to set the following labels: {label}"):
        store.create(cluster, kinds.NODE, node_with(label), actor=Actor("system:node:n1"))
    store.create(cluster, kinds.NODE, node_with(*allowed), actor=Actor("system:node:n1"))
    with pytest.raises(Forbidden, match='"n2" is not allowed to modify node "n1"'):
        store.update(cluster, kinds.NODE, "", "n1", node_with(), actor=Actor("system:node:n2"))
    with pytest.raises(Forbidden, match=f"is not allowed to modify labels: {label}"):
        store.update(cluster, kinds.NODE, "", "n1", node_with(label), actor=Actor("bob"))
    body = store.update(cluster, kinds.NODE, "", "n1", node_with(label), actor=ACTOR)
    assert label in body["metadata"]["labels"]
    with pytest.raises(Forbidden, match=f"is not allowed to modify labels: {label}"):
        store.update(cluster, kinds.NODE, "", "n1", node_with(), actor=Actor("system:node:n1"))


def test_only_the_pods_of_a_group_run_on_its_nodes(cluster: Cluster) -> None:
    groups = {"team-a": {"namespaces": ["default"]}, "team-b": {"users": ["bob"]}}
    enable(cluster, "DedicatedNodes", groups=groups)
    expression = {"key": "dedicated", "operator": "In", "values": ["team-a"]}
    made = pod(cluster, "p1")
    assert tolerations(made) == [
        {"key": "dedicated", "operator": "Equal", "value": "team-a", "effect": "NoSchedule"}
    ]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = made["spec"]["affinity"]["nodeAffinity"][required]
    assert affinity["nodeSelectorTerms"] == [{"matchExpressions": [expression]}]
    own = {"key": "disk", "operator": "In", "values": ["ssd"]}
    terms = [{"matchExpressions": [own]}, {"matchFields": []}]
    given = {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}}
    alternatives = pod(cluster, "p2", affinity=given)["spec"]["affinity"]["nodeAffinity"][required]
    # every term requires a node of the group
    assert [each["matchExpressions"] for each in alternatives["nodeSelectorTerms"]] == [
        [own, expression],
        [expression],
    ]
    container = {"name": "c", "image": "i"}
    body = {"metadata": {"name": "p3"}, "spec": {"containers": [container]}}
    by_bob = store.create(cluster, kinds.POD, body, actor=Actor("bob"), namespace="kube-system")
    assert tolerations(by_bob)[0]["value"] == "team-b"


def test_a_limit_range_limits_the_sum_of_a_pods_containers(cluster: Cluster) -> None:
    limit = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}}
    kind = kinds.by_name("LimitRange")
    store.create(cluster, kind, limit, actor=ACTOR, namespace="default")
    resources = {"limits": {"cpu": "1500m"}}
    containers = [{"name": name, "image": "i", "resources": resources} for name in "ab"]
    body = {"metadata": {"name": "two"}, "spec": {"containers": containers}}
    with pytest.raises(Forbidden, match="maximum cpu usage per Pod is 2, but limit is 3"):
        store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")
    body["spec"]["containers"].pop()  # type: ignore[index, attr-defined]
    store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")


def test_create_cluster_enables_plugins() -> None:
    parameters = 'DedicatedNodes={"groups": {"a": {"namespaces": ["default"]}}}'
    chosen = ["--admission", "ExtendedResourceToleration", "--admission", parameters]
    call_command("create_cluster", "made", *chosen)
    assert Cluster.objects.get(name="made").admission_plugins == {
        "ExtendedResourceToleration": {},
        "DedicatedNodes": {"groups": {"a": {"namespaces": ["default"]}}},
    }
    with pytest.raises(CommandError, match="the parameters are not JSON"):
        call_command("create_cluster", "other", "--admission", "DedicatedNodes={")
