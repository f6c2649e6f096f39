"""The scores of the pods of one signature, brought up to date for the rows that changed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.nodes import Int64Array, NodeColumns, Reads
from apps.scheduler.framework.overlay import RecomputingOverlay
from apps.scheduler.framework.ranking import Ranking
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


@dataclass(slots=True)
class Scores:
    """The scores of the feasible rows."""

    columns: dict[str, ScoreColumn]
    #: (feasible,) int64, sum of the weighted scores
    total: Int64Array
    #: (ties,) int64, the rows with the greatest total; None if they are not known
    ties: Int64Array | None


class _Plan:
    """The scorers of a cycle by what is known about them."""

    def __init__(self, scorers: Sequence[Scorer], reads: Mapping[str, Reads]) -> None:
        self.scorers = list(scorers)
        self.signed = [each for each in scorers if each.name in reads]
        self.others = [each for each in scorers if each.name not in reads]
        self.by_amounts = [each for each in self.signed if reads[each.name] == "amounts"]
        self.by_pods = [each for each in self.signed if reads[each.name] == "pods"]
        #: those whose scores change with the pods of a row
        self.changing = [each for each in self.signed if reads[each.name] != "nodes"]
        #: all names, each with 0, and who gets the time of an update
        self.times = dict.fromkeys((each.name for each in scorers), 0)
        updated = self.changing or self.signed[:1]
        self.updated = updated[-1].name if updated else ""


class SignedScores:
    """Columns of the plugins that signed the pod; those of others are computed in each cycle."""

    def __init__(self, reads: Mapping[str, Reads]) -> None:
        #: plugin that signed the pod -> what its answers depend on
        self._reads = reads
        self._plan = _Plan((), reads)
        #: plugin -> (rows of the snapshot,) int64, what Score returned; not handed out
        self._raw: dict[str, Int64Array] = {}
        #: the amounts of a row -> the raw scores of the plugins that read nothing else
        self._by_amounts: dict[Hashable, tuple[int, ...]] = {}
        #: the state of the snapshot for which all this holds
        self.node_version = self.position = _NEVER
        #: the feasible rows, and what is aligned with them
        self.rows: Int64Array | None = None
        self._columns: dict[str, ScoreColumn] = {}
        self._ranking = Ranking(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))

    def score(
        self, scorers: Sequence[Scorer], cycle: Cycle, rows: Int64Array, watch: Stopwatch
    ) -> Scores:
        """The columns of all ``scorers`` at the feasible ``rows``, and the totals."""
        plan = self._plan
        if scorers != plan.scorers:
            plan = self._plan = _Plan(scorers, self._reads)
            self._by_amounts.clear()
            self.node_version = _NEVER
        self._update(cycle, rows)
        watch.note_all(plan.times)
        if plan.updated:
            watch.lap(plan.updated)
        if plan.others:
            return self._score_others(cycle, rows, watch)
        return self.found()

    @property
    def is_complete(self) -> bool:
        """Whether all scorers of the last cycle signed the pod."""
        return not self._plan.others

    def found(self) -> Scores:
        """The columns at ``rows`` if they are complete."""
        return Scores(self._columns.copy(), self._ranking.total, self._ranking.ties)

    def spent(self, nanoseconds: int) -> dict[str, int]:
        """Plugin -> nanoseconds of an update; the last one whose scores change gets the time."""
        plan = self._plan
        return {**plan.times, plan.updated: nanoseconds} if plan.updated else plan.times.copy()

    def follow(self, rows: list[int], snapshot: Snapshot) -> bool:
        """Enter changed rows without asking a plugin; False if that does not do."""
        plan, known = self._plan, self._by_amounts
        if plan.by_pods:
            return False
        if plan.by_amounts:
            scores = [known.get(snapshot.amounts_of(row)) for row in rows]
            if None in scores:
                return False
            self._enter(rows, scores)
        return self._patch(rows)

    def _score_others(self, cycle: Cycle, rows: Int64Array, watch: Stopwatch) -> Scores:
        columns, total = {}, self._ranking.total.copy()
        for each in self._plan.scorers:
            column = self._columns.get(each.name)
            if column is None:
                column = each.score(cycle.state, cycle.pod, cycle.snapshot, rows)
                total += column.normalized if column.weight == 1 else column.weighted
                watch.lap(each.name)
            columns[each.name] = column
        return Scores(columns, total, None)

    def _update(self, cycle: Cycle, rows: Int64Array) -> None:
        """Bring columns and totals up to date; the whole of them if ``rows`` are others."""
        snapshot, changed = cycle.snapshot, None
        if self.node_version == snapshot.node_version:
            changed = snapshot.rows_changed_since(self.position)
        self.node_version = _NEVER  # until all is up to date, should a plugin fail
        if changed is None:
            every = snapshot.snapshot_rows
            for each in self._plan.signed:
                self._raw[each.name] = cycle.raw(each, snapshot, every).copy()
            self.rows = None
        elif changed:
            self._update_raw(cycle, changed)
        before = self.rows
        same = before is not None and (before is rows or np.array_equal(before, rows))
        if not same or (changed and not self._patch(changed)):
            self._compute_columns(cycle, rows)
        self.rows = rows
        self.node_version, self.position = snapshot.node_version, snapshot.pods_position

    # -- raw scores of all rows ----------------------------------------------------------------

    def _update_raw(self, cycle: Cycle, rows: list[int]) -> None:
        if self._plan.by_amounts:
            self._update_by_amounts(cycle, rows)
        if self._plan.by_pods:
            places = np.array(rows, dtype=np.int64)
            changed = RecomputingOverlay(cycle.snapshot, places)
            for each in self._plan.by_pods:
                self._raw[each.name][places] = cycle.raw(each, changed, np.arange(len(rows)))

    def _update_by_amounts(self, cycle: Cycle, rows: list[int]) -> None:
        known, amounts_of = self._by_amounts, cycle.snapshot.amounts_of
        unseen = [row for row in rows if amounts_of(row) not in known]
        if unseen:
            if len(known) > _MAX_AMOUNTS:
                known.clear()
                unseen = rows
            self._add_amounts(cycle, unseen)
        self._enter(rows, [known[amounts_of(row)] for row in rows])

    def _enter(self, rows: list[int], scores: Iterable[tuple[int, ...]]) -> None:
        """Enter into the raw columns what plugins that read amounts answer for ``rows``."""
        columns = [self._raw[each.name] for each in self._plan.by_amounts]
        for row, of_row in zip(rows, scores, strict=True):
            for column, score in zip(columns, of_row, strict=True):
                column[row] = score

    def _add_amounts(self, cycle: Cycle, rows: list[int]) -> None:
        """Store the scores of rows with the amounts of ``rows``."""
        changed = RecomputingOverlay(cycle.snapshot, np.array(rows, dtype=np.int64))
        every = np.arange(len(rows))
        raw = [cycle.raw(each, changed, every).tolist() for each in self._plan.by_amounts]
        scores = zip(*raw, strict=True) if raw else repeat(())
        self._by_amounts.update(zip(map(cycle.snapshot.amounts_of, rows), scores, strict=False))

    # -- columns of the feasible rows ----------------------------------------------------------

    def _compute_columns(self, cycle: Cycle, rows: Int64Array) -> None:
        self._columns = {}
        total = np.zeros(len(rows), dtype=np.int64)
        for each in self._plan.signed:
            raw = self._raw[each.name].take(rows)
            column = each.normalize(cycle.state, cycle.pod, _frozen(raw))
            _frozen(column.normalized)
            self._columns[each.name] = column
            total += column.normalized if column.weight == 1 else column.weighted
        self._ranking = Ranking(rows, _frozen(total))

    def _patch(self, rows: list[int]) -> bool:
        """Enter the changed rows into copies of the columns; False if that does not do."""
        if len(rows) > _MAX_PATCHES:
            return False
        ranking = self._ranking
        places = [(row, place) for row in rows if (place := ranking.place_of(row)) >= 0]
        gains: dict[int, int] = {}
        for each in self._plan.changing:
            raw, column = self._raw[each.name], self._columns[each.name].raw
            news = [(place, int(raw[row])) for row, place in places if raw[row] != column[place]]
            if not news:
                continue
            if each.normalizer is not None or not all(0 <= new <= 100 for _, new in news):
                return False
            old, column = column, column.copy()
            for place, new in news:
                gains[place] = gains.get(place, 0) + (new - int(old[place])) * each.weight
                column[place] = new
            self._columns[each.name] = ScoreColumn(_frozen(column), column, each.weight)
        if gains:
            self._ranking = ranking.with_gains(gains)
        return True


def _frozen(column: NDArray[Any]) -> NDArray[Any]:
    column.setflags(write=False)
    return column
