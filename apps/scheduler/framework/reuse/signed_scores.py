"""The scores of the pods of one signature, brought up to date for the rows that changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, Reads, constant
from apps.scheduler.framework.plugin_scores import ScoreColumn, Scorer, is_valid
from apps.scheduler.framework.ranking import Ranking
from apps.scheduler.framework.reuse.changed_rows import ChangedRows
from apps.scheduler.framework.reuse.feasible_rows import Extremes, difference, extremes_of
from apps.scheduler.framework.reuse.live_scores import LiveScores
from apps.scheduler.framework.reuse.raw_scores import RawScores, RowScores, is_valid_row
from apps.scheduler.framework.reuse.score_plan import ScorePlan
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot
    from apps.scheduler.framework.diagnosis import NodeStatuses
    from apps.scheduler.framework.filtering import Filters
    from apps.scheduler.framework.interface import FilterPlugin, Verdicts

_NEVER: Final = -1
#: changed rows that are entered one by one; more are computed and entered at once
_MAX_ROWS: Final = 32
#: the same if their amounts were not seen before
_MAX_UNSEEN: Final = 12
#: totals that are changed one by one for other domains; more than these are worth new ones
_MAX_STEPS: Final = 64
#: distinct amounts for which scores are stored
_MAX_AMOUNTS: Final = 4096


class Cycle(msgspec.Struct, eq=False):
    """What Filter and Score are called with."""

    state: CycleState
    pod: PodInfo
    snapshot: Snapshot
    filters: Filters

    def raw(self, scorer: Scorer, nodes: NodeColumns, rows: Int64Array) -> Int64Array:
        """What the plugin's Score returns for ``rows`` of ``nodes``."""
        return scorer.raw(self.state, self.pod, nodes, rows)

    def run(
        self,
        filters: Sequence[FilterPlugin],
        statuses: NodeStatuses,
        nodes: NodeColumns,
        watch: Stopwatch | None,
        answers: list[Verdicts | None] | None = None,
    ) -> int:
        """See framework.reuse.signed_verdicts.Run."""
        return self.filters.run(self.state, self.pod, filters, statuses, nodes, watch, answers)


class Scores(msgspec.Struct, eq=False):
    """The scores of the feasible rows."""

    columns: dict[str, ScoreColumn]
    #: by the sums of the weighted scores
    ranking: Ranking
    #: the rows with the greatest total, ascending; valid until the next cycle
    ties: Sequence[int] | Int64Array


