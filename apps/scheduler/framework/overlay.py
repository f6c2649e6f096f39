"""Some rows of the snapshot, on which pods can come and go without touching the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.nodes import (
    BoolArray,
    Depends,
    ImageColumn,
    Int32Array,
    Int64Array,
    LabelColumn,
    NodeTable,
)
from apps.scheduler.framework.pod_change import BESIDES_RESOURCES, PodChange, amounts_of

if TYPE_CHECKING:
    from apps.scheduler.framework.mounts import Mount
    from apps.scheduler.framework.types import HostPort, NodeInfo, PodInfo


class Overlay(NodeTable):
    """k rows of a snapshot. Columns are gathered when first asked for.

    Valid until the snapshot is next updated.
    """

    def __init__(self, base: NodeTable, rows: Int64Array) -> None:
        #: the snapshot
        self.base = base
        self.rows = rows
        #: lines whose pods were changed
        self._modified: set[int] = set()
        #: their own copies of the node, made when they are asked for
        self._own: dict[int, NodeInfo] = {}
        #: (sign, change) in order, and how many of them each line's copy shows
        self._changes: list[tuple[int, PodChange]] = []
        self._shown: dict[int, int] = {}
        self.taint_sets = base.taint_sets
        self.total_nodes = base.total_nodes

    def __len__(self) -> int:
        return len(self.rows)

    @lazy
    def alive(self) -> BoolArray:
        return self.base.alive[self.rows]

    @lazy
    def allocatable(self) -> Int64Array:
        return self.base.allocatable.take(self.rows, axis=1)

    @lazy
    def requested(self) -> Int64Array:
        return self.base.requested.take(self.rows, axis=1)

    @lazy
    def nonzero_requested(self) -> Int64Array:
        column = self.base.nonzero_requested.take(self.rows, axis=1)
        for sign, change in self._changes:
            column[:, change.lines] += sign * change.amounts[-BESIDES_RESOURCES:-1]
        return column

    @lazy
    def pod_count(self) -> Int64Array:
        return self.base.pod_count[self.rows]

    @lazy
    def allowed_pods(self) -> Int64Array:
        return self.base.allowed_pods[self.rows]

    @lazy
    def unschedulable(self) -> BoolArray:
        return self.base.unschedulable[self.rows]

    @lazy
    def taint_ids(self) -> Int32Array:
        return self.base.taint_ids[self.rows]

    def info(self, line: int) -> NodeInfo:
        if line in self._modified:
            return self._copy(line)
        return self.base.info(int(self.rows[line]))

    @lazy
    def _line_of_row(self) -> dict[int, int]:
        return {row: line for line, row in enumerate(self.rows.tolist())}

    def line_of(self, name: str) -> int:
        return self._line_of_row.get(self.base.line_of(name), -1)

    def label(self, key: str) -> LabelColumn:
        column = self.base.label(key)
        return LabelColumn(column.ids[self.rows], column.values, column.find)

    def image(self, name: str) -> ImageColumn | None:
        column = self.base.image(name)
        if column is None:
            return None
        return ImageColumn(column.size, column.nodes, column.present[self.rows])

    def resource_line(self, name: str) -> int:
        return self.base.resource_line(name)

    def port_conflicts(self, wanted: Sequence[HostPort]) -> BoolArray:
        lines = range(len(self))
        return np.array([self.info(line).port_conflicts(wanted) for line in lines], dtype=np.bool_)

    def mounted(self, mounts: Collection[Mount]) -> BoolArray:
        used = self.base.mounted(mounts)[self.rows]
        for line in self.modified_lines:
            here = self.info(line).mounts
            used[line] = any(mount in here for mount in mounts)
        return used

    @property
    def modified_lines(self) -> Collection[int]:
        return self._modified

    def memo(
        self,
        key: Hashable,
        compute: Callable[[NodeTable], NDArray[Any]],
        *,
        depends: Depends,
    ) -> NDArray[Any]:
        if self._modified and depends == "pods":
            return compute(self)
        column: NDArray[Any] = self.base.memo(key, compute, depends=depends)[..., self.rows]
        return column

    def select(self, lines: Int64Array) -> Overlay:
        """The lines without the pods added or removed here, on which pods can come and go."""
        return Overlay(self.base, self.rows[lines])

    def fork(self, lines: Int64Array) -> Overlay:
        """The lines with the pods added and removed here; the two change independently."""
        fork = Overlay(self.base, self.rows[lines])
        for name in ("requested", "nonzero_requested", "pod_count"):
            if name in self.__dict__:
                fork.__dict__[name] = self.__dict__[name][..., lines]
        for sign, change in self._changes:
            places = [change.place_of.get(line, -1) for line in lines.tolist()]
            concerned = np.flatnonzero(np.array(places) >= 0)
            part = change.select(np.array(places, dtype=np.int64)[concerned], concerned)
            fork._changes.append((sign, part))
        for new, old in enumerate(lines.tolist()):
            if old in self._modified:
                fork._modified.add(new)
            if old in self._own:
                fork._own[new] = self._own[old].clone()
                fork._shown[new] = self._shown[old]
        return fork

    def add_pod(self, line: int, pod: PodInfo) -> None:
        """Let ``pod`` run on the node of this line as well."""
        self._modified.add(line)
        self._copy(line).add_pod(pod)
        self._count(line, pod, 1)

    def remove_pod(self, line: int, key: str) -> PodInfo:
        """Take the pod off the node of this line; returns it. KeyError if it is not there."""
        self._modified.add(line)
        pod = self._copy(line).remove_pod(key)
        self._count(line, pod, -1)
        return pod

    def add_pods(self, change: PodChange) -> None:
        """``add_pod`` for many lines; copies of their nodes are made when they are asked for."""
        self._change(change, 1)

    def remove_pods(self, change: PodChange) -> None:
        """``remove_pod`` for many lines; the pods must be there."""
        self._change(change, -1)

    def _change(self, change: PodChange, sign: int) -> None:
        lines, amounts = change.lines, sign * change.amounts
        where = slice(None) if len(lines) == len(self) and _ascending(lines) else lines
        self.requested[:, where] += amounts[:-BESIDES_RESOURCES]
        self.pod_count[where] += amounts[-1]
        # Filters do not look at this one; it follows the changes when it is asked for.
        if "nonzero_requested" in self.__dict__:
            self.nonzero_requested[:, where] += amounts[-BESIDES_RESOURCES:-1]
        self._changes.append((sign, change))
        self._modified.update(lines.tolist())

    def _copy(self, line: int) -> NodeInfo:
        """The line's own copy of the node, brought up to date."""
        own = self._own.get(line)
        if own is None:
            own = self._own[line] = self.base.info(int(self.rows[line])).clone()
        for sign, change in self._changes[self._shown.get(line, 0) :]:
            place = change.place_of.get(line)
            for pod in change.pods(place) if place is not None else ():
                if sign > 0:
                    own.add_pod(pod)
                else:
                    own.remove_pod(pod.key)
        self._shown[line] = len(self._changes)
        return own

    def _count(self, line: int, pod: PodInfo, sign: int) -> None:
        amounts = sign * amounts_of(pod, self.base)
        self.requested[:, line] += amounts[:-BESIDES_RESOURCES]
        self.nonzero_requested[:, line] += amounts[-BESIDES_RESOURCES:-1]
        self.pod_count[line] += amounts[-1]


def _ascending(lines: Int64Array) -> bool:
    return bool((lines[1:] > lines[:-1]).all())
