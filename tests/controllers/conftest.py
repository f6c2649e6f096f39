"""A cluster with a manual clock, whose loop runs on request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster, Event
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines

ACTOR = Actor("tests")
Body = dict[str, Any]
#: The initial time of the clock.
START = datetime(2030, 1, 1, tzinfo=UTC)


class Lab:
    """A cluster, its loop and its controllers, as seen by a user."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._engines = Engines()

    def settle(self) -> None:
        """Run scheduler and controllers until nothing is left to do."""
        while self._engines.run(self.cluster.pk):
            pass

    def run_slice(self) -> None:
        """Run scheduler and controllers for as long as a task may, also if more is left to do."""
        self._engines.run(self.cluster.pk)

    def restart(self) -> None:
        """Continue in a new process, which only knows the database."""
        self._engines = Engines()

    def advance(self, seconds: float) -> None:
        """Advance the clock, and run everything that becomes due."""
        clock.advance(self.cluster, seconds)
        self.settle()

    def at(self, seconds: float) -> str:
        """The time this many seconds after the start, as in objects."""
        return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def create(self, kind: str, body: Body, namespace: str = "default") -> Body:
        found = kinds.by_name(kind)
        home = namespace if found.namespaced else ""
        return store.create(self.cluster, found, body, actor=ACTOR, namespace=home)

    def get(self, kind: str, name: str, namespace: str = "default") -> Body:
        found = kinds.by_name(kind)
        return queries.get(self.cluster, found, namespace if found.namespaced else "", name)

    def exists(self, kind: str, name: str, namespace: str = "default") -> bool:
        try:
            self.get(kind, name, namespace)
        except NotFound:
            return False
        return True

    def all(self, kind: str, namespace: str | None = None) -> list[Body]:
        found = kinds.by_name(kind)
        selection = queries.Selection(namespace=namespace)
        return queries.list_objects(self.cluster, found, selection).items

    def change(
        self, kind: str, name: str, change: Any, namespace: str = "default", part: str = ""
    ) -> None:
        """Change an object by a function of its body; `part` is a subresource."""
        found = kinds.by_name(kind)
        home = namespace if found.namespaced else ""
        store.patch(self.cluster, found, home, name, change, actor=ACTOR, subresource=part)

    def delete(self, kind: str, name: str, namespace: str = "default", **options: Any) -> None:
        found = kinds.by_name(kind)
        home = namespace if found.namespaced else ""
        store.delete(self.cluster, found, home, name, actor=ACTOR, options=options)

    def node(self, name: str, *, cpu: str = "8", **metadata: Any) -> None:
        """A Ready node."""
        body = generate_node(name, "zone-1", cpu=cpu)
        body["metadata"] |= metadata
        self.create("Node", body)

    def pod(self, name: str, **options: Any) -> Body:
        return self.create("Pod", pod(name, **options))

    def condition(self, kind: str, name: str, condition: str) -> Body:
        conditions = (self.get(kind, name).get("status") or {}).get("conditions") or []
        return next((each for each in conditions if each["type"] == condition), {})

    def set_condition(self, node: str, condition: str, status: str) -> None:
        """Set a condition of a node, like a kubelet."""

        def change(body: Body) -> Body:
            present = body["status"].get("conditions") or []
            others = [each for each in present if each["type"] != condition]
            told = {"type": condition, "status": status, "reason": "Test"}
            return {**body, "status": {**body["status"], "conditions": [*others, told]}}

        self.change("Node", node, change, part="status")

    def taints(self, node: str) -> set[str]:
        """The node's taints as `kubectl describe` shows them."""
        taints = self.get("Node", node)["spec"].get("taints") or []
        return {f"{taint['key']}:{taint['effect']}" for taint in taints}

    def events(self, reason: str) -> list[Body]:
        found = Event.objects.filter(cluster=self.cluster, reason=reason).order_by("id")
        return list(found.values_list("body", flat=True))


def pod(
    name: str,
    *,
    cpu: str = "100m",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Body:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}


@pytest.fixture
def lab() -> Lab:
    """An empty cluster at midnight, 1 January 2030."""
    cluster = create_cluster("lab", user="tests", tie_break="first-name")
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=START)
    cluster.refresh_from_db()
    return Lab(cluster)
