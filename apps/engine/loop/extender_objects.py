"""Complete objects for extenders, including the fields that the scheduler does not read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import connection

from apps.cluster import kinds
from apps.scheduler.extenders.bodies import declared_fields
from apps.scheduler.objects import KubeObject


class StoredBodies:
    """Reads bodies from the database; caches those of nodes, as a call may list thousands."""

    def __init__(self, cluster_id: int) -> None:
        self._cluster_id = cluster_id
        #: name -> (resourceVersion, JSON)
        self._nodes: dict[str, tuple[str, bytes]] = {}

    def __call__(self, kind: str, items: Sequence[KubeObject]) -> list[bytes]:
        """The current body of each item as JSON; of a deleted one, the fields that are known."""
        if kind != "Node":
            bodies = self._read(kind, items)
            return [bodies.get(_key(item)) or declared_fields(kind, [item])[0] for item in items]
        stale = [
            node for node in items if self._cached_version(node) != node.metadata.resource_version
        ]
        bodies = self._read(kind, stale)
        for node in stale:
            body = bodies.get(_key(node)) or declared_fields(kind, [node])[0]
            self._nodes[node.metadata.name] = (node.metadata.resource_version, body)
        return [self._nodes[node.metadata.name][1] for node in items]

    def _cached_version(self, node: KubeObject) -> str | None:
        cached = self._nodes.get(node.metadata.name)
        return cached[0] if cached is not None else None

    def _read(self, kind: str, items: Iterable[KubeObject]) -> dict[tuple[str, str], bytes]:
        keys = [_key(item) for item in items]
        if not keys:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT t.namespace, t.name, t.body::text "
                f"FROM {kinds.by_name(kind).table} t "
                "JOIN unnest(%s::text[], %s::text[]) AS w(namespace, name) "
                "ON t.namespace = w.namespace AND t.name = w.name WHERE t.cluster_id = %s",
                [[key[0] for key in keys], [key[1] for key in keys], self._cluster_id],
            )
            return {(namespace, name): body.encode() for namespace, name, body in cursor.fetchall()}


def _key(item: KubeObject) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name
