"""The nominated pods as columns, so that the cost of a cycle hardly depends on their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.pod_change import BESIDES_RESOURCES, PodChange, amounts_of
from apps.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot

_SPARE = 64


class PodNominator(Protocol):
    """Pods that are nominated to a node and wait in the queue."""

    def pods_for_node(self, node_name: str) -> Sequence[PodInfo]: ...

    def __iter__(self) -> Iterator[tuple[str, PodInfo]]: ...

    def __len__(self) -> int: ...

    def subscribe(self, listener: Callable[[PodInfo, str, int], None]) -> None:
        """Call ``listener`` for every nomination (pod, node name, 1) and withdrawal (…, -1).

        It is called at once for the nominations that exist already.
        """


class NominatedPods:
    """Follows a nominator. Entries are in no order: the last one replaces a removed one."""

    def __init__(self, nominator: PodNominator, nodes: Snapshot) -> None:
        self._nodes = nodes
        self._pods: list[PodInfo] = []
        self._node_names: list[str] = []
        self._place_of: dict[str, int] = {}
        #: uids of the entries whose columns are not filled in yet
        self._pending: set[str] = set()
        #: names by row when the columns were filled in; new names may mean other rows
        self._names: Sequence[str] = ()
        #: (capacity,) int64: row of the node in the snapshot, -1 if there is none of that name
        self._rows = np.empty(0, dtype=np.int64)
        self._priorities = np.empty(0, dtype=np.int64)
        #: (resources + 3, capacity) int64: see `amounts_of`
        self._amounts = np.empty((0, 0), dtype=np.int64)
        #: the last answer about the whole snapshot, and the priority it is for, with the uid of a
        #: pod that is nominated itself; a cycle asks several times. None after any change
        self._answer: tuple[str, int, PodChange | None] | None = None
        nominator.subscribe(self._change)

    def pods_to_respect(self, pod: PodInfo, nodes: NodeColumns) -> PodChange | None:
        """The other nominated pods of equal or higher priority on rows of ``nodes``, if any.

        For the whole snapshot it is the same object as long as nothing has changed.
        """
        if not self._pods:
            return None
        self._fill_columns()
        if nodes is not self._nodes:
            return self._find(pod, nodes)
        uid = pod.uid if pod.uid in self._place_of else ""
        if self._answer is None or self._answer[:2] != (uid, pod.priority):
            self._answer = uid, pod.priority, self._find(pod, nodes)
        return self._answer[2]

    def _find(self, pod: PodInfo, nodes: NodeColumns) -> PodChange | None:
        count = len(self._pods)
        relevant = (self._priorities[:count] >= pod.priority) & (self._rows[:count] >= 0)
        own = self._place_of.get(pod.uid)
        if own is not None:
            relevant[own] = False
        places = np.flatnonzero(relevant)
        rows = self._rows[places]
        if nodes is not self._nodes:
            row_by_snapshot_row = np.full(len(self._nodes), -1, dtype=np.int64)
            row_by_snapshot_row[nodes.snapshot_rows] = np.arange(len(nodes))
            rows = row_by_snapshot_row[rows]
            places, rows = places[rows >= 0], rows[rows >= 0]
        return self._by_row(places, rows) if len(places) else None

    def _by_row(self, places: Int64Array, rows: Int64Array) -> PodChange:
        order = rows.argsort(kind="stable")
        places, rows = places.take(order), rows.take(order)
        amounts = self._amounts.take(places, axis=1)
        # Pods may be nominated and withdrawn while the change is in use.
        nominated = [self._pods[place] for place in places.tolist()]
        differs = rows[1:] != rows[:-1]
        if differs.all():
            return PodChange(rows, amounts, lambda place: [nominated[place]])
        starts = np.concatenate(([0], differs.nonzero()[0] + 1))
        ends = [*starts[1:].tolist(), len(rows)]
        sums = np.add.reduceat(amounts, starts, axis=1)
        return PodChange(
            rows.take(starts), sums, lambda place: nominated[int(starts[place]) : ends[place]]
        )

    def _change(self, pod: PodInfo, node_name: str, sign: int) -> None:
        self._answer = None
        if sign > 0:
            self._place_of[pod.uid] = len(self._pods)
            self._pods.append(pod)
            self._node_names.append(node_name)
            self._pending.add(pod.uid)
            return
        place = self._place_of.pop(pod.uid)
        self._pending.discard(pod.uid)
        last, last_name = self._pods.pop(), self._node_names.pop()
        if last.uid != pod.uid:
            self._pods[place], self._node_names[place] = last, last_name
            self._place_of[last.uid] = place
            self._pending.add(last.uid)

    def _fill_columns(self) -> None:
        """Fill in the columns of new entries; of all if the rows or the resources have changed."""
        height = len(self._nodes.requested) + BESIDES_RESOURCES
        if self._nodes.names is not self._names or len(self._amounts) != height:
            self._names = self._nodes.names
            self._pending.update(self._place_of)
            self._answer = None
        if len(self._amounts) != height or len(self._pods) > len(self._rows):
            capacity = max(2 * len(self._pods), _SPARE)
            self._rows = np.empty(capacity, dtype=np.int64)
            self._priorities = np.empty(capacity, dtype=np.int64)
            self._amounts = np.empty((height, capacity), dtype=np.int64)
            self._pending.update(self._place_of)
        for uid in self._pending:
            place = self._place_of[uid]
            pod = self._pods[place]
            self._rows[place] = self._nodes.row_of(self._node_names[place])
            self._priorities[place] = pod.priority
            self._amounts[:, place] = amounts_of(pod, self._nodes)
        self._pending.clear()
