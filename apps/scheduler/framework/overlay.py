"""Some rows of the snapshot, on which pods can be added and removed without changing it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.node_columns import (
    BoolArray,
    Depends,
    ImageColumn,
    Int32Array,
    Int64Array,
    LabelColumn,
    NodeColumns,
)
from apps.scheduler.framework.pod_change import BESIDES_RESOURCES, PodChange, amounts_of

if TYPE_CHECKING:
    from apps.scheduler.framework.mounts import Mount
    from apps.scheduler.framework.types import HostPort, NodeInfo, PodInfo


#: rows up to which columns are computed for a part of the snapshot alone
MAX_PART: Final = 64


class Overlay(NodeColumns):
    """k rows of a snapshot. Columns are gathered when they are first used.

    Valid until the snapshot is next updated.
    """

    def __init__(self, base: NodeColumns, snapshot_rows: Int64Array) -> None:
        #: the snapshot
        self.base = base
        self.snapshot_rows = snapshot_rows
        #: rows on which pods were added or removed
        self._modified: set[int] = set()
        #: their own copies of the node, created on demand
        self._own: dict[int, NodeInfo] = {}
        #: (sign, change) in order, and how many of them are applied to each row's copy
        self._changes: list[tuple[int, PodChange]] = []
        self._shown: dict[int, int] = {}
        self.taint_sets = base.taint_sets
        self.total_nodes = base.total_nodes

    def __len__(self) -> int:
        return len(self.snapshot_rows)

    @lazy
    def alive(self) -> BoolArray:
        return self.base.alive[self.snapshot_rows]

    @lazy
    def allocatable(self) -> Int64Array:
        return self.base.amounts_at("allocatable", self.snapshot_rows)

    @lazy
    def requested(self) -> Int64Array:
        return self.base.amounts_at("requested", self.snapshot_rows)

    @lazy
    def nonzero_requested(self) -> Int64Array:
        column = self.base.amounts_at("nonzero_requested", self.snapshot_rows)
        for sign, change in self._changes:
            column[:, change.rows] += sign * change.amounts[-BESIDES_RESOURCES:-1]
        return column

    @lazy
    def pod_count(self) -> Int64Array:
        return self.base.pod_count[self.snapshot_rows]

    @lazy
    def allowed_pods(self) -> Int64Array:
        return self.base.allowed_pods[self.snapshot_rows]

    @lazy
    def unschedulable(self) -> BoolArray:
        return self.base.unschedulable[self.snapshot_rows]

    @lazy
    def taint_ids(self) -> Int32Array:
        return self.base.taint_ids[self.snapshot_rows]

    def info(self, row: int) -> NodeInfo:
        if row in self._modified:
            return self._copy(row)
        return self.base.info(int(self.snapshot_rows[row]))

    @lazy
    def _row_by_snapshot_row(self) -> dict[int, int]:
        return {shown: row for row, shown in enumerate(self.snapshot_rows.tolist())}

    def row_of(self, name: str) -> int:
        return self._row_by_snapshot_row.get(self.base.row_of(name), -1)

    def label(self, key: str) -> LabelColumn:
        column = self.base.label(key)
        return LabelColumn(column.ids[self.snapshot_rows], column.values, column.find)

    def image(self, name: str) -> ImageColumn | None:
        column = self.base.image(name)
        if column is None:
            return None
        return ImageColumn(column.size, column.nodes, column.present[self.snapshot_rows])

    def resource_index(self, name: str) -> int:
        return self.base.resource_index(name)

    def port_conflicts(self, wanted: Sequence[HostPort]) -> BoolArray:
        conflicts = np.zeros(len(self), dtype=np.bool_)
        # After many changes these are all rows of the snapshot, also those without a node.
        for row in self.alive.nonzero()[0].tolist():
            conflicts[row] = self.info(row).port_conflicts(wanted)
        return conflicts

    def mounted(self, mounts: Collection[Mount]) -> BoolArray:
        used = self.base.mounted(mounts)[self.snapshot_rows]
        for row in self.modified_rows:
            here = self.info(row).mounts
            used[row] = any(mount in here for mount in mounts)
        return used

    @property
    def modified_rows(self) -> Collection[int]:
        return self._modified

    def memo(
        self,
        key: Hashable,
        compute: Callable[[NodeColumns], NDArray[Any]],
        *,
        depends: Depends,
    ) -> NDArray[Any]:
        if self._modified and depends == "pods":
            return compute(self)
        column: NDArray[Any] = self.base.memo(key, compute, depends=depends)[
            ..., self.snapshot_rows
        ]
        return column

    def select(self, rows: Int64Array) -> Overlay:
        """These rows as an overlay of their own, without the pods added or removed here."""
        return Overlay(self.base, self.snapshot_rows[rows])

    def fork(self, rows: Int64Array) -> Overlay:
        """These rows with the pods added and removed here; the two change independently."""
        fork = Overlay(self.base, self.snapshot_rows[rows])
        for name in ("requested", "nonzero_requested", "pod_count"):
            if name in self.__dict__:
                fork.__dict__[name] = self.__dict__[name][..., rows]
        for sign, change in self._changes:
            places = [change.place_of.get(row, -1) for row in rows.tolist()]
            concerned = np.flatnonzero(np.array(places) >= 0)
            part = change.select(np.array(places, dtype=np.int64)[concerned], concerned)
            fork._changes.append((sign, part))
        for new, old in enumerate(rows.tolist()):
            if old in self._modified:
                fork._modified.add(new)
            if old in self._own:
                fork._own[new] = self._own[old].clone()
                fork._shown[new] = self._shown[old]
        return fork

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """Add ``pod`` to the node of this row."""
        self._modified.add(row)
        self._copy(row).add_pod(pod)
        self._count(row, pod, 1)

    def remove_pod(self, row: int, key: str) -> PodInfo:
        """Remove the pod from the node of this row, and return it.

        Raises KeyError if it is not there.
        """
        self._modified.add(row)
        pod = self._copy(row).remove_pod(key)
        self._count(row, pod, -1)
        return pod

    def add_pods(self, change: PodChange) -> None:
        """``add_pod`` for many rows; copies of their nodes are created on demand."""
        self._change(change, 1)

    def remove_pods(self, change: PodChange) -> None:
        """``remove_pod`` for many rows; the pods must be there."""
        self._change(change, -1)

    def _change(self, change: PodChange, sign: int) -> None:
        rows, amounts = change.rows, sign * change.amounts
        where = slice(None) if len(rows) == len(self) and _ascending(rows) else rows
        self.requested[:, where] += amounts[:-BESIDES_RESOURCES]
        self.pod_count[where] += amounts[-1]
        # Filters do not use this column; it is computed with all changes when it is first used.
        if "nonzero_requested" in self.__dict__:
            self.nonzero_requested[:, where] += amounts[-BESIDES_RESOURCES:-1]
        self._changes.append((sign, change))
        self._modified.update(rows.tolist())

    def _copy(self, row: int) -> NodeInfo:
        """The row's own copy of the node, with all changes applied."""
        own = self._own.get(row)
        if own is None:
            own = self._own[row] = self.base.info(int(self.snapshot_rows[row])).clone()
        for sign, change in self._changes[self._shown.get(row, 0) :]:
            place = change.place_of.get(row)
            for pod in change.pods(place) if place is not None else ():
                if sign > 0:
                    own.add_pod(pod)
                else:
                    own.remove_pod(pod.key)
        self._shown[row] = len(self._changes)
        return own

    def _count(self, row: int, pod: PodInfo, sign: int) -> None:
        amounts = sign * amounts_of(pod, self.base)
        self.requested[:, row] += amounts[:-BESIDES_RESOURCES]
        self.nonzero_requested[:, row] += amounts[-BESIDES_RESOURCES:-1]
        self.pod_count[row] += amounts[-1]


