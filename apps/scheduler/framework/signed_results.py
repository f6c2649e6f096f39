"""What is known for the pods of one signature, brought up to date for the rows that changed."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import FilterPlugin
from apps.scheduler.framework.nodes import Int64Array, NodeColumns, Reads
from apps.scheduler.framework.overlay import RecomputingOverlay
from apps.scheduler.framework.signed_answers import SignedAnswers
from apps.scheduler.framework.signed_scores import SignedScores
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot

#: runs plugins on what the statuses left, until no row is left; returns how many ran
Run = Callable[[Sequence[FilterPlugin], NodeStatuses, NodeColumns, Stopwatch | None], int]

_NEVER: Final = -1
#: distinct amounts for which a status is stored
_MAX_AMOUNTS: Final = 4096


@dataclass(frozen=True, slots=True)
class Summary:
    """What the filters refused."""

    rejected: int
    statuses: tuple[Status, ...]


class SignedResults:
    """Arrays that this hands out are read-only and never change afterwards."""

    def __init__(
        self,
        reads: Mapping[str, Reads],
        skips: Mapping[str, Callable[[PodInfo], bool]],
    ) -> None:
        #: plugin that signed the pod -> what its answers depend on
        self._reads = reads
        self._nodes_only = {name for name, what in reads.items() if what == "nodes"}
        self._skips = list(skips.values())
        self.pre_filter = SignedAnswers(reads.keys(), skips.keys())
        self.pre_score = SignedAnswers(reads.keys(), skips.keys())
        self.scores = SignedScores(reads)
        #: filters before the first that did not sign; how many of them look at nodes alone, and
        #: how many ran until no row was left
        self._filters: Sequence[FilterPlugin] = ()
        self._of_nodes = self._ran = 0
        #: the filters for which ``_filters`` was found
        self._all_filters: Sequence[FilterPlugin] = ()
        #: the names of those that ran, each with 0
        self._times: dict[str, int] = {}
        #: whether those that look at more than nodes read nothing but amounts
        self._by_amounts_only = False
        #: what the filters answered, and those that look at nodes alone
        self._statuses = self._nodes_statuses = NodeStatuses.empty(0)
        self._node_version = self._position = _NEVER
        #: the amounts of a row -> its status, if the filters read nothing else
        self._by_amounts: dict[Hashable, Status | None] = {}
        self._feasible: Int64Array = np.empty(0, dtype=np.int64)
        self._summary = Summary(0, ())

    def begin(self, pod: PodInfo) -> None:
        """A cycle starts for a pod of this signature."""
        others_skip = True
        for skips in self._skips:
            if not skips(pod):
                others_skip = False
                break
        self.pre_filter.others_skip = self.pre_score.others_skip = others_skip

    def filter(
        self, filters: Sequence[FilterPlugin], snapshot: Snapshot, run: Run, watch: Stopwatch
    ) -> NodeStatuses:
        """The verdicts of all ``filters``; those that did not sign run now."""
        if filters != self._all_filters:
            self._all_filters = list(filters)
            self._filters = filters[: _leading(filters, self._reads)]
            self._node_version = _NEVER
        self._update(snapshot, run, watch)
        signed = len(self._filters)
        if signed == len(filters) or not len(self._feasible):
            return NodeStatuses(self._statuses.ids, self._statuses.statuses.copy())
        statuses = self._statuses.copy()
        run(filters[signed:], statuses, snapshot, watch)
        return statuses

    def summary(self, statuses: NodeStatuses) -> Summary | None:
        """The summary of ``statuses``, if it is known."""
        return self._summary if statuses.ids is self._statuses.ids else None

    def feasible(self, statuses: NodeStatuses) -> Int64Array:
        """The rows that pass by ``statuses``, ascending."""
        if statuses.ids is self._statuses.ids:
            return self._feasible
        return np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)

    def _update(self, snapshot: Snapshot, run: Run, watch: Stopwatch) -> None:
        rows = None
        if self._node_version == snapshot.node_version:
            rows = snapshot.rows_changed_since(self._position)
        if rows is None or not self._still_hold(rows, snapshot, run, watch):
            self._run_all(snapshot, run, watch)
        self._node_version, self._position = snapshot.node_version, snapshot.pods_position

    def _still_hold(self, rows: list[int], snapshot: Snapshot, run: Run, watch: Stopwatch) -> bool:
        """Whether the verdicts on ``rows`` are what they were."""
        if rows and self._ran > self._of_nodes and not self._unchanged(rows, snapshot, run):
            return False
        if self._ran:
            watch.note_all(self._times)
            watch.lap(self._filters[self._ran - 1].name)
        return True

    def _unchanged(self, rows: list[int], snapshot: Snapshot, run: Run) -> bool:
        before, of_nodes = self._statuses, self._nodes_statuses.ids
        if self._by_amounts_only:
            known = self._by_amounts
            for row in rows:
                if of_nodes[row] != NodeStatuses.FEASIBLE:
                    continue
                amounts = snapshot.amounts_of(row)
                if amounts not in known:
                    self._add_amounts(row, snapshot, run)
                if before.at(row) != known[amounts]:
                    return False
            return True
        open_rows = [row for row in rows if of_nodes[row] == NodeStatuses.FEASIBLE]
        found = self._run_on(open_rows, snapshot, run)
        return all(before.at(row) == found.at(place) for place, row in enumerate(open_rows))

    def _add_amounts(self, row: int, snapshot: Snapshot, run: Run) -> None:
        """Store the status of rows with the amounts of ``row``."""
        if len(self._by_amounts) > _MAX_AMOUNTS:
            self._by_amounts.clear()
        self._by_amounts[snapshot.amounts_of(row)] = self._run_on([row], snapshot, run).at(0)

    def _run_on(self, rows: list[int], snapshot: Snapshot, run: Run) -> NodeStatuses:
        """What the filters that look at more than nodes answer for ``rows``."""
        found = NodeStatuses.untouched(np.ones(len(rows), dtype=np.bool_))
        overlay = RecomputingOverlay(snapshot, np.array(rows, dtype=np.int64))
        run(self._filters[self._of_nodes :], found, overlay, None)
        return found

    def _run_all(self, snapshot: Snapshot, run: Run, watch: Stopwatch) -> None:
        self._node_version = _NEVER
        filters = self._filters
        self._of_nodes = _leading(filters, self._nodes_only)
        self._by_amounts_only = all(
            self._reads[each.name] == "amounts" for each in filters[self._of_nodes :]
        )
        self._by_amounts.clear()
        self._statuses = statuses = NodeStatuses.untouched(snapshot.alive)
        self._ran = run(filters[: self._of_nodes], statuses, snapshot, watch)
        self._nodes_statuses = statuses.copy()
        if (statuses.ids == NodeStatuses.FEASIBLE).any():
            self._ran += run(filters[self._of_nodes :], statuses, snapshot, watch)
        self._feasible = np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)
        statuses.ids.setflags(write=False)
        self._feasible.setflags(write=False)
        self._times = dict.fromkeys((each.name for each in filters[: self._ran]), 0)
        self._summary = Summary(statuses.rejected, tuple(each for each, _ in statuses.used()))


def _leading(filters: Sequence[FilterPlugin], names: Container[str]) -> int:
    """How many filters come before the first that is not one of ``names``."""
    for place, plugin in enumerate(filters):
        if plugin.name not in names:
            return place
    return len(filters)
