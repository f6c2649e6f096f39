"""What tests of the loop share."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import yaml

from apps.cluster import kinds, queries
from apps.cluster.models import Cluster, Pod
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.controlplane.ledger.reading import read
from apps.controlplane.loop.engines import Engines
from apps.controlplane.models import SchedulingDecision
from apps.controlplane.profiles import revisions
from apps.scheduler.config import API_VERSION, KIND
from apps.scheduler.decision import Decision

ACTOR = Actor("tests", "request-9")
Body = dict[str, Any]


def pod(name: str, *, cpu: str = "100m", **spec: Any) -> Body:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def create_pods(cluster: Cluster, *bodies: Body) -> None:
    writes = [Create(kinds.POD, body, "default") for body in bodies]
    store.write(cluster, writes, actor=ACTOR)


def configure(cluster: Cluster, **parts: Any) -> None:
    """Make a configuration with these parts the active one."""
    text = yaml.safe_dump({"apiVersion": API_VERSION, "kind": KIND, **parts})
    revisions.add_revision(cluster, text, user="tests")


def enable(cluster: Cluster, *plugins: str) -> None:
    enabled = [{"name": name} for name in plugins]
    configure(cluster, profiles=[{"plugins": {"multiPoint": {"enabled": enabled}}}])


def node_of(cluster: Cluster, name: str) -> str:
    return Pod.objects.values_list("node_name", flat=True).get(cluster=cluster, name=name)


def status_of(cluster: Cluster, name: str) -> Body:
    status: Body = queries.get(cluster, kinds.POD, "default", name)["status"]
    return status


def decisions_on(cluster: Cluster, name: str) -> list[Decision]:
    """What the ledger has of a pod, oldest first."""
    rows = SchedulingDecision.objects.filter(cluster=cluster, name=name).order_by("id")
    return [read(row).decision for row in rows]


def run_until(engines: Engines, cluster: Cluster, done: Callable[[], Any]) -> None:
    """Run the loop as often as it takes."""
    until = monotonic() + 10
    while True:
        engines.run(cluster.pk)
        if done():
            return
        assert monotonic() < until, "the loop does not get there"
