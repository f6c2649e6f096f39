"""A URL for every page of the dashboard and every main list of the API.

New routes of the dashboard are found automatically; they need a line here only if they have new
parameters. Routes that only accept POST are included, and return 405 for GET.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
import zstandard
from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, reverse

from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.administration.operations import (
    lab_questions,
    previewing,
    recorded_decisions,
    replays,
    running,
    scenarios,
)
from apps.administration.webhooks import service
from apps.cluster import kinds
from apps.cluster.models import Change, Cluster, Node, Pod
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.dashboard.urls import urlpatterns
from apps.engine.ledger import saved_views
from apps.engine.models import Operation, PastCluster, SavedView, SchedulingDecision
from apps.engine.profiles import revisions
from apps.studies.lab.simulation import SimulationRequest
from apps.studies.replay.levels import SERIES
from apps.studies.replay.report import Figures, ReplayReport

#: what is not for a logged-in user
LOGIN_ROUTES = frozenset({"login", "logout", "openid", "openid-callback", "set-password"})
#: objects with generic pages; `furnish` creates the second
_GENERAL = {"resource": "priorityclasses.scheduling.k8s.io", "name": "system-node-critical"}
_NAMESPACED = {
    "resource": "poddisruptionbudgets.policy",
    "namespace": "default",
    "name": "sample",
}


_SCENARIO = """\
name: sample
cluster:
  nodes: [{count: 2, cpu: 2}]
workloads:
  - {name: web, count: 5, requests: {cpu: "1"}}
expectations:
  - {boundWithin: 1s, pods: {workload: web}}
sweep:
  seeds: [1, 2]
