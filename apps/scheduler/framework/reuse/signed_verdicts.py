"""The verdicts on the pods of one signature, brought up to date for the rows that changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import FilterPlugin, Verdicts
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, Reads
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.reuse.changed_rows import ChangedRows
from apps.scheduler.framework.reuse.filter_columns import FilterColumns
from apps.scheduler.framework.reuse.filter_plan import FilterPlan
from apps.scheduler.framework.reuse.nominated_verdicts import NominatedVerdicts
from apps.scheduler.framework.reuse.verdict_layer import VerdictLayer
from apps.scheduler.framework.reuse.verdicts_by_amounts import VerdictsByAmounts
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.verdicts import Passed

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot


class Run(Protocol):
    """Runs filters on what the statuses left, until no row is left; returns how many ran.

    ``answers`` gets what each of them returned. A caller that gives it takes the refusals from
    there: ``statuses`` then has those of all filters but the last one.
    """

    def __call__(
        self,
        filters: Sequence[FilterPlugin],
        statuses: NodeStatuses,
        nodes: NodeColumns,
        watch: Stopwatch | None,
        answers: list[Verdicts | None] | None = None,
    ) -> int: ...


#: the verdicts of a filter on all rows
Ask = Callable[[FilterPlugin], Verdicts | None]

_NEVER: Final = -1
#: changed rows up to which verdicts are looked up by amounts; more are computed at once
_MAX_STEPS: Final = 32


class SignedVerdicts:
    """Arrays that this hands out are read-only and never change afterwards.

    All of it holds for one state of the snapshot (``node_version``, ``position``); ``follow``
    brings it to the present one.
    """

    def __init__(self, reads: Mapping[str, Reads], domains: Collection[str]) -> None:
        #: plugin that signed the pod -> what its answers depend on
        self._reads = reads
        #: of the last cycle
        self.plan = FilterPlan((), reads, domains)
        #: how many of ``FilterPlan.signed`` ran until no row was left; their names, each with 0
        self._ran = 0
        self._times: dict[str, int] = {}
        #: the state of the snapshot for which all this holds; never if something is half updated
        self.node_version = self.position = _NEVER
        #: what ``FilterPlan.of_pods`` answered
        self._columns = FilterColumns(NodeStatuses.empty(0), ())
        #: the same for the amounts of rows, if these filters read nothing else
        self._by_amounts = VerdictsByAmounts()
        #: what ``FilterPlan.signed`` leave
        self.passed = Passed(NodeStatuses.empty(0), np.empty(0, dtype=np.int64))
        #: the refusals of filters that look at domains, and what they left in the last cycle
        self._layers = {name: VerdictLayer(name) for name in domains}
        self._left = self.passed
        self._nominated = NominatedVerdicts()

    def spent(self, nanoseconds: int) -> dict[str, int]:
        """Filter -> nanoseconds, if only filters that signed ran; the last one gets the time."""
        times = self._times.copy()
        for each in self.plan.domains:
            times[each.name] = 0
        if times:
            times[next(reversed(times))] = nanoseconds
        return times

    def follow(self, snapshot: Snapshot, run: Run) -> bool:
        """Bring ``passed`` to the present state; False if all filters have to run on all rows.

        Filters that look at more than nodes alone are asked about rows with amounts not seen yet.
        """
        if self.node_version != snapshot.node_version:
            return False
        position = snapshot.pods_position
        if self.position != position:
            if (
                self._ran > len(self.plan.of_nodes)
                and not self._are_unchanged(snapshot)
                and not self._update_changed_rows(snapshot, run)
            ):
                return False
            self.position = position
        return True

    def filter(
        self,
        filters: Sequence[FilterPlugin],
        snapshot: Snapshot,
        run: Run,
        ask: Ask,
        watch: Stopwatch,
    ) -> Passed:
        """What all ``filters`` leave; those that did not sign run now."""
        if filters != self.plan.filters:
            before = self.plan
            self.plan = FilterPlan(filters, self._reads, self._layers)
            if self.plan.signed != before.signed:
                self.node_version = _NEVER
            self._nominated.forget()
        self._update(snapshot, run, watch)
        left = self.look_further(ask)
        others = self.plan.others
        if not others or not left.feasible.size:
            return left
        statuses = left.statuses.copy()
        run(others, statuses, snapshot, watch)
        return Passed.left_by(statuses)

    def look_further(self, ask: Ask) -> Passed:
        """What filters that look at domains leave of ``passed``."""
        left = self.passed
        for each in self.plan.domains:
            if not left.feasible.size:
                break
            left = self._layers[each.name].on(left, ask(each))
        self._left = left
        return left

    def with_nominated(
        self,
        base: Passed,
        nominated: PodChange,
        snapshot: Snapshot,
        ask: Callable[[], NodeStatuses],
    ) -> Passed:
        """``base``, which ``filter`` returned, without the rows refused because of nominated pods.

        ``ask``: the verdicts on the rows of ``nominated`` with these pods.
        """
        keep = self.plan.is_all_signed
        return self._nominated.overrule(base, nominated, snapshot, ask, keep=keep)

    @property
    def is_signed(self) -> bool:
        """Whether all filters of the last cycle signed the pod and some node was left."""
        return not self.plan.others and self._left.feasible.size > 0

    def _update(self, snapshot: Snapshot, run: Run, watch: Stopwatch) -> None:
        if not self.follow(snapshot, run):
            self._run_all(snapshot, run, watch)
        elif self._ran:
            watch.note_all(self._times)
            watch.lap(next(reversed(self._times)))

    def _are_unchanged(self, snapshot: Snapshot) -> bool:
        """Whether one row alone changed, and is known to have the verdicts that it had before."""
        row = snapshot.only_change_since(self.position)
        if row is None:
            return False
        verdicts = self._by_amounts.known.get(snapshot.amounts_of_row(row))
        return verdicts is not None and verdicts == self._columns.at(row)

    def _update_changed_rows(self, snapshot: Snapshot, run: Run) -> bool:
        """Ask about the rows that changed since ``position``, and enter what is different there.

        False if that is not enough: other filters have to run now that some row is left, or none,
        or a filter returned statuses that it did not have before.
        """
        self.node_version = _NEVER  # until all is entered, should a plugin fail
        changed = snapshot.changes_since(self.position)
        columns, listed = self._columns, changed.listed
        if listed is None or len(listed) > _MAX_STEPS or not self.plan.by_amounts:
            self._by_amounts.forget_rows()
            differing = self._ask_about(changed, run)
            rows = None if differing is None else differing.tolist()
        else:
            ask = partial(self._ask_about, run=run)
            rows = self._by_amounts.enter(columns, changed, listed, ask)
        if rows is None:
            return False
        if rows:
            passed = columns.update(self.passed, rows)
            if passed is None or (self._ran < len(self.plan.signed) and passed.feasible.size):
                return False
            self.passed = passed
        self.node_version = snapshot.node_version
        return True

    def _ask_about(self, changed: ChangedRows, run: Run) -> Int64Array | None:
        """Enter the verdicts on ``changed``; returns the rows that have others now, or None."""
        below, answers = self._columns.below, list[Verdicts | None]()
        statuses = NodeStatuses(below.ids[changed.rows], list(below.statuses))
        if (statuses.ids == NodeStatuses.FEASIBLE).any():
            filters = self.plan.signed[len(self.plan.of_nodes) : self._ran]
            run(filters, statuses, changed.nodes, None, answers)
        return self._columns.replace(changed.rows, answers)

    def _run_all(self, snapshot: Snapshot, run: Run, watch: Stopwatch) -> None:
        self.node_version = _NEVER
        of_nodes, of_pods = self.plan.of_nodes, self.plan.of_pods
        self._by_amounts.clear()
        statuses, answers = NodeStatuses.untouched(snapshot.alive), list[Verdicts | None]()
        self._ran = run(of_nodes, statuses, snapshot, watch)
        below = statuses.copy()
        if (statuses.ids == NodeStatuses.FEASIBLE).any():
            self._ran += run(of_pods, statuses, snapshot, watch, answers)
        ran = [each.name for each in self.plan.signed[: self._ran]]
        self._columns = columns = FilterColumns(below, ran[len(of_nodes) :])
        columns.replace(snapshot.snapshot_rows, answers)
        passed = columns.compose()
        assert passed is not None
        self.passed = passed
        self._times = dict.fromkeys(ran, 0)
        self.node_version, self.position = snapshot.node_version, snapshot.pods_position
