"""The verdicts on the pods of one signature, brought up to date for the rows that changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import FilterPlugin, Verdicts
from apps.scheduler.framework.nodes import Int64Array, NodeColumns, Reads
from apps.scheduler.framework.overlay import RecomputingOverlay
from apps.scheduler.framework.status import Code, Status
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.summary import NOTHING_REFUSED, Summary, summarize
from apps.scheduler.framework.verdicts import Passed, VerdictLayer, moved

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot

#: runs plugins on what the statuses left, until no row is left; returns how many ran
Run = Callable[[Sequence[FilterPlugin], NodeStatuses, NodeColumns, Stopwatch | None], int]

#: the verdicts of a filter on all rows
Ask = Callable[[FilterPlugin], Verdicts | None]

_NEVER: Final = -1
#: distinct amounts for which a status is stored
_MAX_AMOUNTS: Final = 4096
#: equal to no status
_UNKNOWN: Final = Status(Code.ERROR)


class SignedVerdicts:
    """Arrays that this hands out are read-only and never change afterwards."""

    def __init__(self, reads: Mapping[str, Reads], domains: Collection[str]) -> None:
        #: plugin that signed the pod -> what its answers depend on
        self._reads = reads
        self._nodes_only = {name for name, what in reads.items() if what == "nodes"}
        #: the filters of the last cycle, and those before the first that did not sign; how many
        #: of these look at nodes alone, and how many ran until no row was left
        self._all_filters: Sequence[FilterPlugin] = ()
        self._filters: Sequence[FilterPlugin] = ()
        self._of_nodes = self._ran = 0
        #: the names of those that ran, each with 0, and the last one
        self.times: dict[str, int] = {}
        self.last = ""
        #: whether those that look at more than nodes read nothing but amounts
        self._by_amounts_only = False
        #: what the filters answered, and those that look at nodes alone
        self.statuses = self._nodes_statuses = NodeStatuses.empty(0)
        #: the state of the snapshot for which all this holds
        self.node_version = self.position = _NEVER
        #: the amounts of a row -> its status, if the filters read nothing else
        self._by_amounts: dict[Hashable, Status | None] = {}
        #: (n,) int64, the rows that pass, ascending
        self.feasible: Int64Array = np.empty(0, dtype=np.int64)
        self.summary = NOTHING_REFUSED
        #: the same as one object
        self._passed = Passed(self.statuses, self.feasible)
        #: how many rows have each of the statuses
        self._used: list[int] = []
        #: the refusals of filters that look at domains, and what they left
        self._layers = {name: VerdictLayer(name) for name in domains}
        self._left = self._passed
        #: how many of the filters of the last cycle are among those or before them
        self.layers_end = 0

    @property
    def is_complete(self) -> bool:
        """Whether all filters of the last cycle signed the pod and none looks at domains."""
        return len(self._filters) == len(self._all_filters)

    def spent(self, nanoseconds: int) -> dict[str, int]:
        """Filter -> nanoseconds; the last one gets the time."""
        times, last = self.times.copy(), self.last
        for each in self._all_filters[len(self._filters) : self.layers_end]:
            last = each.name
            times[last] = 0
        if last:
            times[last] = nanoseconds
        return times

    def follow(self, rows: Sequence[int], snapshot: Snapshot) -> bool:
        """Enter the verdicts on changed rows without asking a filter; False if that does not do."""
        if not rows or self._ran == self._of_nodes:
            return True
        if not self._by_amounts_only:
            return False
        known, before, of_nodes = self._by_amounts, self.statuses, self._nodes_statuses.ids
        changes = {}
        for row in rows:
            if of_nodes[row] == NodeStatuses.FEASIBLE:
                status, answer = known.get(snapshot.amounts_of(row), _UNKNOWN), before.at(row)
                if status is _UNKNOWN:
                    return False
                if status is not answer and status != answer:
                    changes[row] = status
        return not changes or self._enter(changes)

    def filter(
        self,
        filters: Sequence[FilterPlugin],
        snapshot: Snapshot,
        run: Run,
        ask: Ask,
        watch: Stopwatch,
    ) -> NodeStatuses:
        """The verdicts of all ``filters``; those that did not sign run now."""
        if filters != self._all_filters:
            self._all_filters = list(filters)
            signed = filters[: _leading(filters, self._reads)]
            if signed != self._filters:
                self._filters = signed
                self.node_version = _NEVER
        self._update(snapshot, run, watch)
        left = self.look_further(ask)
        ran = self.layers_end
        if ran == len(filters) or not len(left.feasible):
            return NodeStatuses(left.statuses.ids, left.statuses.statuses.copy())
        statuses = left.statuses.copy()
        run(filters[ran:], statuses, snapshot, watch)
        return statuses

    def look_further(self, ask: Ask) -> Passed:
        """What filters that look at domains leave of ``feasible``."""
        left, filters, end = self._passed, self._all_filters, len(self._filters)
        while end < len(filters) and len(left.feasible) and filters[end].name in self._layers:
            left = self._layers[filters[end].name].on(left, ask(filters[end]))
            end += 1
        self._left, self.layers_end = left, end
        return left

    @property
    def is_signed(self) -> bool:
        """Whether all filters of the last cycle signed the pod and some node was left."""
        return self.layers_end == len(self._all_filters) and len(self._left.feasible) > 0

    def feasible_by(self, statuses: NodeStatuses) -> Int64Array:
        """The rows that pass by ``statuses``, ascending."""
        if statuses.ids is self._left.statuses.ids:
            return self._left.feasible
        return np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)

    def summary_by(self, statuses: NodeStatuses) -> Summary:
        """What ``statuses`` refuse."""
        if statuses.ids is self._passed.statuses.ids:
            return self.summary
        if statuses.ids is self._left.statuses.ids:
            return self._left.summary
        return summarize(statuses)

    def _update(self, snapshot: Snapshot, run: Run, watch: Stopwatch) -> None:
        rows = None
        if self.node_version == snapshot.node_version:
            rows = snapshot.rows_changed_since(self.position)
        if rows is None or not self._follow(rows, snapshot, run, watch):
            self._run_all(snapshot, run, watch)
        self.node_version, self.position = snapshot.node_version, snapshot.pods_position

    def _follow(self, rows: list[int], snapshot: Snapshot, run: Run, watch: Stopwatch) -> bool:
        """Ask about ``rows``, and enter the verdicts that changed; False if that does not do."""
        if rows and self._ran > self._of_nodes:
            changes = self._changes(rows, snapshot, run)
            if changes and not self._enter(changes):
                return False
        if self._ran:
            watch.note_all(self.times)
            watch.lap(self.last)
        return True

    def _changes(self, rows: list[int], snapshot: Snapshot, run: Run) -> dict[int, Status | None]:
        """Row -> its status, of the rows whose status is another one now."""
        before, of_nodes = self.statuses, self._nodes_statuses.ids
        open_rows = [row for row in rows if of_nodes[row] == NodeStatuses.FEASIBLE]
        if not open_rows:
            return {}
        if self._by_amounts_only:
            known = self._by_amounts
            for row in open_rows:
                if snapshot.amounts_of(row) not in known:
                    self._add_amounts(row, snapshot, run)
            statuses = [known.get(snapshot.amounts_of(row), _UNKNOWN) for row in open_rows]
        else:
            found = self._run_on(open_rows, snapshot, run)
            statuses = [found.at(place) for place in range(len(open_rows))]
        pairs = zip(open_rows, statuses, strict=True)
        return {row: status for row, status in pairs if status != before.at(row)}

    def _enter(self, changes: Mapping[int, Status | None]) -> bool:
        """Enter the statuses of rows; False if others are used then, or other filters would run."""
        passed = self._passed
        known, ids = passed.statuses.statuses, passed.statuses.ids
        if any(known.count(status) != 1 for status in changes.values()):
            return False
        rows = list(changes)
        old, new = ids[rows].tolist(), [known.index(status) for status in changes.values()]
        used = list(self._used)
        for before, after in zip(old, new, strict=True):
            used[before] -= 1
            used[after] += 1
        # If no row passed before, some filters have not run; if none passes now, fewer would.
        if not self._used[NodeStatuses.FEASIBLE] or 0 in used:
            return False
        ids = ids.copy()
        ids[rows] = new
        self._used = used
        self._show(passed.replace(ids, moved(passed.feasible, rows, old, new)))
        return True

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
        self.node_version = _NEVER
        filters = self._filters
        self._of_nodes = _leading(filters, self._nodes_only)
        self._by_amounts_only = all(
            self._reads[each.name] == "amounts" for each in filters[self._of_nodes :]
        )
        self._by_amounts.clear()
        self.statuses = statuses = NodeStatuses.untouched(snapshot.alive)
        self._ran = run(filters[: self._of_nodes], statuses, snapshot, watch)
        self._nodes_statuses = statuses.copy()
        if (statuses.ids == NodeStatuses.FEASIBLE).any():
            self._ran += run(filters[self._of_nodes :], statuses, snapshot, watch)
        self._show(Passed(statuses, np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)))
        evaluated = statuses.ids[statuses.ids != NodeStatuses.NOT_EVALUATED]
        self._used = np.bincount(evaluated, minlength=len(statuses.statuses)).tolist()
        self.times = dict.fromkeys((each.name for each in filters[: self._ran]), 0)
        self.last = filters[self._ran - 1].name if self._ran else ""

    def _show(self, passed: Passed) -> None:
        self._passed, self.statuses, self.feasible = passed, passed.statuses, passed.feasible
        self.summary = passed.summary


def _leading(filters: Sequence[FilterPlugin], names: Container[str]) -> int:
    """How many filters come before the first that is not one of ``names``."""
    for place, plugin in enumerate(filters):
        if plugin.name not in names:
            return place
    return len(filters)
