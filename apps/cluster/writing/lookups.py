"""What admission needs to know of the cluster while it looks at one object."""

from __future__ import annotations

from typing import Any

from django.db import connection

from apps.cluster import models, sql
from apps.cluster.models import Cluster

Body = dict[str, Any]

_IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"

#: Kinds that admission looks up; a change of one raises the cluster's `admission_version`.
LOOKED_UP = frozenset({"Namespace", "PriorityClass", "RuntimeClass", "StorageClass"})


class StoreLookups:
    """Answers admission's questions from the database, each of them once a write."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[str, str], Body | None] = {}

    def namespace(self, name: str) -> Body | None:
        """The namespace of this name."""
        return self._named(models.Namespace, name)

    def priority_class(self, name: str) -> Body | None:
        """The priority class of this name."""
        return self._named(models.PriorityClass, name)

    def runtime_class(self, name: str) -> Body | None:
        """The runtime class of this name."""
        return self._named(models.RuntimeClass, name)

    def default_priority_class(self) -> Body | None:
        """The class for pods that name none: of several, the one with the smallest value."""
        return self._known_or_read(
            ("PriorityClass", ""),
            "SELECT body::text FROM cluster_priorityclass "
            "WHERE cluster_id = %s AND global_default ORDER BY value, name LIMIT 1",
            [self._cluster.pk],
        )

    def default_storage_class(self) -> Body | None:
        """The class for claims that name none: of several, the newest."""
        return self._known_or_read(
            ("StorageClass", ""),
            "SELECT body::text FROM cluster_storageclass WHERE cluster_id = %s "
            "AND body #>> %s = 'true' ORDER BY date_trunc('second', created_at) DESC, name LIMIT 1",
            [self._cluster.pk, ["metadata", "annotations", _IS_DEFAULT]],
        )

    def _named(self, model: type[models.KubernetesObject], name: str) -> Body | None:
        return self._known_or_read(
            (model.__name__, name),
            f"SELECT body::text FROM {model._meta.db_table} "
            "WHERE cluster_id = %s AND namespace = '' AND name = %s",
            [self._cluster.pk, name],
        )

    def _known_or_read(
        self, key: tuple[str, str], statement: str, parameters: list[Any]
    ) -> Body | None:
        """The body a statement finds; plain SQL, since every pod asks twice."""
        if key not in self._known:
            with connection.cursor() as cursor:
                cursor.execute(statement, parameters)
                row = cursor.fetchone()
            self._known[key] = None if row is None else sql.load_json(row[0])
        return self._known[key]
