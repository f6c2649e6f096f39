"""The scores of the pods of one signature, brought up to date for the rows that changed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.live_column import LiveColumn
from apps.scheduler.framework.nodes import Int64Array, NodeColumns, Reads
from apps.scheduler.framework.overlay import RecomputingOverlay
from apps.scheduler.framework.ranking import LiveRanking, Ranking
from apps.scheduler.framework.scoring import ScoreColumn, Scorer
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot

_NEVER: Final = -1
#: rows that are entered one by one; more than these are worth whole columns
_MAX_STEPS: Final = 64
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
    #: by the sums of the weighted scores
    ranking: Ranking
    #: the rows with the greatest total, ascending; valid until the next cycle
    ties: Sequence[int] | Int64Array


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
        #: names of those whose normalized scores are the raw ones
        self.plain = {each.name for each in self.changing if each.normalizer is None}


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
        #: the feasible rows, and what is aligned with them; None if that is not up to date
        self.rows: Int64Array | None = None
        self._columns: dict[str, ScoreColumn] = {}
        self._live: dict[str, LiveColumn] = {}
        self._ranking: LiveRanking | None = None
        #: the columns of the other plugins
        self._others: dict[str, ScoreColumn] = {}

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
        """The columns at ``rows``, if they are complete."""
        assert self._ranking is not None
        ranking = self._ranking.now()
        return Scores(self._columns.copy(), ranking, self._ranking.ties)

    def spent(self, nanoseconds: int) -> dict[str, int]:
        """Plugin -> nanoseconds of an update; the last one whose scores change gets the time."""
        plan = self._plan
        return {**plan.times, plan.updated: nanoseconds} if plan.updated else plan.times.copy()

    def follow(self, rows: list[int], snapshot: Snapshot) -> bool:
        """Enter changed rows without asking a plugin; False if that does not do."""
        plan = self._plan
        if plan.by_pods or len(rows) > _MAX_STEPS:
            return False
        if plan.by_amounts:
            known = self._by_amounts
            scores = [known.get(snapshot.amounts_of(row)) for row in rows]
            if None in scores:
                return False
            self._enter(plan.by_amounts, rows, zip(*scores, strict=True))
        return self.rows is not None

    def _score_others(self, cycle: Cycle, rows: Int64Array, watch: Stopwatch) -> Scores:
        found = self.found()
        columns, total = {}, found.ranking.total.copy()
        for each in self._plan.scorers:
            column = self._columns.get(each.name)
            if column is None:
                column = each.score(
                    cycle.state, cycle.pod, cycle.snapshot, rows, self._others.get(each.name)
                )
                self._others[each.name] = column
                total += column.normalized if column.weight == 1 else column.weighted
                watch.lap(each.name)
            columns[each.name] = column
        ranking = Ranking(rows, total)
        return Scores(columns, ranking, ranking.ties)

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
        if before is None or not (before is rows or np.array_equal(before, rows)):
            self._compute_columns(cycle, rows)
        self.rows = rows
        self.node_version, self.position = snapshot.node_version, snapshot.pods_position

    # -- raw scores of all rows ----------------------------------------------------------------

    def _update_raw(self, cycle: Cycle, rows: list[int]) -> None:
        plan = self._plan
        if plan.by_amounts:
            self._update_by_amounts(cycle, rows)
        if plan.by_pods:
            changed = RecomputingOverlay(cycle.snapshot, np.array(rows, dtype=np.int64))
            every = np.arange(len(rows))
            columns = [cycle.raw(each, changed, every).tolist() for each in plan.by_pods]
            self._enter(plan.by_pods, rows, columns)

    def _update_by_amounts(self, cycle: Cycle, rows: list[int]) -> None:
        known, amounts_of = self._by_amounts, cycle.snapshot.amounts_of
        unseen = [row for row in rows if amounts_of(row) not in known]
        if unseen:
            if len(known) > _MAX_AMOUNTS:
                known.clear()
                unseen = rows
            self._add_amounts(cycle, unseen)
        scores = [known[amounts_of(row)] for row in rows]
        self._enter(self._plan.by_amounts, rows, zip(*scores, strict=True))

    def _enter(
        self, scorers: Sequence[Scorer], rows: list[int], columns: Iterable[Sequence[int]]
    ) -> None:
        """Enter the new raw scores of ``rows``; ``rows`` becomes None if that changes others."""
        if len(rows) > _MAX_STEPS:
            self.rows = None
        gains: dict[int, int] = {}
        for each, scores in zip(scorers, columns, strict=True):
            raw, changes = self._raw[each.name], []
            for row, new in zip(rows, scores, strict=True):
                old = int(raw[row])
                if new != old:
                    raw[row] = new
                    changes.append((row, new))
                    gains[row] = gains.get(row, 0) + (new - old) * each.weight
            if changes and self.rows is not None:
                self._change_column(each, changes)
        if self.rows is not None and self._ranking is not None:
            for row, gain in gains.items():
                self._ranking.add(row, gain)

    def _change_column(self, scorer: Scorer, changes: Iterable[tuple[int, int]]) -> None:
        """Enter (row, score) into the column of the feasible rows."""
        live, ranking = self._live.get(scorer.name), self._ranking
        assert ranking is not None
        for row, score in changes:
            place = ranking.place_of(row)
            if place < 0:
                continue
            if live is None or not 0 <= score <= 100:
                self.rows = None
                return
            live.set(place, score)
        if live is not None:
            moment = live.moment()
            self._columns[scorer.name] = ScoreColumn(moment, moment, scorer.weight)

    def _add_amounts(self, cycle: Cycle, rows: list[int]) -> None:
        """Store the scores of rows with the amounts of ``rows``."""
        changed = RecomputingOverlay(cycle.snapshot, np.array(rows, dtype=np.int64))
        every = np.arange(len(rows))
        raw = [cycle.raw(each, changed, every).tolist() for each in self._plan.by_amounts]
        scores = zip(*raw, strict=True) if raw else repeat(())
        self._by_amounts.update(zip(map(cycle.snapshot.amounts_of, rows), scores, strict=False))

    # -- columns of the feasible rows ----------------------------------------------------------

    def _compute_columns(self, cycle: Cycle, rows: Int64Array) -> None:
        self._columns, self._live = {}, {}
        total = np.zeros(len(rows), dtype=np.int64)
        for each in self._plan.signed:
            raw = self._raw[each.name].take(rows)
            column = each.normalize(cycle.state, cycle.pod, _frozen(raw))
            _frozen(column.normalized)
            self._columns[each.name] = column
            if each.name in self._plan.plain:
                self._live[each.name] = LiveColumn(raw)
            total += column.normalized if column.weight == 1 else column.weighted
        self._ranking = LiveRanking(rows, total)


def _frozen(column: NDArray[Any]) -> NDArray[Any]:
    column.setflags(write=False)
    return column
