"""What is known for the pods of one signature, and the search that uses it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from time import perf_counter_ns
from typing import TYPE_CHECKING

import msgspec

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import PreFilterPlugin, PreScorePlugin
from apps.scheduler.framework.node_columns import Int64Array, Reads
from apps.scheduler.framework.node_search import PLAIN, PreFilterOutcome
from apps.scheduler.framework.reuse.signed_answers import SignedAnswers
from apps.scheduler.framework.reuse.signed_scores import Cycle, Scores, SignedScores
from apps.scheduler.framework.reuse.signed_verdicts import SignedVerdicts
from apps.scheduler.framework.status import SUCCESS, Status, StatusError, error
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.framework.verdicts import Passed

if TYPE_CHECKING:
    from apps.scheduler.attempt import Attempt
    from apps.scheduler.cache.snapshot import Snapshot
    from apps.scheduler.framework.node_search import ScoredNodes, Ties, Walk
    from apps.scheduler.framework.stopwatch import Stopwatch


class Repetition(msgspec.Struct, eq=False):
    """The result of a cycle in which no plugin has to be asked."""

    #: what the filters left, with a list of statuses of its own
    passed: Passed
    statuses: NodeStatuses
    scores: Scores


class SignedResults:
    """The results of the four extension points that find a node; a NodeSearch that uses them."""

    def __init__(
        self,
        reads: Mapping[str, Reads],
        domains: Collection[str],
        skips: Mapping[str, Callable[[PodInfo], bool]],
        idle: Collection[str],
    ) -> None:
        """``reads``: what the plugins that signed the pod read; ``skips``: of other plugins.

        ``domains``: plugins that signed the pod and run in each cycle, as they look at domains;
        ``idle``: those of them that skip all pods of this signature.
        """
        self._skips = list(skips.values())
        skipping = (*skips, *idle)
        self._pre_filter = SignedAnswers(reads.keys(), skipping, domains)
        self.verdicts = SignedVerdicts(reads, domains)
        self._pre_score = SignedAnswers(reads.keys(), skipping, domains)
        self.scores = SignedScores(reads, domains)
        #: whether all plugins that the last cycle asked signed the pod, and no other one has
        #: something to do in this cycle
        self.is_repeatable = False
        self._are_all_signed = False
        #: the plugins that were skipped in it, in Filter and in Score
        self._skipped: tuple[set[str], set[str]] = (set(), set())

    def begin(self, pod: PodInfo) -> None:
        """A cycle starts for a pod of this signature."""
        others_skip = True
        for skips in self._skips:
            if not skips(pod):
                others_skip = False
                break
        self._pre_filter.others_skip = self._pre_score.others_skip = others_skip
        self.is_repeatable = others_skip and self._are_all_signed

    def find(self, walk: Walk) -> Ties | None:
        """The best rows: what is different from the last such pod are the rows that changed."""
        called_with = walk.repeatable() if self.is_repeatable else None
        repetition = self.repeat(*called_with) if called_with is not None else None
        ties = walk.accept(repetition) if repetition is not None else None
        return walk.run() if ties is None else ties

    def pre_filter(self, attempt: Attempt, snapshot: Snapshot) -> PreFilterOutcome:
        run = attempt.framework.run_pre_filter_plugins
        return run(attempt.state, attempt.pod, snapshot, self._pre_filter)

    def filter(self, attempt: Attempt, snapshot: Snapshot, watch: Stopwatch) -> Passed:
        run = attempt.framework.filters.run_signed_filter_plugins
        return run(attempt.state, attempt.pod, snapshot, watch, self.verdicts)

    def rank(self, attempt: Attempt, nodes: ScoredNodes) -> Scores:
        """What is kept is worth updating for many nodes only."""
        if nodes.part is not None:
            return PLAIN.rank(attempt, nodes)
        framework, state, pod = attempt.framework, attempt.state, attempt.pod
        snapshot, rows = nodes.snapshot, nodes.rows
        status = framework.run_pre_score_plugins(state, pod, snapshot, rows, self._pre_score)
        if not status.is_success:
            raise StatusError(status)
        scores = framework.run_signed_score_plugins(state, pod, snapshot, rows, self.scores)
        self._end(state)
        return scores

    def _end(self, state: CycleState) -> None:
        """All points have run in this cycle."""
        self._are_all_signed = (
            self._pre_filter.is_replay(state.skip_filter)
            and self._pre_score.is_replay(state.skip_score)
            and self.verdicts.is_signed
            and self.scores.is_signed
        )
        self._skipped = (state.skip_filter, state.skip_score)

    def repeat(self, cycle: Cycle, most: int) -> Repetition | None:
        """The result of all four points, if ``is_repeatable``; only what has changed is computed.

        Plugins that look at more than Node objects are asked about the rows that changed, those
        that look at domains about all rows. None if a plugin fails or skips where it did not
        before, if no row passes, or if more than ``most`` rows pass the filters that look at no
        domains.
        """
        verdicts = self.verdicts
        if (
            verdicts.node_version != cycle.snapshot.node_version
            or verdicts.passed.feasible.size > most
        ):
            return None
        try:
            return self._repeat(cycle, most)
        except Exception:
            # The plugin is asked again, and its error reported.
            return None

    def _repeat(self, cycle: Cycle, most: int) -> Repetition | None:
        state = cycle.state
        begun = perf_counter_ns()
        pre_filter, pre_score = self._pre_filter, self._pre_score
        pre_filter.restore(state, state.skip_filter)
        if pre_filter.asked and not self._ask_pre_filter(cycle):
            return None
        allowed = perf_counter_ns()
        verdicts = self.verdicts
        if not verdicts.follow(cycle.snapshot, cycle.run) or verdicts.passed.feasible.size > most:
            return None
        left = verdicts.passed if verdicts.plan.is_all_signed else self._look_further(cycle)
        if left is None or not left.feasible.size:
            return None
        filtered = perf_counter_ns()
        pre_score.restore(state, state.skip_score)
        if pre_score.asked and not self._ask_pre_score(cycle, left.feasible):
            return None
        prepared = perf_counter_ns()
        scores = self.scores.score_again(cycle, left.feasible)
        self._note_times(state, begun, allowed, filtered, prepared, perf_counter_ns())
        return Repetition(left, left.shown(), scores)

    def _ask_pre_filter(self, cycle: Cycle) -> bool:
        """Ask those that look at domains; False if one fails or skips where it did not before."""
        state = cycle.state

        def pre_filter(plugin: PreFilterPlugin) -> Status:
            narrowed, status = plugin.pre_filter(state, cycle.pod, cycle.snapshot)
            # A plugin that narrows the nodes is asked again.
            return error() if narrowed is not None else status or SUCCESS

        asked = self._pre_filter.ask(pre_filter, state.skip_filter)
        return asked and state.skip_filter == self._skipped[0]

    def _look_further(self, cycle: Cycle) -> Passed | None:
        """What filters that look at domains leave; None if another filter comes after them."""
        verdicts = self.verdicts
        left = verdicts.look_further(
            lambda plugin: plugin.filter(cycle.state, cycle.pod, cycle.snapshot)
        )
        return left if verdicts.is_signed else None

    def _ask_pre_score(self, cycle: Cycle, feasible: Int64Array) -> bool:
        """The same for PreScore."""
        state = cycle.state

        def pre_score(plugin: PreScorePlugin) -> Status:
            return plugin.pre_score(state, cycle.pod, cycle.snapshot, feasible) or SUCCESS

        asked = self._pre_score.ask(pre_score, state.skip_score)
        return asked and state.skip_score == self._skipped[1]

    def _note_times(
        self,
        state: CycleState,
        begun: int,
        allowed: int,
        filtered: int,
        prepared: int,
        scored: int,
    ) -> None:
        """Note how long each of the four points took, by the times between them in nanoseconds."""
        durations, by_plugin = state.durations, state.plugin_durations
        durations["PreFilter"] = spent = allowed - begun
        by_plugin["PreFilter"] = self._pre_filter.spent(spent)
        durations["Filter"] = spent = filtered - allowed
        by_plugin["Filter"] = self.verdicts.spent(spent)
        durations["PreScore"] = spent = prepared - filtered
        by_plugin["PreScore"] = self._pre_score.spent(spent)
        durations["Score"] = spent = scored - prepared
        by_plugin["Score"] = self.scores.spent(spent)
