"""Tables of node names: decisions refer to nodes by their position in a table."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
import zstandard
from django.db import connection
from numpy.typing import NDArray

from apps.controlplane.models import NodeTable


@dataclass(frozen=True, slots=True)
class StoredNodes:
    """A node table in the database, and which rows of a snapshot are in it."""

    id: int
    #: (rows,) bool, the row is a node; None if every row is
    alive: NDArray[np.bool_] | None


class NodeTables:
    """Finds or stores the table of node names that decisions refer to."""

    def __init__(self, cluster_id: int) -> None:
        self._cluster_id = cluster_id
        self._names: tuple[str, ...] | None = None
        self._text = self._digest = b""
        self._alive: NDArray[np.bool_] | None = None
        self._stored: StoredNodes | None = None

    def begin(self) -> None:
        """Start a transaction: a table of an earlier one may have been rolled back or deleted."""
        self._stored = None

    def of(self, names: tuple[str, ...]) -> StoredNodes:
        """The table of a snapshot's names; consecutive decisions over the same nodes share it.

        It is not deleted before the transaction ends.
        """
        if names is not self._names:
            self._names, self._stored = names, None
            alive = np.array([bool(name) for name in names], dtype=np.bool_)
            self._alive = None if alive.all() else alive
            self._text = msgspec.json.encode([name for name in names if name])
            self._digest = hashlib.sha256(self._text).digest()
        if self._stored is None:
            self._stored = StoredNodes(self._find() or self._create(), self._alive)
        return self._stored

    def _find(self) -> int | None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM controlplane_nodetable WHERE cluster_id = %s AND digest = %s "
                "FOR KEY SHARE",
                [self._cluster_id, self._digest],
            )
            row = cursor.fetchone()
        return None if row is None else int(row[0])

    def _create(self) -> int:
        # no other process creates one for this cluster: this one holds the lease
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO controlplane_nodetable (cluster_id, digest, names) "
                "VALUES (%s, %s, %s) RETURNING id",
                [self._cluster_id, self._digest, zstandard.compress(self._text)],
            )
            row = cursor.fetchone()
        return int(row[0])


# tables are never updated, and their ids are never reused
@lru_cache(maxsize=16)
def node_names(table_id: int) -> tuple[str, ...]:
    """The names in a stored table. Raises NodeTable.DoesNotExist."""
    table = NodeTable.objects.get(pk=table_id)
    return tuple(msgspec.json.decode(zstandard.decompress(bytes(table.names))))
