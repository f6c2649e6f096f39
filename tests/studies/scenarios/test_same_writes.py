"""The same writes have the same outcome in the store, by each of its ways, and in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.errors import ApiError
from apps.cluster.models import Change, Cluster
from apps.cluster.writes import Actor, Create, Delete, Update, Write
from apps.cluster.writing import store
from apps.studies.scenarios.memory.clock import MemoryClock
from apps.studies.scenarios.memory.objects import MemoryObjects

Body = dict[str, Any]
USER = "tests"
NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
#: Different for each object that is created, and each write.
_DRAWN = ("uid", "resourceVersion")
CPU = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
SPEC = {"containers": [{"name": "c", "image": "i", "resources": CPU}]}


def create(kind: str, name: str, namespace: str = "", **body: Any) -> Write:
    metadata = {"name": name, **body.pop("metadata", {})}
    return Create(kinds.by_name(kind), {"metadata": metadata, **body}, namespace)


def update(kind: str, name: str, change: Callable[[Body], Body], namespace: str = "") -> Write:
    return Update(kinds.by_name(kind), namespace, name, change)


def delete(kind: str, name: str, namespace: str = "", **options: Any) -> Write:
    return Delete(kinds.by_name(kind), namespace, name, options)


def with_metadata(**fields: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, "metadata": {**body["metadata"], **fields}}


def with_spec(**fields: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, "spec": {**(body.get("spec") or {}), **fields}}


def bound(body: Body) -> Body:
    return {**body, "spec": {**body["spec"], "nodeName": "n"}}


POLICY = {
    "matchConstraints": {
        "resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}
        ]
    },
    "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
    "validations": [{"expression": "object.metadata.name != params.data.name"}],
}
BINDING = {
    "policyName": "names",
    "paramRef": {"name": "forbidden", "namespace": "team", "parameterNotFoundAction": "Deny"},
    "validationActions": ["Deny"],
}
WRITES: list[Write] = [
    create("Namespace", "team"),
    create("Namespace", "team"),
    create("Namespace", "No name"),
    create("PriorityClass", "high", value=1000, globalDefault=True),
    create("LimitRange", "limits", "team", spec={"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}),
    create("Node", "n", spec={"taints": [{"key": "k", "effect": "NoSchedule"}]}),
    create("Pod", "a", "team", spec=SPEC),
    create("Pod", "a", "team", spec=SPEC),
    create("Pod", "b", "team", spec=SPEC),
    create("Pod", "c", "nowhere", spec=SPEC),
    create("Pod", "d", "team", spec={**SPEC, "priorityClassName": "missing"}),
    create("Pod", "e", "team", spec={"containers": []}),
    update("Pod", "a", with_metadata(labels={"app": "web"}), "team"),
    update("Pod", "a", with_metadata(labels={"app": "web"}), "team"),
    update("Pod", "a", with_metadata(labels={"app": "not a label!"}), "team"),
    update("Pod", "a", with_spec(priority=7), "team"),
    update("Pod", "missing", with_metadata(), "team"),
    update("Pod", "a", with_metadata(finalizers=["example.com/hold"]), "team"),
    delete("Pod", "a", "team"),
    delete("Pod", "a", "team"),
    update("Pod", "a", with_metadata(finalizers=[]), "team"),
    create("ResourceQuota", "few", "team", spec={"hard": {"pods": "2", "services": "1"}}),
    create("Pod", "second", "team", spec={**SPEC, "nodeName": "n"}),
    create("Pod", "third", "team", spec=SPEC),
    delete("Pod", "second", "team", gracePeriodSeconds=5),
    delete("Pod", "second", "team", gracePeriodSeconds=0),
    create("Pod", "third", "team", spec=SPEC),
    create("Service", "web", "team", spec={"clusterIP": "10.96.0.9", "ports": [{"port": 80}]}),
    create("Service", "too-many", "team", spec={"clusterIP": "10.96.0.8", "ports": [{"port": 80}]}),
    delete("ResourceQuota", "few", "team"),
    create("Service", "taken", "team", spec={"clusterIP": "10.96.0.9", "ports": [{"port": 80}]}),
    update("Service", "web", with_spec(ports=[{"port": 81, "nodePort": 30001}]), "team"),
    update(
        "Service",
        "web",
        with_spec(type="NodePort", ports=[{"port": 81, "nodePort": 30001}]),
        "team",
    ),
    create(
        "Service",
        "port-taken",
        "team",
        spec={
            "type": "NodePort",
            "clusterIP": "10.96.0.7",
            "ports": [{"port": 1, "nodePort": 30001}],
        },
    ),
    create("ConfigMap", "forbidden", "team", data={"name": "evil"}),
    create("ValidatingAdmissionPolicy", "names", spec=POLICY),
    create("ValidatingAdmissionPolicyBinding", "names", spec=BINDING),
    create("Pod", "evil", "team", spec=SPEC),
    create("Pod", "good", "team", spec=SPEC),
    update("ConfigMap", "forbidden", lambda body: {**body, "data": {"name": "good"}}, "team"),
    update("Pod", "good", with_metadata(labels={"a": "b"}), "team"),
    delete("ValidatingAdmissionPolicyBinding", "names"),
    update("Pod", "good", with_metadata(labels={"a": "b"}), "team"),
    update("Deployment", "missing", with_spec(replicas=1), "team"),
    create(
        "Deployment",
        "web",
        "team",
        spec={
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": SPEC},
        },
    ),
    update("Deployment", "web", with_spec(replicas=3), "team"),
    update("Deployment", "web", with_spec(replicas=-1), "team"),
    delete("Deployment", "web", "team", propagationPolicy="Foreground"),
    update("Deployment", "web", with_metadata(finalizers=None), "team"),
    delete("Namespace", "team"),
    create("Pod", "late", "team", spec=SPEC),
]
#: The numbers of those that are refused.
REFUSED = [1, 2, 7, 9, 10, 11, 14, 15, 16, 23, 28, 30, 31, 33, 37, 40, 43, 46, 50]


@pytest.fixture
def cluster() -> Cluster:
    row = create_cluster("lab", user=USER, nodes=0, paused=True)
    row.manual_time = NOW
    row.save()
    return row


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("locks", [False, True], ids=["one statement", "locks first"])
def test_memory_writes_what_the_store_writes(cluster: Cluster, locks: bool) -> None:
    objects = MemoryObjects(Cluster(name="scenario", api_gates=cluster.api_gates), 7)
    MemoryClock(objects.cluster, NOW)
    for kind in kinds.ALL:
        for body in queries.list_objects(cluster, kind).items:
            objects.write([Create(kind, body, body["metadata"].get("namespace", ""))], USER)
    objects.changes.clear()
    before = Cluster.objects.get(pk=cluster.pk).resource_version
    refused: list[int] = []
    for number, write in enumerate(WRITES):
        wanted = in_store(cluster, write, locks=locks)
        (outcome,) = objects.write([write], USER, collect_refusals=True)
        assert comparable(outcome) == comparable(wanted), f"write {number}: {write}"
        if isinstance(outcome, ApiError):
            refused.append(number)
    assert refused == REFUSED
    log = Change.objects.filter(cluster=cluster, version__gt=before).order_by("version")
    assert [entry(each.kind, each.object) for each in log] == [
        entry(each.kind, each.body) for each in objects.changes
    ]


def in_store(cluster: Cluster, write: Write, *, locks: bool) -> Body | ApiError:
    """Inside a transaction the store locks first; otherwise one statement writes one object."""
    cluster.refresh_from_db()
    if not locks:
        return store.write(cluster, [write], actor=Actor(USER), collect_refusals=True)[0]
    with transaction.atomic():
        return store.write(cluster, [write], actor=Actor(USER), collect_refusals=True)[0]


def entry(kind: str, body: Mapping[str, Any]) -> tuple[str, Any]:
    return kind, comparable(body)


def comparable(outcome: Any) -> Any:
    """An object without what is drawn, or what an error says."""
    if isinstance(outcome, ApiError):
        return outcome.code, outcome.reason, outcome.message, outcome.details
    metadata = {key: value for key, value in outcome["metadata"].items() if key not in _DRAWN}
    return {**outcome, "metadata": metadata}
