"""The same writes have the same outcome in the store, by each of its ways, and in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction

from apps.administration.clusters.forking import fork_cluster
from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.models import Cluster
from apps.cluster.writes import Create, Delete, Update, Write
from apps.cluster.writing.binding import bind_change
from apps.cluster.writing.copying import copy_objects
from apps.engine.loop.engines import Engines
from apps.engine.profiles import revisions
from apps.studies.past.past_version import PastVersion
from apps.studies.scenarios.memory.cluster import MemoryCluster
from tests.cluster.writing.ways import (
    ACTOR,
    Creations,
    InMemory,
    OneStatement,
    Rows,
    Stored,
    answer_of,
    columns_of,
    log_of,
    rows_of,
    taints_of,
    without_drawn,
    without_times,
)
from tests.engine.driving import Traffic, traffic

Body = dict[str, Any]
NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
CPU = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
SPEC = {"containers": [{"name": "c", "image": "i", "resources": CPU}]}


def create(kind: str, name: str, namespace: str = "", **body: Any) -> Write:
    metadata = {"name": name, **body.pop("metadata", {})}
    return Create(kinds.by_name(kind), {"metadata": metadata, **body}, namespace)


def update(
    kind: str, name: str, change: Callable[[Body], Body], namespace: str = "", part: str = ""
) -> Write:
    return Update(kinds.by_name(kind), namespace, name, change, part)


def delete(kind: str, name: str, namespace: str = "", **options: Any) -> Write:
    return Delete(kinds.by_name(kind), namespace, name, options)


def with_metadata(**fields: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, "metadata": {**body["metadata"], **fields}}


def with_spec(**fields: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, "spec": {**(body.get("spec") or {}), **fields}}


def with_status(**fields: Any) -> Callable[[Body], Body]:
    return lambda body: {**body, "status": {**(body.get("status") or {}), **fields}}


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
MUTATING = {
    "matchConstraints": POLICY["matchConstraints"],
    "reinvocationPolicy": "Never",
    "mutations": [
        {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {
                "expression": "Object{metadata: Object.metadata{labels: {'marked': 'yes'}}}"
            },
        }
    ],
}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
IS_DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
BOUND = {"target": {"kind": "Node", "name": "n"}}
#: The writes that are refused.
REFUSED: list[Write] = []


def refused(write: Write) -> Write:
    REFUSED.append(write)
    return write


#: Pods that nothing charges and no policy knows, and what else may be created together.
TOGETHER: list[Write] = [
    create("Namespace", "plain"),
    create("RuntimeClass", "sandbox", handler="h", overhead={"podFixed": {"cpu": "250m"}}),
    create("StorageClass", "disk", provisioner="p", metadata={"annotations": IS_DEFAULT}),
    *(create("Pod", name, "plain", spec=SPEC) for name in "pq"),
    refused(create("Pod", "p", "plain", spec=SPEC)),
    create("Pod", "r", "plain", spec=SPEC),
    refused(create("Pod", "Wrong_", "plain", spec=SPEC)),
    create("Pod", "boxed", "plain", spec={**SPEC, "runtimeClassName": "sandbox"}),
    refused(create("Pod", "boxed-too", "plain", spec={**SPEC, "runtimeClassName": "missing"})),
    create("PersistentVolumeClaim", "data", "plain", spec=CLAIM),
    create("ConfigMap", "known", "plain", data={"a": 'a "quoted" é text'}),
    refused(create("ConfigMap", "known", "plain", data={"a": "b"})),
    create(
        "Event", "e", "plain", involvedObject={"namespace": "plain", "uid": "u"}, reason="Tried"
    ),
    create("Node", "m", metadata={"labels": {"zone": "z"}}),
    refused(create("Node", "m")),
    update("Event", "e", with_metadata(labels={"a": "b"}), "plain"),
    update("Node", "m", with_metadata(labels={"zone": "y"})),
    update(
        "Node", "m", with_spec(taints=[{"key": "k", "effect": "NoExecute"}], unschedulable=True)
    ),
    update("Node", "m", with_status(allocatable={"cpu": "2", "pods": "7"}), part="status"),
    update("Pod", "p", with_status(phase="Running", nominatedNodeName="m"), "plain", "status"),
    refused(update("Pod", "p", with_metadata(resourceVersion="1"), "plain")),
    Update(kinds.POD, "plain", "q", bind_change(BOUND, {}, NOW), "binding", trusted=True),
    refused(Update(kinds.POD, "plain", "q", bind_change(BOUND, {}, NOW), "binding", trusted=True)),
    refused(delete("Pod", "q", "plain", preconditions={"uid": "another"})),
    refused(delete("Pod", "r", "plain", preconditions={"resourceVersion": "1"})),
    delete("Event", "e", "plain"),
    delete("Node", "m"),
    create("Event", "late", "plain", involvedObject={"namespace": "plain"}, reason="Tried"),
    create("Node", "late", spec={"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}),
]
WRITES: list[Write] = [
    *TOGETHER,
    create("Namespace", "team"),
    refused(create("Namespace", "team")),
    refused(create("Namespace", "No name")),
    create("PriorityClass", "high", value=1000, globalDefault=True),
    create("LimitRange", "limits", "team", spec={"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}),
    create("Node", "n", spec={"taints": [{"key": "k", "effect": "NoSchedule"}]}),
    create("Pod", "a", "team", spec=SPEC),
    refused(create("Pod", "a", "team", spec=SPEC)),
    create("Pod", "b", "team", spec=SPEC),
    refused(create("Pod", "c", "nowhere", spec=SPEC)),
    refused(create("Pod", "d", "team", spec={**SPEC, "priorityClassName": "missing"})),
    refused(create("Pod", "e", "team", spec={"containers": []})),
    update("Pod", "a", with_metadata(labels={"app": "web"}), "team"),
    update("Pod", "a", with_metadata(labels={"app": "web"}), "team"),
    refused(update("Pod", "a", with_metadata(labels={"app": "not a label!"}), "team")),
    refused(update("Pod", "a", with_spec(priority=7), "team")),
    refused(update("Pod", "missing", with_metadata(), "team")),
    update("Pod", "a", with_metadata(finalizers=["example.com/hold"]), "team"),
    delete("Pod", "a", "team"),
    delete("Pod", "a", "team"),
    update("Pod", "a", with_metadata(finalizers=[]), "team"),
    create("ResourceQuota", "few", "team", spec={"hard": {"pods": "2", "services": "1"}}),
    create("Pod", "second", "team", spec={**SPEC, "nodeName": "n"}),
    refused(create("Pod", "third", "team", spec=SPEC)),
    delete("Pod", "second", "team", gracePeriodSeconds=5),
    delete("Pod", "second", "team", gracePeriodSeconds=0),
    create("Pod", "third", "team", spec=SPEC),
    create("Service", "web", "team", spec={"clusterIP": "10.96.0.9", "ports": [{"port": 80}]}),
    refused(
        create(
            "Service", "too-many", "team", spec={"clusterIP": "10.96.0.8", "ports": [{"port": 80}]}
        )
    ),
    delete("ResourceQuota", "few", "team"),
    refused(
        create("Service", "taken", "team", spec={"clusterIP": "10.96.0.9", "ports": [{"port": 80}]})
    ),
    refused(update("Service", "web", with_spec(ports=[{"port": 81, "nodePort": 30001}]), "team")),
    update(
        "Service",
        "web",
        with_spec(type="NodePort", ports=[{"port": 81, "nodePort": 30001}]),
        "team",
    ),
    refused(
        create(
            "Service",
            "port-taken",
            "team",
            spec={
                "type": "NodePort",
                "clusterIP": "10.96.0.7",
                "ports": [{"port": 1, "nodePort": 30001}],
            },
        )
    ),
    create("ConfigMap", "forbidden", "team", data={"name": "evil"}),
    create("ValidatingAdmissionPolicy", "names", spec=POLICY),
    create("ValidatingAdmissionPolicyBinding", "names", spec=BINDING),
    refused(create("Pod", "evil", "team", spec=SPEC)),
    create("Pod", "good", "team", spec=SPEC),
    update("ConfigMap", "forbidden", lambda body: {**body, "data": {"name": "good"}}, "team"),
    refused(update("Pod", "good", with_metadata(labels={"a": "b"}), "team")),
    delete("ValidatingAdmissionPolicyBinding", "names"),
    update("Pod", "good", with_metadata(labels={"a": "b"}), "team"),
    create("MutatingAdmissionPolicy", "marks", spec=MUTATING),
    create("MutatingAdmissionPolicyBinding", "marks", spec={"policyName": "marks"}),
    create("Pod", "marked", "team", spec=SPEC),
    update("Pod", "marked", with_metadata(labels={"own": "1"}), "team"),
    delete("MutatingAdmissionPolicyBinding", "marks"),
    refused(update("Deployment", "missing", with_spec(replicas=1), "team")),
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
    refused(update("Deployment", "web", with_spec(replicas=-1), "team")),
    delete("Deployment", "web", "team", propagationPolicy="Foreground"),
    update("Deployment", "web", with_metadata(finalizers=None), "team"),
    delete("Namespace", "team"),
    refused(create("Pod", "late", "team", spec=SPEC)),
]


@pytest.fixture
def cluster() -> Cluster:
    row = create_cluster("lab", user="tests", nodes=0, paused=True)
    row.manual_time = NOW
    row.save()
    return row


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", [Stored, OneStatement, Creations])
def test_every_way_writes_what_a_cluster_in_memory_writes(
    cluster: Cluster, way: type[Stored]
) -> None:
    memory = InMemory(cluster, NOW)
    before = cluster.resource_version
    blank: Callable[[Any], Any] = lambda value: value  # noqa: E731
    if way is Creations:
        # it leaves clusters with a clock of their own to the store
        blank = without_times
        Cluster.objects.update(manual_time=None)
    answers = [answer_of(outcome) for outcome in memory.write_all(WRITES)]
    found = [answer_of(outcome) for outcome in way(cluster).write_all(WRITES)]
    for number, (write, wanted) in enumerate(zip(WRITES, answers, strict=True)):
        assert blank(found[number]) == blank(wanted), (number, write.kind.name)
    errors = [write for write, each in zip(WRITES, answers, strict=True) if isinstance(each, tuple)]
    assert list(map(id, errors)) == list(map(id, REFUSED))

    log = log_of(cluster, before)
    own = [{**each, "object": answer_of(each["object"])} for each in log]
    for entry in own:
        del entry["uid"], entry["at"]
    assert blank(own) == blank(memory.log())
    assert all(str(each["uid"]) == each["object"]["metadata"]["uid"] for each in log)

    rows = rows_of(cluster)
    bodies = memory.bodies()
    assert set(rows) == set(bodies)
    changes: dict[tuple[str, str, str], list[Body]] = {}
    for entry in log:
        changes.setdefault(entry_key(entry), []).append(entry)
    written = [key for key in rows if key in changes]
    assert {"Namespace", "Node", "Pod", "Event", "ConfigMap"} <= {kind for kind, _, _ in written}
    for key in written:
        body = rows[key]["body"]
        assert blank(answer_of(body)) == blank(bodies[key])
        assert rows[key] == columns_of(key[0], body, changes[key])


@pytest.mark.django_db(transaction=True)
def test_what_is_copied_has_the_rows_of_its_source(cluster: Cluster) -> None:
    OneStatement(cluster).write_all(TOGETHER)
    cluster.refresh_from_db()
    before = rows_of(cluster), taints_of(cluster)
    moment = PastVersion(cluster.resource_version, cluster.now())
    OneStatement(cluster).write_all(WRITES[len(TOGETHER) :])
    rows, taints = rows_of(cluster), taints_of(cluster)
    assert taints and taints != before[1]

    copy = Cluster.objects.create(name="copy", manual_time=NOW)
    with transaction.atomic():
        copy_objects(cluster, copy, actor=ACTOR, progress=lambda done, total: None)
    fork = fork_cluster(cluster, moment, "fork", user="tests")

    assert (rows_of(copy), taints_of(copy)) == (without_events(rows), taints)
    logged = {entry_key(each): each for each in log_of(copy, 0)}
    assert set(logged) == set(without_events(rows))
    for key, entry in logged.items():
        row = rows[key]
        assert (entry["version"], entry["uid"]) == (row["resource_version"], row["uid"])
        assert (entry["type"], entry["object"], entry["previous_version"]) == (
            "ADDED",
            row["body"],
            None,
        )
        assert (entry["user"], entry["request_id"]) == (ACTOR.user, ACTOR.request_id)
    assert (rows_of(fork), taints_of(fork)) == (without_events(before[0]), before[1])
    assert log_of(fork, 0) == []


def without_events(rows: Rows) -> Rows:
    return {key: row for key, row in rows.items() if key[0] != "Event"}


def entry_key(entry: Body) -> tuple[str, str, str]:
    return entry["kind"], entry["namespace"], entry["name"]


def pods_to_bind() -> list[Write]:
    """Pods that a loop only binds, and that their kubelets start at once."""
    sidecar = {"name": "s", "image": "j", "restartPolicy": "Always"}
    return [
        create("Pod", "plain", "default", spec=SPEC),
        create("Pod", "labelled", "default", spec=SPEC, metadata={"labels": {"app": "x"}}),
        create("Pod", "annotated", "default", spec=SPEC, metadata={"annotations": {"note": "é"}}),
        create("Pod", "on-host", "default", spec={**SPEC, "hostNetwork": True}),
        create("Pod", "in-steps", "default", spec={**SPEC, "initContainers": [sidecar]}),
    ]


UNSCHEDULABLE = create("Pod", "waiting", "default", spec={**SPEC, "nodeSelector": {"z": "none"}})


def bind_all(cluster: Cluster) -> Traffic:
    """Let the loop of a cluster bind its pods, until it rests."""
    engines = Engines()
    with traffic() as found:
        while engines.run(cluster.pk):
            pass
    engines.close()
    return found


@pytest.mark.django_db(transaction=True)
def test_bindings_are_the_same_in_one_statement_by_the_store_and_in_memory() -> None:
    settings: Any = {"user": "tests", "nodes": 3, "zones": 3, "tie_break": "first-name"}
    placed, general = (create_cluster(name, **settings) for name in ("placed", "general"))
    Cluster.objects.update(manual_time=NOW)
    for cluster in (placed, general):
        cluster.refresh_from_db()
    # where there is a quota, the store decides
    Stored(general).write_all([create("ResourceQuota", "other", "kube-system", spec={"hard": {}})])
    memory = MemoryCluster(
        revisions.load_configuration(revisions.get_active(placed)),
        start=NOW,
        seed=1,
        tie_break="first-name",
    )
    for kind in kinds.ALL:
        for body in queries.list_objects(placed, kind).items:
            memory.write([Create(kind, body, body["metadata"].get("namespace", ""))])
    seen: list[Body] = []
    memory.on_change = lambda change: seen.append(
        {
            "kind": change.kind,
            "name": change.body["metadata"]["name"],
            "user": change.user,
            "object": change.body,
        }
    )
    for writes, in_one in ((pods_to_bind(), True), ([UNSCHEDULABLE], False)):
        memory.write(writes, ACTOR.user)
        memory.settle()
        for cluster in (placed, general):
            Stored(cluster).write_all(writes)
        assert bool(bind_all(placed).about("running_object")) == in_one
        assert not bind_all(general).about("running_object")
    memory.close()

    logs = [changes_of(log_of(cluster, 0)) for cluster in (placed, general)]
    assert logs[0] == logs[1]
    assert {name for kind, name in logs[0] if kind == "Event"}
    wanted = {key: log for key, log in logs[0].items() if key[0] == "Pod"}
    assert {key: log for key, log in changes_of(seen).items() if key[0] == "Pod"} == wanted
    assert [len(wanted["Pod", name]) for name in ("plain", "waiting")] == [3, 2]
    for cluster in (placed, general):
        log = log_of(cluster, 0)
        for key, row in rows_of(cluster).items():
            if key[0] in ("Pod", "Event"):
                own = [entry for entry in log if entry_key(entry) == key]
                assert row == columns_of(key[0], row["body"], own)


def changes_of(log: Sequence[Body]) -> dict[tuple[str, str], list[Any]]:
    """What became of each pod, and its events: who wrote it, and what."""
    found: dict[tuple[str, str], list[Any]] = {}
    for entry in log:
        if entry["kind"] in ("Pod", "Event"):
            body = without_drawn(entry["object"])
            key = entry["kind"], body["metadata"]["name"]
            found.setdefault(key, []).append((entry["user"], body))
    return found