class SignedScores:
    """Columns of the plugins that signed the pod; those of others are computed in each cycle.

    ``domains``: plugins that signed the pod and are asked in each cycle, as they look at domains.
    """

    def __init__(self, reads: Mapping[str, Reads], domains: Collection[str]) -> None:
        #: plugin that signed the pod -> what its answers depend on
        self._reads = reads
        self._domains = domains
        self._plan = ScorePlan((), reads, domains)
        #: what Score returned for all rows
        self._raw = RawScores()
        #: the amounts of a row -> the raw scores of the plugins that read nothing else; without
        #: those that are not valid if they are not normalized
        self._by_amounts: dict[int, RowScores] = {}
        #: the state of the snapshot for which all this holds
        self.node_version = self.position = _NEVER
        #: the feasible rows, and what is aligned with them; None if that is not up to date
        self.rows: Int64Array | None = None
        self._columns: dict[str, ScoreColumn] = {}
        #: the columns of ``ScorePlan.changing``, with the rows that have left since then
        self._live: LiveScores | None = None
        #: of ``ScorePlan.constant``; None if not known yet
        self._extremes: list[Extremes] | None = None

    def score(
        self, scorers: Sequence[Scorer], cycle: Cycle, rows: Int64Array, watch: Stopwatch
    ) -> Scores:
        """The columns of all ``scorers`` at the feasible ``rows``, and the totals."""
        plan = self._plan
        if scorers != plan.scorers:
            plan = self._plan = ScorePlan(scorers, self._reads, self._domains)
            self._by_amounts.clear()
            self.node_version = _NEVER
        self._update(cycle, rows)
        watch.note_all(plan.times)
        if plan.updated:
            watch.lap(plan.updated)
        if plan.others:
            return self._score_others(cycle, rows, watch)
        return self.kept_scores()

    def kept_scores(self) -> Scores:
        """The columns at ``rows``, if they are up to date."""
        live = self._live
        assert live is not None and self.rows is not None
        snapshot = live.snapshot()
        if live.out:
            columns = {name: each.restricted(snapshot) for name, each in self._columns.items()}
        else:
            columns = self._columns.copy()
        for index, name, weight in self._plan.live:
            columns[name] = ScoreColumn(None, None, weight, snapshot, index)
        ties = live.ties
        return Scores(columns, Ranking(self.rows, None, snapshot, live.best, len(ties)), ties)

    def spent(self, nanoseconds: int) -> dict[str, int]:
        """Plugin -> nanoseconds of an update; the last one whose scores change gets the time."""
        plan = self._plan
        return {**plan.times, plan.updated: nanoseconds} if plan.updated else plan.times.copy()

    @property
    def is_signed(self) -> bool:
        """Whether all scorers of the last cycle signed the pod."""
        return not self._plan.others

    def score_again(self, cycle: Cycle, rows: Int64Array) -> Scores:
        """``score`` with the scorers of the last cycle, if all of them signed the pod."""
        self._update(cycle, rows)
        return self.kept_scores()

    def _score_others(self, cycle: Cycle, rows: Int64Array, watch: Stopwatch) -> Scores:
        scores = self.kept_scores()
        columns, total = {}, scores.ranking.total.copy()
        for each in self._plan.scorers:
            column = scores.columns.get(each.name)
            if column is None:
                column = each.score(cycle.state, cycle.pod, cycle.snapshot, rows)
                total += column.normalized if column.weight == 1 else column.weighted
                watch.lap(each.name)
            columns[each.name] = column
        ranking = Ranking(rows, total)
        return Scores(columns, ranking, ranking.ties)

    def _update(self, cycle: Cycle, rows: Int64Array) -> None:
        """Bring columns and totals up to date; the whole of them if ``rows`` are others."""
        snapshot = cycle.snapshot
        is_known = self.node_version == snapshot.node_version
        self.node_version = _NEVER  # until all is up to date, should a plugin fail
        if not is_known:
            every, signed = snapshot.snapshot_rows, self._plan.signed
            raw = {each.name: cycle.raw(each, snapshot, every) for each in signed}
            self._raw.replace(self._plan, raw, len(every))
            self.rows = None
        elif self.position != snapshot.pods_position and self._plan.changing:
            self._update_raw(cycle)
        before = self.rows
        self.rows = rows
        if before is not rows and (before is None or not self._follow_rows(before, rows)):
            self._compute_columns(cycle, rows)
        elif self._plan.domains:
            self._update_domains(cycle, rows)
        self.node_version, self.position = snapshot.node_version, snapshot.pods_position

    # -- raw scores of all rows ----------------------------------------------------------------

    def _update_raw(self, cycle: Cycle) -> None:
        snapshot, plan = cycle.snapshot, self._plan
        row = snapshot.only_change_since(self.position)
        if row is not None and plan.is_plain:
            known = self._by_amounts.get(snapshot.amounts_of_row(row))
            if known is not None:
                self._enter(row, known)
                return
        changed = snapshot.changes_since(self.position)
        listed, scores = changed.listed, None
        if listed is not None and len(listed) <= _MAX_ROWS and not plan.by_pods:
            scores = self._scores_by_amounts(cycle, changed, listed)
        if listed is None or scores is None:
            self._enter_all(cycle, changed)
            return
        for row, new in zip(listed, scores, strict=True):
            self._enter(row, new)
        if not plan.is_plain:
            self.rows = None

    def _enter_all(self, cycle: Cycle, changed: ChangedRows) -> None:
        """Compute the raw scores of ``changed``, and enter them at once."""
        rows, plan = changed.rows, self._plan
        gains, is_changed = constant(len(rows), 0), False
        for each in plan.changing:
            new = cycle.raw(each, changed.nodes, changed.every)
            gain = self._raw.enter_all(rows, each.name, new, each.weight)
            if not gain.any():
                continue
            gains, is_changed = gains + gain, True
            if not is_valid(new):
                self.rows = None
        if not plan.is_plain:
            self.rows = None
        elif is_changed and self.rows is not None and self._live is not None:
            raw = [self._raw.column(each.name) for each in plan.changing]
            self._live.change_all(rows, raw, gains)

    def _scores_by_amounts(
        self, cycle: Cycle, changed: ChangedRows, rows: Sequence[int]
    ) -> Sequence[RowScores] | None:
        """The scores of ``rows``; None if so many are not known that all are worth computing.

        None too if some are not valid.
        """
        known, plan = self._by_amounts, self._plan
        if len(known) > _MAX_AMOUNTS:
            known.clear()
        amounts = changed.amounts
        unseen = [row for row, number in zip(rows, amounts, strict=True) if number not in known]
        if unseen:
            if len(unseen) > _MAX_UNSEEN:
                return None
            part = changed.only(unseen)
            raw = [cycle.raw(each, part.nodes, part.every).tolist() for each in plan.by_amounts]
            of_rows = list(zip(*raw, strict=True) if raw else repeat((), len(unseen)))
            if plan.is_plain and not all(map(is_valid_row, of_rows)):
                return None
            known.update(zip(part.amounts, map(plan.with_sum, of_rows), strict=True))
        return [known[number] for number in amounts]

    def _enter(self, row: int, scores: RowScores) -> None:
        """Enter the new raw scores of a row."""
        gain = self._raw.enter(row, scores)
        if gain is not None and self.rows is not None and self._live is not None:
            self._live.change_each(((row, scores, gain),))

    # -- columns of the feasible rows ----------------------------------------------------------

    def _follow_rows(self, before: Int64Array, rows: Int64Array) -> bool:
        """Let the rows leave and return that ``before`` and ``rows`` do not have in common."""
        moved = difference(before, rows)
        if moved is None:
            return False
        left, entered = moved
        if not left and not entered:
            return True
        plan, live = self._plan, self._live
        assert live is not None
        if plan.domains or not plan.is_plain or any(live.place_of(row) < 0 for row in entered):
            return False
        if self._extremes is None:
            self._extremes = extremes_of(plan.constant, self._columns)
        if self._extremes is None or not self._count(live, left, entered):
            return False
        for row in left:
            live.leave(row)
        for row in entered:
            scores = self._raw.at(row)
            live.enter(row, scores, self._total_of(live.place_of(row), scores))
        return True

    def _count(self, live: LiveScores, left: list[int], entered: list[int]) -> bool:
        """Count rows that left and entered; False if an extreme changes, and with it all scores."""
        assert self._extremes is not None
        changes = [*((row, -1) for row in left), *((row, 1) for row in entered)]
        places = [(live.place_of(row), amount) for row, amount in changes]
        # A row may have an extreme of a column for which another one has just left.
        stay = [each.count(*change) for each in self._extremes for change in places]
        return all(stay)

    def _total_of(self, place: int, scores: RowScores) -> int:
        """The weighted sum of all columns."""
        total = scores[-1]
        for each in self._plan.constant:
            total += int(self._columns[each.name].normalized[place]) * each.weight
        return total

    def _compute_columns(self, cycle: Cycle, rows: Int64Array) -> None:
        self._columns, self._live, self._extremes = {}, None, None
        total = np.zeros(len(rows), dtype=np.int64)
        for each in self._plan.scorers:
            if each.name in self._reads:
                raw = self._raw.column(each.name).take(rows)
                column = each.normalize(cycle.state, cycle.pod, _frozen(raw))
                _frozen(column.normalized)
            elif each.name in self._domains:
                column = each.score(cycle.state, cycle.pod, cycle.snapshot, rows)
            else:
                continue
            self._columns[each.name] = column
            total += column.normalized if column.weight == 1 else column.weighted
        changing = [self._columns[each.name].raw for each in self._plan.changing]
        self._live = LiveScores(rows, changing, total)

    def _update_domains(self, cycle: Cycle, rows: Int64Array) -> None:
        """Ask those that look at domains; the totals gain what their scores gained."""
        live = self._live
        assert live is not None
        for each in self._plan.domains:
            before = self._columns[each.name]
            column = each.score(cycle.state, cycle.pod, cycle.snapshot, rows, before)
            if column is before:
                continue
            self._columns[each.name] = column
            if column.normalized is before.normalized:
                continue
            after, old = column.normalized, before.normalized
            differs = after != old
            if np.count_nonzero(differs) > _MAX_STEPS:
                live.add((after - old) * each.weight)
                continue
            places = differs.nonzero()[0]
            gains = (after[places] - old[places]) * each.weight
            changed = zip(rows[places].tolist(), gains.tolist(), strict=True)
            live.change_each([(row, self._raw.at(row), gain) for row, gain in changed])


def _frozen(column: NDArray[Any]) -> NDArray[Any]:
    column.setflags(write=False)
    return column
