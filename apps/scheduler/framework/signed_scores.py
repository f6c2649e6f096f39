"""The scores of the pods of one signature, brought up to date for the rows that changed."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.nodes import Int64Array, NodeColumns, Reads
from apps.scheduler.framework.overlay import RecomputingOverlay
from apps.scheduler.framework.scoring import ScoreColumn, Scorer
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot

_NEVER: Final = -1
#: rows that are entered one by one; more than these are worth whole columns
_MAX_PATCHES: Final = 64
#: distinct amounts for which scores are stored
_MAX_AMOUNTS: Final = 4096


@dataclass(frozen=True, slots=True)
class Cycle:
    """What Score is called with."""

    state: CycleState
    pod: PodInfo
    snapshot: Snapshot

    def raw(self, scorer: Scorer, nodes: NodeColumns, rows: Int64Array) -> Int64Array:
        """What the plugin's Score returns for ``rows`` of ``nodes``."""
        return scorer.raw(self.state, self.pod, nodes, rows)


class SignedScores:
    """Columns of the plugins that signed the pod; those of others are computed in each cycle."""

    def __init__(self, reads: Mapping[str, Reads]) -> None:
        #: plugin that signed the pod -> what its answers depend on
        self._reads = reads
        #: plugin -> (rows of the snapshot,) int64, what Score returned; not handed out
        self._raw: dict[str, Int64Array] = {}
        #: the amounts of a row -> the raw scores of the plugins that read nothing else
        self._by_amounts: dict[Hashable, tuple[int, ...]] = {}
        self._node_version = self._position = _NEVER
        #: rows whose raw scores changed since the columns were brought up to date
        self._changed: list[int] = []
        #: the feasible rows, the columns aligned with them, and the sum of weighted scores
        self._rows: Int64Array | None = None
        self._columns: dict[str, ScoreColumn] = {}
        self._total: Int64Array = np.empty(0, dtype=np.int64)
        #: the columns of the other plugins
        self._others: dict[str, ScoreColumn] = {}

    def score(
        self, scorers: Sequence[Scorer], cycle: Cycle, rows: Int64Array, watch: Stopwatch
    ) -> tuple[dict[str, ScoreColumn], Int64Array]:
        """The columns of all ``scorers`` at the feasible ``rows``, and the totals."""
        signed = [each for each in scorers if each.name in self._reads]
        self._update_raw(signed, cycle)
        self._update_columns(signed, cycle, rows)
        if len(signed) == len(scorers):
            _time(scorers, self._reads, watch)
            return dict(self._columns), self._total
        _time(scorers, self._reads, watch)
        columns, total = {}, self._total.copy()
        for each in scorers:
            column = self._columns.get(each.name)
            if column is None:
                column = each.score(
                    cycle.state, cycle.pod, cycle.snapshot, rows, self._others.get(each.name)
                )
                self._others[each.name] = column
                total += column.normalized if column.weight == 1 else column.weighted
                watch.lap(each.name)
            columns[each.name] = column
        return columns, total

    # -- raw scores of all rows ----------------------------------------------------------------

    def _update_raw(self, scorers: Sequence[Scorer], cycle: Cycle) -> None:
        snapshot, rows = cycle.snapshot, None
        if self._node_version == snapshot.node_version:
            rows = snapshot.rows_changed_since(self._position)
        if rows is None:
            every = snapshot.snapshot_rows
            for each in scorers:
                self._raw[each.name] = cycle.raw(each, snapshot, every).copy()
            self._rows, self._changed = None, []
        elif len(rows):
            self._update_rows(scorers, cycle, rows)
            self._changed += rows.tolist()
        self._node_version, self._position = snapshot.node_version, snapshot.pods_position

    def _update_rows(self, scorers: Sequence[Scorer], cycle: Cycle, rows: Int64Array) -> None:
        by_amounts = [each for each in scorers if self._reads[each.name] == "amounts"]
        names = [each.name for each in by_amounts]
        for row, scores in zip(
            rows.tolist(), self._scores_by_amounts(by_amounts, cycle, rows), strict=True
        ):
            for name, score in zip(names, scores, strict=True):
                self._raw[name][row] = score
        others = [each for each in scorers if self._reads[each.name] == "pods"]
        if others:
            changed = RecomputingOverlay(cycle.snapshot, rows)
            for each in others:
                self._raw[each.name][rows] = cycle.raw(each, changed, np.arange(len(rows)))

    def _scores_by_amounts(
        self, scorers: Sequence[Scorer], cycle: Cycle, rows: Int64Array
    ) -> Iterator[tuple[int, ...]]:
        """The raw scores of each row; computed for amounts that were not seen before."""
        amounts = [cycle.snapshot.amounts_of(row) for row in rows.tolist()]
        unseen = [place for place, each in enumerate(amounts) if each not in self._by_amounts]
        if unseen:
            if len(self._by_amounts) > _MAX_AMOUNTS:
                self._by_amounts.clear()
                unseen = list(range(len(rows)))
            changed = RecomputingOverlay(cycle.snapshot, rows[unseen])
            every = np.arange(len(unseen))
            raw = [cycle.raw(each, changed, every).tolist() for each in scorers]
            scores = zip(*raw, strict=True) if raw else repeat(())
            self._by_amounts.update(zip((amounts[place] for place in unseen), scores, strict=False))
        return (self._by_amounts[each] for each in amounts)

    # -- columns of the feasible rows ----------------------------------------------------------

    def _update_columns(self, scorers: Sequence[Scorer], cycle: Cycle, rows: Int64Array) -> None:
        before = self._rows
        self._rows = None  # until all columns are up to date, should a plugin fail
        same = before is not None and (before is rows or np.array_equal(before, rows))
        if not same or not self._patch(scorers, rows):
            self._compute_columns(scorers, cycle, rows)
        self._rows, self._changed = rows, []

    def _compute_columns(self, scorers: Sequence[Scorer], cycle: Cycle, rows: Int64Array) -> None:
        self._columns = {}
        total = np.zeros(len(rows), dtype=np.int64)
        for each in scorers:
            raw = self._raw[each.name].take(rows)
            column = each.normalize(cycle.state, cycle.pod, _frozen(raw))
            _frozen(column.normalized)
            self._columns[each.name] = column
            total += column.normalized if column.weight == 1 else column.weighted
        self._total = _frozen(total)

    def _patch(self, scorers: Sequence[Scorer], rows: Int64Array) -> bool:
        """Enter the changed rows into copies of the columns; False if that does not do."""
        if len(self._changed) > _MAX_PATCHES:
            return False
        changed = self._places(rows) if self._changed else []
        total = None
        for each in scorers:
            if self._reads[each.name] == "nodes":
                continue
            raw, column = self._raw[each.name], self._columns[each.name].raw
            news = [(place, int(raw[row])) for row, place in changed if raw[row] != column[place]]
            if not news:
                continue
            if each.normalizer is not None or not all(0 <= new <= 100 for _, new in news):
                return False
            column = column.copy()
            total = self._total.copy() if total is None else total
            for place, new in news:
                total[place] += (new - int(column[place])) * each.weight
                column[place] = new
            self._columns[each.name] = ScoreColumn(_frozen(column), column, each.weight)
        if total is not None:
            self._total = _frozen(total)
        return True

    def _places(self, rows: Int64Array) -> list[tuple[int, int]]:
        """(row, its place among ``rows``) of the changed rows that are among them."""
        places = rows.searchsorted(self._changed).tolist()
        pairs = zip(self._changed, places, strict=True)
        return [(row, at) for row, at in pairs if at < len(rows) and rows[at] == row]


def _time(scorers: Sequence[Scorer], reads: Mapping[str, Reads], watch: Stopwatch) -> None:
    """List all; the time since the last lap goes to the last one that had rows to compute."""
    last = ""
    for each in scorers:
        watch.note(each.name)
        what = reads.get(each.name)
        if what is not None and (what != "nodes" or not last):
            last = each.name
    if last:
        watch.lap(last)


def _frozen(column: NDArray[Any]) -> NDArray[Any]:
    column.setflags(write=False)
    return column
