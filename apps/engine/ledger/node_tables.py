"""Tables of node names: decisions refer to nodes by their position in a table."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import zstandard
from django.db import connection
from numpy.typing import NDArray

from apps.cluster.arrays import int8s
from apps.cluster.prepared import Step
from apps.engine.models import NodeTable


@dataclass(frozen=True, slots=True)
class StoredNodes:
    """A node table in the database, and which rows of a snapshot are in it."""

    id: int
    #: (rows,) bool, the row is a node; None if every row is
    alive: NDArray[np.bool_] | None


class NodeTables:
    """Finds or stores the table of node names that decisions refer to."""

    #: What the step of the decisions depends on.
    FOUND = "(SELECT found FROM node_tables)"

    def __init__(self, cluster_id: int) -> None:
        self._cluster_id = cluster_id
        self._names: tuple[str, ...] | None = None
        self._stored: StoredNodes | None = None

    def of(self, names: tuple[str, ...]) -> StoredNodes:
        """The table of a snapshot's names; consecutive decisions over the same nodes share it.

        It may have been deleted, or its creation rolled back: see `step`.
        """
        if names is not self._names or self._stored is None:
            alive = np.array([bool(name) for name in names], dtype=np.bool_)
            text = msgspec.json.encode([name for name in names if name])
            digest = hashlib.sha256(text).digest()
            number = self._find(digest) or self._create(digest, text)
            self._names = names
            self._stored = StoredNodes(number, None if alive.all() else alive)
        return self._stored

    def knows(self, names: tuple[str, ...]) -> bool:
        """Whether `of` does not read the database."""
        return names is self._names and self._stored is not None

    def forget(self) -> None:
        """Find or store the next table, even if it is the last one."""
        self._stored = None

    def step(self, numbers: Collection[int]) -> Step:
        """Lock these tables, so that they are not deleted before the transaction ends."""
        return Step(
            "node_tables",
            "SELECT count(*) = cardinality($1) AS found FROM ("
            "SELECT FROM controlplane_nodetable WHERE id = ANY($1) FOR KEY SHARE) t",
            [int8s([*numbers])],
            "bool_and(found)",
        )

    @staticmethod
    def are_found(results: Mapping[str, Any]) -> bool:
        """Whether all tables of the step exist, by its result."""
        return bool(results["node_tables"])

    def _find(self, digest: bytes) -> int | None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM controlplane_nodetable WHERE cluster_id = %s AND digest = %s "
                "FOR KEY SHARE",
                [self._cluster_id, digest],
            )
            row = cursor.fetchone()
        return None if row is None else int(row[0])

    def _create(self, digest: bytes, text: bytes) -> int:
        # no other process creates one for this cluster: this one holds the lease
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO controlplane_nodetable (cluster_id, digest, names) "
                "VALUES (%s, %s, %s) RETURNING id",
                [self._cluster_id, digest, zstandard.compress(text)],
            )
            row = cursor.fetchone()
        return int(row[0])


# tables are never updated, and their ids are never reused
@lru_cache(maxsize=16)
def node_names(table_id: int) -> tuple[str, ...]:
    """The names in a stored table. Raises NodeTable.DoesNotExist."""
    table = NodeTable.objects.get(pk=table_id)
    return tuple(msgspec.json.decode(zstandard.decompress(bytes(table.names))))