class RecomputingOverlay(Overlay):
    """A few rows: columns are computed for them alone, and no cached one is updated."""

    def memo(
        self,
        key: Hashable,
        compute: Callable[[NodeColumns], NDArray[Any]],
        *,
        depends: Depends,
    ) -> NDArray[Any]:
        return compute(self)


class BareNodes(RecomputingOverlay):
    """Nodes as objects alone: without the pods on them, and with no image known to be there."""

    has_pods = False

    @lazy
    def requested(self) -> Int64Array:
        return np.zeros_like(self.allocatable)

    @lazy
    def nonzero_requested(self) -> Int64Array:
        return np.zeros((2, len(self)), dtype=np.int64)

    @lazy
    def pod_count(self) -> Int64Array:
        return np.zeros(len(self), dtype=np.int64)

    def info(self, row: int) -> NodeInfo:
        return super().info(row).without_pods()

    def image(self, name: str) -> ImageColumn | None:
        return None

    def mounted(self, mounts: Collection[Mount]) -> BoolArray:
        return np.zeros(len(self), dtype=np.bool_)

    def select(self, rows: Int64Array) -> BareNodes:
        return BareNodes(self.base, self.snapshot_rows[rows])


def _ascending(rows: Int64Array) -> bool:
    return bool((rows[1:] > rows[:-1]).all())
