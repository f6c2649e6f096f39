"""Some rows of the snapshot, on which pods can come and go without touching the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.nodes import (
    CPU,
    MEMORY,
    BoolArray,
    Depends,
    ImageColumn,
    Int32Array,
    Int64Array,
    LabelColumn,
    NodeTable,
)

if TYPE_CHECKING:
    from apps.scheduler.framework.types import HostPort, NodeInfo, PodInfo


class Overlay(NodeTable):
    """k rows of a snapshot. Columns are gathered when first asked for.

    Valid until the snapshot is next updated.
    """

    def __init__(self, base: NodeTable, rows: Int64Array) -> None:
        self._base = base
        self.rows = rows
        #: lines whose pods were changed, with their own copies of the node
        self._changed: dict[int, NodeInfo] = {}
        self.taint_sets = base.taint_sets
        self.total_nodes = base.total_nodes

    def __len__(self) -> int:
        return len(self.rows)

    @lazy
    def alive(self) -> BoolArray:
        return self._base.alive[self.rows]

    @lazy
    def allocatable(self) -> Int64Array:
        return self._base.allocatable[:, self.rows]

    @lazy
    def requested(self) -> Int64Array:
        return self._base.requested[:, self.rows]

    @lazy
    def nonzero_requested(self) -> Int64Array:
        return self._base.nonzero_requested[:, self.rows]

    @lazy
    def pod_count(self) -> Int64Array:
        return self._base.pod_count[self.rows]

    @lazy
    def allowed_pods(self) -> Int64Array:
        return self._base.allowed_pods[self.rows]

    @lazy
    def unschedulable(self) -> BoolArray:
        return self._base.unschedulable[self.rows]

    @lazy
    def taint_ids(self) -> Int32Array:
        return self._base.taint_ids[self.rows]

    def info(self, line: int) -> NodeInfo:
        return self._changed.get(line) or self._base.info(int(self.rows[line]))

    def line_of(self, name: str) -> int:
        row = self._base.line_of(name)
        lines = np.flatnonzero(self.rows == row)
        return int(lines[0]) if row >= 0 and len(lines) else -1

    def label(self, key: str) -> LabelColumn:
        column = self._base.label(key)
        return LabelColumn(column.ids[self.rows], column.values)

    def image(self, name: str) -> ImageColumn | None:
        column = self._base.image(name)
        if column is None:
            return None
        return ImageColumn(column.size, column.nodes, column.present[self.rows])

    def resource_line(self, name: str) -> int:
        return self._base.resource_line(name)

    def port_conflicts(self, wanted: Sequence[HostPort]) -> BoolArray:
        lines = range(len(self))
        return np.array([self.info(line).port_conflicts(wanted) for line in lines], dtype=np.bool_)

    def memo(
        self,
        key: Hashable,
        compute: Callable[[NodeTable], NDArray[Any]],
        *,
        depends: Depends,
    ) -> NDArray[Any]:
        if self._changed and depends == "pods":
            return compute(self)
        column: NDArray[Any] = self._base.memo(key, compute, depends=depends)[..., self.rows]
        return column

    def select(self, lines: Int64Array) -> Overlay:
        """The lines without the pods added or removed here."""
        return Overlay(self._base, self.rows[lines])

    def add_pod(self, line: int, pod: PodInfo) -> None:
        """Let ``pod`` run on the node of this line as well."""
        self._own(line).add_pod(pod)
        self._count(line, pod, 1)

    def remove_pod(self, line: int, key: str) -> PodInfo:
        """Take the pod off the node of this line; returns it. KeyError if it is not there."""
        pod = self._own(line).remove_pod(key)
        self._count(line, pod, -1)
        return pod

    def _own(self, line: int) -> NodeInfo:
        info = self._changed.get(line)
        if info is None:
            info = self._changed[line] = self.info(line).clone()
        return info

    def _count(self, line: int, pod: PodInfo, sign: int) -> None:
        self.pod_count[line] += sign
        cpu, memory = pod.nonzero_requests
        self.nonzero_requested[CPU, line] += sign * cpu
        self.nonzero_requested[MEMORY, line] += sign * memory
        for name, amount in pod.requests.items():
            resource = self.resource_line(name)
            if resource >= 0:
                self.requested[resource, line] += sign * amount
