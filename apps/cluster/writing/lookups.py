"""Reads the other objects that admission needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from apps.cluster import models, sql
from apps.cluster.models import Cluster

Body = dict[str, Any]

_IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"


def read_limit_ranges(cluster: Cluster) -> dict[str, list[Body]]:
    """The LimitRanges of each namespace, by name."""
    by_namespace: dict[str, list[Body]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT namespace, body::text FROM cluster_dataobject "
            "WHERE cluster_id = %s AND kind = 'LimitRange' ORDER BY namespace, name",
            [cluster.pk],
        )
        for namespace, text in cursor.fetchall():
            by_namespace.setdefault(namespace, []).append(sql.load_json(text))
    return by_namespace


class StoreLookups:
    """Lookups in the database; each object is read once per write."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[str, str], Body | None] = {}
        self._limit_ranges: dict[str, list[Body]] | None = None

    def namespace(self, name: str) -> Body | None:
        """The namespace of this name."""
        return self._read_by_name(models.Namespace, name)

    def priority_class(self, name: str) -> Body | None:
        """The priority class of this name."""
        return self._read_by_name(models.PriorityClass, name)

    def runtime_class(self, name: str) -> Body | None:
        """The runtime class of this name."""
        return self._read_by_name(models.RuntimeClass, name)

    def default_priority_class(self) -> Body | None:
        """The class for pods without one; the smallest value if there are several."""
        return self._read_once(
            ("PriorityClass", ""),
            "SELECT body::text FROM cluster_priorityclass "
            "WHERE cluster_id = %s AND global_default ORDER BY value, name LIMIT 1",
            [self._cluster.pk],
        )

    def workload(self, namespace: str, name: str) -> Body | None:
        """The Workload of this name."""
        return self._read_once(
            ("Workload", f"{namespace}/{name}"),
            "SELECT body::text FROM cluster_dataobject "
            "WHERE cluster_id = %s AND kind = 'Workload' AND namespace = %s AND name = %s",
            [self._cluster.pk, namespace, name],
        )

    def limit_ranges(self, namespace: str) -> Sequence[Body]:
        """The LimitRanges of a namespace, by name."""
        if self._limit_ranges is None:
            self._limit_ranges = read_limit_ranges(self._cluster)
        return self._limit_ranges.get(namespace, ())

    def default_storage_class(self) -> Body | None:
        """The class for claims without one; the newest if there are several."""
        return self._read_once(
            ("StorageClass", ""),
            "SELECT body::text FROM cluster_storageclass WHERE cluster_id = %s "
            "AND body #>> %s = 'true' ORDER BY date_trunc('second', created_at) DESC, name LIMIT 1",
            [self._cluster.pk, ["metadata", "annotations", _IS_DEFAULT]],
        )

    def _read_by_name(self, model: type[models.KubernetesObject], name: str) -> Body | None:
        return self._read_once(
            (model.__name__, name),
            f"SELECT body::text FROM {model._meta.db_table} "
            "WHERE cluster_id = %s AND namespace = '' AND name = %s",
            [self._cluster.pk, name],
        )

    def _read_once(
        self, key: tuple[str, str], statement: str, parameters: list[Any]
    ) -> Body | None:
        """The first body that a statement finds; plain SQL, because every pod needs two."""
        if key not in self._known:
            with connection.cursor() as cursor:
                cursor.execute(statement, parameters)
                row = cursor.fetchone()
            self._known[key] = None if row is None else sql.load_json(row[0])
        return self._known[key]
