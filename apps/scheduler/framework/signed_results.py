"""What is known for the pods of one signature, brought up to date for the rows that changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState, StateData
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import FilterPlugin, Verdicts
from apps.scheduler.framework.nodes import Int64Array, NodeColumns, Reads
from apps.scheduler.framework.overlay import RecomputingOverlay
from apps.scheduler.framework.signed_scores import SignedScores
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.verdicts import Passed, VerdictLayer

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot

#: runs plugins on what the statuses left, until no row is left; returns how many ran
Run = Callable[[Sequence[FilterPlugin], NodeStatuses, NodeColumns, Stopwatch | None], int]
#: the verdicts of a filter on all rows
Ask = Callable[[FilterPlugin], Verdicts | None]

_NEVER: Final = -1
#: distinct amounts for which a status is stored
_MAX_AMOUNTS: Final = 4096


class SignedAnswers:
    """The outcome of PreFilter or PreScore by plugin, with the cycle data that it wrote."""

    def __init__(self, signed: Collection[str]) -> None:
        self._signed = signed
        #: plugin -> whether it returned Skip, and its data by key
        self._known: dict[str, tuple[bool, Mapping[str, StateData]]] = {}

    def answers_for(self, plugin: str, state: CycleState, skipped: set[str]) -> bool:
        """Do to ``state`` what the plugin would do; False if that is not known."""
        known = self._known.get(plugin)
        if known is None:
            return False
        skips, data = known
        if skips:
            skipped.add(plugin)
        for key, value in data.items():
            state.write(key, value.clone())
        return True

    def add(self, plugin: str, status: Status, written: Mapping[str, StateData]) -> None:
        """Remember the answer of a plugin that signed the pod, if it is success or Skip."""
        if plugin in self._signed and (status.is_success or status.is_skip):
            data = {key: value.clone() for key, value in written.items()}
            self._known[plugin] = (status.is_skip, data)


#: for pods without a signature
NOTHING_KNOWN: Final = SignedAnswers(frozenset())


class SignedResults:
    """Arrays that this hands out are read-only and never change afterwards."""

    def __init__(self, reads: Mapping[str, Reads]) -> None:
        """``reads``: plugin that signed the pod -> what its answers depend on."""
        #: those that look at domains run in each cycle, and are on top of the others
        self._layers = {n: VerdictLayer(n) for n, what in reads.items() if what == "domains"}
        self._reads = reads = {n: what for n, what in reads.items() if what != "domains"}
        self._nodes_only = {name for name, what in reads.items() if what == "nodes"}
        self.pre_filter = SignedAnswers(reads.keys())
        self.pre_score = SignedAnswers(reads.keys())
        self.scores = SignedScores(reads)
        #: filters before the first that did not sign; how many of them look at nodes alone, and
        #: how many ran until no row was left
        self._filters: list[FilterPlugin] = []
        self._of_nodes = self._ran = 0
        #: what the filters answered, and those that look at nodes alone
        self._statuses = self._nodes_statuses = NodeStatuses.empty(0)
        self._node_version = self._position = _NEVER
        #: the amounts of a row -> its status, if the filters read nothing else
        self._by_amounts: dict[Hashable, Status | None] = {}
        #: what these filters left, and what those that look at domains left of it
        self._passed = self._left = Passed(self._statuses, np.empty(0, dtype=np.int64))

    def filter(
        self,
        filters: Sequence[FilterPlugin],
        snapshot: Snapshot,
        run: Run,
        ask: Ask,
        watch: Stopwatch,
    ) -> NodeStatuses:
        """The verdicts of all ``filters``; those that did not sign run now."""
        signed = _leading(filters, self._reads)
        self._update(filters[:signed], snapshot, run, watch)
        layers = _leading(filters[signed:], self._layers)
        left = self._left = self._look_further(filters[signed : signed + layers], ask)
        if signed + layers == len(filters) or not len(left.feasible):
            return NodeStatuses(left.statuses.ids, list(left.statuses.statuses))
        statuses = left.statuses.copy()
        run(filters[signed + layers :], statuses, snapshot, watch)
        return statuses

    def _look_further(self, filters: Sequence[FilterPlugin], ask: Ask) -> Passed:
        """What filters that look at domains leave of the rows that pass."""
        left = self._passed
        for plugin in filters:
            if not len(left.feasible):
                break
            left = self._layers[plugin.name].on(left, ask(plugin))
        return left

    def feasible(self, statuses: NodeStatuses) -> Int64Array:
        """The rows that pass by ``statuses``, ascending."""
        if statuses.ids is self._left.statuses.ids:
            return self._left.feasible
        return np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)

    def _update(
        self, filters: Sequence[FilterPlugin], snapshot: Snapshot, run: Run, watch: Stopwatch
    ) -> None:
        rows = None
        if self._node_version == snapshot.node_version and filters == self._filters:
            rows = snapshot.rows_changed_since(self._position)
        if rows is None or not self._still_hold(rows, snapshot, run, watch):
            self._run_all(filters, snapshot, run, watch)
        self._node_version, self._position = snapshot.node_version, snapshot.pods_position

    def _still_hold(self, rows: Int64Array, snapshot: Snapshot, run: Run, watch: Stopwatch) -> bool:
        """Whether the verdicts on ``rows`` are what they were."""
        if len(rows) and self._ran > self._of_nodes and not self._unchanged(rows, snapshot, run):
            return False
        for plugin in self._filters[: self._ran]:
            watch.note(plugin.name)
        if self._ran:
            watch.lap(self._filters[self._ran - 1].name)
        return True

    def _unchanged(self, rows: Int64Array, snapshot: Snapshot, run: Run) -> bool:
        rows = rows[self._nodes_statuses.ids[rows] == NodeStatuses.FEASIBLE]
        filters, before = self._filters[self._of_nodes :], self._statuses
        if any(self._reads[each.name] != "amounts" for each in filters):
            found = NodeStatuses.untouched(np.ones(len(rows), dtype=np.bool_))
            run(filters, found, RecomputingOverlay(snapshot, rows), None)
            return all(before.at(row) == found.at(place) for place, row in enumerate(rows.tolist()))
        return all(
            before.at(row) == self._status_by_amounts(row, filters, snapshot, run)
            for row in rows.tolist()
        )

    def _status_by_amounts(
        self, row: int, filters: Sequence[FilterPlugin], snapshot: Snapshot, run: Run
    ) -> Status | None:
        """The status of a row by filters that read nothing but its amounts."""
        amounts = snapshot.amounts_of(row)
        if amounts not in self._by_amounts:
            if len(self._by_amounts) > _MAX_AMOUNTS:
                self._by_amounts.clear()
            found = NodeStatuses.untouched(np.ones(1, dtype=np.bool_))
            rows = np.array([row], dtype=np.int64)
            run(filters, found, RecomputingOverlay(snapshot, rows), None)
            self._by_amounts[amounts] = found.at(0)
        return self._by_amounts[amounts]

    def _run_all(
        self, filters: Sequence[FilterPlugin], snapshot: Snapshot, run: Run, watch: Stopwatch
    ) -> None:
        self._node_version = _NEVER
        self._filters = list(filters)
        self._of_nodes = _leading(filters, self._nodes_only)
        self._by_amounts.clear()
        self._statuses = statuses = NodeStatuses.untouched(snapshot.alive)
        self._ran = run(filters[: self._of_nodes], statuses, snapshot, watch)
        self._nodes_statuses = statuses.copy()
        if (statuses.ids == NodeStatuses.FEASIBLE).any():
            self._ran += run(filters[self._of_nodes :], statuses, snapshot, watch)
        self._passed = Passed(statuses, np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE))


def _leading(filters: Sequence[FilterPlugin], names: Container[str]) -> int:
    """How many filters come before the first that is not one of ``names``."""
    for place, plugin in enumerate(filters):
        if plugin.name not in names:
            return place
    return len(filters)
