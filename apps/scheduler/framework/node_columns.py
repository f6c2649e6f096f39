"""The columns that plugins compute on: one array per attribute, one row per node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from apps.scheduler.framework.mounts import Mount
    from apps.scheduler.framework.types import HostPort, NodeInfo
    from apps.scheduler.objects import Taint

Int64Array = NDArray[np.int64]
Int32Array = NDArray[np.int32]
UInt16Array = NDArray[np.uint16]
BoolArray = NDArray[np.bool_]

#: resource indices that are the same for all tables; of other resources: NodeColumns.resource_index
CPU, MEMORY, EPHEMERAL_STORAGE = 0, 1, 2

#: what a memoized column is computed from: the Node objects alone, or their pods as well
Depends = Literal["node", "pods"]

#: what answers about a node depend on: Node objects alone; or also the amounts of the row
#: (allocatable, requested, nonzero_requested, pod_count, allowed_pods) and nothing else of its
#: pods; or the pods themselves; or also pods on other nodes, e.g. those of a topology domain
Reads = Literal["nodes", "amounts", "pods", "domains"]

#: the columns with a row for each resource
AmountsName = Literal["allocatable", "requested", "nonzero_requested"]


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """The values of one label key, dictionary encoded.

    A predicate over values is evaluated once per distinct value and spread over the nodes::

        column.where(lambda value: value in ("a", "b"))
    """

    #: (n,) int32, index into ``values``; -1 where a node lacks the key
    ids: Int32Array
    #: distinct values ever seen for the key; append-only, shared by all tables
    values: Sequence[str]
    #: the id of a value, -1 if no node ever had it
    find: Callable[[str], int]

    def table(self, predicate: Callable[[str | None], bool]) -> BoolArray:
        """(values + 1,) bool: the predicate of each value; the last entry is for "absent".

        Since -1 indexes the last entry, ``table[ids]`` is right for absent labels as well.
        """
        answers = [predicate(value) for value in self.values]
        return np.array([*answers, predicate(None)], dtype=np.bool_)

    def where(self, predicate: Callable[[str | None], bool]) -> BoolArray:
        """(n,) bool: for which nodes the predicate of the value (None = absent) holds."""
        return self.table(predicate)[self.ids]

    def is_any_of(self, values: Iterable[str]) -> BoolArray:
        """(n,) bool: nodes that have one of these values; the others need not be looked at."""
        listed = np.zeros(len(self.values) + 1, dtype=np.bool_)
        listed[[number for number in map(self.find, values) if number >= 0]] = True
        return listed[self.ids]


@dataclass(frozen=True, slots=True)
class ImageColumn:
    """Where one container image is present."""

    #: bytes, as reported by the first node that had the image
    size: int
    #: number of nodes of the whole cluster that have it
    nodes: int
    #: (n,) bool
    present: BoolArray


class NodeColumns(ABC):
    """Columns over n rows: the snapshot itself, or an overlay of some of its rows.

    Every array has one entry per row. The snapshot's rows are stable slots, of which some may be
    dead (``alive`` is False; a plugin's answers for them are ignored). Label values, taint sets and
    resources are interned in the snapshot, and their ids are the same in every overlay, so
    per-cycle data indexed by such an id fits both. Arrays are read-only to plugins.
    """

    #: False for nodes that show no pods, though the snapshot has some on them
    has_pods: bool = True
    #: (n,) int64, the snapshot's row of each row
    snapshot_rows: Int64Array
    #: (n,) bool, the row is a node
    alive: BoolArray
    #: (resources, n) int64, by resource_index; CPU in milli-CPU, the others in bytes or whole units
    allocatable: Int64Array
    #: (resources, n) int64, same units: requested by the pods on the node, assumed ones included
    requested: Int64Array
    #: (2, n) int64, CPU and MEMORY with the defaults of containers without a request
    nonzero_requested: Int64Array
    #: (n,) int64, pods on the node, and the greatest number the node allows
    pod_count: Int64Array
    allowed_pods: Int64Array
    #: (n,) bool, spec.unschedulable
    unschedulable: BoolArray
    #: (n,) int32, index into ``taint_sets``
    taint_ids: Int32Array
    #: distinct lists of taints; append-only, shared by all tables; entry 0 is ()
    taint_sets: Sequence[tuple[Taint, ...]]
    #: number of nodes in the whole cluster (of the snapshot, also in an overlay)
    total_nodes: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def info(self, row: int) -> NodeInfo:
        """The node of a row with its pods; in an overlay with the pods added and removed there."""

    @abstractmethod
    def row_of(self, name: str) -> int:
        """The row of the node with this name, -1 if the table has none."""

    @abstractmethod
    def label(self, key: str) -> LabelColumn: ...

    @abstractmethod
    def image(self, name: str) -> ImageColumn | None:
        """The column of a normalized image name; None when no node of the cluster has the image."""

    @abstractmethod
    def resource_index(self, name: str) -> int:
        """Index of a resource in ``allocatable`` and ``requested``; -1 if no node has it."""

    @abstractmethod
    def port_conflicts(self, wanted: Sequence[HostPort]) -> BoolArray:
        """(n,) bool: where any of the wanted host ports is taken."""

    @abstractmethod
    def mounted(self, mounts: Collection[Mount]) -> BoolArray:
        """(n,) bool: where a pod has any of these mounts."""

    @property
    @abstractmethod
    def modified_rows(self) -> Collection[int]:
        """Rows whose pods are not those of the snapshot; see Overlay."""

    @abstractmethod
    def memo(
        self,
        key: Hashable,
        compute: Callable[[NodeColumns], NDArray[Any]],
        *,
        depends: Depends,
    ) -> NDArray[Any]:
        """``compute(self)``, cached across cycles and updated row by row.

        ``compute`` must be local: entry i of its result (any dtype, nodes on the last axis) may
        depend only on row i (and on ``key``). The snapshot then calls it for the few rows that
        changed since the last time, as a small overlay. Put into ``key`` everything else it
        reads: the plugin's name, its arguments, the part of the pod that it uses. With
        ``depends="node"`` only changes of Node objects count, with "pods" also those of pods.
        The result is read-only and never changes afterwards; it may be stored in a Decision.
        """

    def amounts_at(self, name: AmountsName, rows: Int64Array) -> Int64Array:
        """(resources, k) int64, a copy of one of the matrices at k ``rows``."""
        amounts: Int64Array = getattr(self, name)
        return amounts.take(rows, axis=1)

    @abstractmethod
    def select(self, rows: Int64Array) -> NodeColumns:
        """An Overlay of k of these rows, without pods that were added or removed here."""


@lru_cache(maxsize=64)
def constant(length: int, value: int) -> Int64Array:
    """(length,) int64, all ``value``; shared and read-only."""
    column = np.full(length, value, dtype=np.int64)
    column.setflags(write=False)
    return column


def take(column: NDArray[Any], rows: Int64Array) -> NDArray[Any]:
    """``column`` at ``rows`` (ascending, distinct); the column itself where that is all of it."""
    if len(rows) == column.shape[-1]:
        return column
    # Several times as fast as indexing, above all for matrices.
    return column.take(rows, axis=-1)
