"""Objects of the lab's tests."""

from __future__ import annotations

from typing import Any

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from tests.engine.driving import ACTOR, pod

Body = dict[str, Any]


def manifest(name: str, **options: Any) -> Body:
    return {"apiVersion": "v1", "kind": "Pod", **pod(name, **options)}


def create_replica_set(cluster: Cluster, replicas: int, cpu: str) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x", cpu=cpu)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    body = {"metadata": {"name": "web"}, "spec": spec}
    write = Create(kinds.by_name("ReplicaSet"), body, "default")
    store.write(cluster, [write], actor=ACTOR)
    Engines().run(cluster.pk)
    cluster.refresh_from_db()