"""

_RECORD = """\
{"time": "2026-05-01T10:00:00Z", "event": "Add", "resource": {"apiVersion": "v1", "kind": "Node", \
"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}}}
{"time": "2026-05-01T10:00:01Z", "event": "Add", "resource": {"apiVersion": "v1", "kind": "Pod", \
"metadata": {"name": "web", "namespace": "default", "annotations": \
{"kube-scheduler-simulator.sigs.k8s.io/filter-result": "{}", \
"kube-scheduler-simulator.sigs.k8s.io/selected-node": "n2"}}, \
"spec": {"nodeName": "n2", "containers": [{"name": "c", "image": "i"}]}}}
"""


def furnish(cluster: Cluster, actor: Actor) -> None:
    """Add what detail pages need: an object, operations, a view, a deleted cluster."""
    budget = {"metadata": {"name": "sample"}, "spec": {"minAvailable": 1, "selector": {}}}
    kind = kinds.by_name("PodDisruptionBudget")
    store.write(cluster, [Create(kind, budget, "default")], actor=actor)
    delete_cluster(create_cluster("deleted", user=actor.user), user=actor.user)
    result = previewing.PreviewResult(
        subject="revision 1",
        configuration=revisions.BUILT_IN,
        legacy=False,
        effects={},
        decisions=[],
    )
    Operation.objects.create(
        kind=previewing.KIND,
        title="Preview revision 1",
        cluster=cluster,
        state=Operation.State.SUCCEEDED,
        arguments={"subject": "revision 1"},
        output=zstandard.compress(msgspec.json.encode(result)),
        output_name=previewing.OUTPUT_NAME,
        user=actor.user,
    )
    moment = cluster.now()
    figures = Figures(
        attempts=0, bound=0, pending=0, preempted=0, waiting_p50=None, waiting_p99=None
    )
    report = ReplayReport(
        cluster=cluster.name,
        since_version=1,
        since_at=moment,
        until_version=2,
        until_at=moment,
        changed="nothing",
        decisions=1,
        equal=1,
        unknown=0,
        inexact=[],
        first=None,
        first_at=None,
        recorded=figures,
        replayed=figures,
        differing=0,
        differences=[],
        times=[moment],
        recorded_series={name: [0.0] for name, _ in SERIES},
        replayed_series={name: [0.0] for name, _ in SERIES},
    )
    Operation.objects.create(
        kind=replays.KIND,
        title="Replay versions 1 to 2 unchanged",
        cluster=cluster,
        state=Operation.State.SUCCEEDED,
        output=zstandard.compress(msgspec.json.encode(report)),
        output_name=replays.OUTPUT_NAME,
        user=actor.user,
    )
    Operation.objects.create(
        kind="export",
        title=f"Export cluster {cluster.name}",
        cluster=cluster,
        state=Operation.State.SUCCEEDED,
        output=zstandard.compress(b"kind: List\n"),
        output_name="cluster.yaml",
        user=actor.user,
    )
    running.run(scenarios.start(_SCENARIO, {}, actor=actor).pk)
    running.run(recorded_decisions.start(_RECORD, "record.jsonl", "", actor=actor).pk)
    asked = lab_questions.start_question(
        cluster, "emptiable", SimulationRequest(), nodes=(), actor=actor
    )
    running.run(asked.pk)
    query = {"group": "pod", "result": "unschedulable"}
    saved_views.create_view(cluster, actor.user, name="failed", query=query)
    service.add_webhook(
        cluster, "https://hooks.example.com/schedweb", ["pod.unschedulable"], user=actor.user
    )


def pages(cluster: Cluster) -> dict[str, str]:
    """Name -> path of every route, with objects of `cluster`, which `furnish` has prepared."""
    values = _values(cluster)
    return {
        name: reverse(name, kwargs={each: _value(values, name, each) for each in parameters})
        for name, parameters in routes(urlpatterns)
        if name not in LOGIN_ROUTES
    }


def lists(cluster: Cluster) -> dict[str, str]:
    """Name -> path of the API lists."""
    name, node = cluster.name, Node.objects.filter(cluster=cluster).earliest("id").name
    core, control = f"/k8s/{name}/api/v1", f"/api/v1/clusters/{name}"
    return {
        "API clusters": "/api/v1/clusters",
        "API decisions": f"{control}/decisions",
        "API decisions by pod": f"{control}/decisions/aggregate?group=pod",
        "API decisions by hour and result": f"{control}/decisions/aggregate?group=hour,result",
        "API queue": f"{control}/queue",
        "API profiles": f"{control}/profiles",
        "API series of a day": f"{control}/series?since=24h",
        "k8s nodes, 500": f"{core}/nodes?limit=500",
        "k8s pods, 500": f"{core}/pods?limit=500",
        "k8s pods of a node": f"{core}/pods?fieldSelector=spec.nodeName%3D{node}",
        "k8s events, 500": f"{core}/events?limit=500",
        "metrics of a cluster": f"/k8s/{name}/metrics",
        "metrics of the site": "/metrics",
    }


def routes(
    patterns: Iterable[URLPattern | URLResolver], above: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(name, names of parameters) of every route."""
    for pattern in patterns:
        own = (*above, *pattern.pattern.converters)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, own)
        elif pattern.name:
            yield pattern.name, own


def _value(values: Mapping[str, Any], page: str, parameter: str) -> Any:
    """The value of a parameter for a page: a specific one, or the default."""
    for part in (page, *page.split("-")):
        if f"{part}.{parameter}" in values:
            return values[f"{part}.{parameter}"]
    return values[parameter]


def _values(cluster: Cluster) -> dict[str, Any]:
    """Values of parameters; "page.parameter" for a specific page, or a part of its name."""
    decisions = SchedulingDecision.objects.filter(cluster=cluster)
    pod = Pod.objects.filter(cluster=cluster).exclude(node_name="").latest("id")
    operation = Operation.objects.filter(cluster=cluster, output__isnull=False).latest("id")
    objects = {
        f"{page}.{name}": value
        for page, example in (("object", _GENERAL), ("objects", _GENERAL))
        for name, value in example.items()
    }
    namespaced = {
        f"{page}.{name}": value
        for page in ("namespaced-object", "edit-namespaced-object", "delete-namespaced-object")
        for name, value in _NAMESPACED.items()
    }
    return {
        **objects,
        **namespaced,
        "cluster": cluster.name,
        "revision": 1,
        "version": Change.objects.filter(cluster=cluster).latest("version").version,
        "number": decisions.filter(result="unschedulable").latest("id").pk,
        "inputs.number": decisions.filter(result="scheduled").latest("id").pk,
        "scores.number": decisions.filter(result="scheduled").latest("id").pk,
        "status": 1,
        "operation.number": operation.pk,
        "recorded.number": Operation.objects.filter(kind=recorded_decisions.KIND).latest("id").pk,
        "scenario.number": Operation.objects.filter(kind=scenarios.KIND).latest("id").pk,
        "preview.number": Operation.objects.filter(cluster=cluster, kind="preview").latest("id").pk,
        "replay.number": Operation.objects.filter(cluster=cluster, kind="replay").latest("id").pk,
        "lab-question.number": Operation.objects.filter(kind=lab_questions.KIND).latest("id").pk,
        "answers.namespace": pod.namespace,
        "answers.name": pod.name,
        "webhook.number": service.webhooks_of(cluster).latest("pk").pk,
        "forget.number": PastCluster.objects.latest("id").pk,
        "name": pod.node_name,
        # every test and every run of the benchmark has a user
        "user.name": User.objects.earliest("pk").username,
        "session": "0123456789abcdef",
        "uidb64": "MQ",
        "token": "used",
        "pod.namespace": pod.namespace,
        "pod.name": pod.name,
        "uid": pod.uid,
        "view": SavedView.objects.filter(cluster=cluster).latest("id").pk,
        "plugin": "NodeResourcesFit",
        "document": "queue",
        "file.document": "images/decision-light.png",
    }
