"""What is known for the pods of one signature."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import PreFilterPlugin, PreScorePlugin
from apps.scheduler.framework.nodes import Int64Array, Reads
from apps.scheduler.framework.signed_answers import SignedAnswers
from apps.scheduler.framework.signed_scores import Cycle, Scores, SignedScores
from apps.scheduler.framework.signed_verdicts import SignedVerdicts
from apps.scheduler.framework.status import SUCCESS, Status, error
from apps.scheduler.framework.summary import Summary
from apps.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot


@dataclass(slots=True)
class Repetition:
    """The result of a cycle in which no plugin has to be asked."""

    statuses: NodeStatuses
    #: (feasible,) int64, ascending
    feasible: Int64Array
    summary: Summary
    scores: Scores


class SignedResults:
    """The results of the four extension points that find a node."""

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
        self.pre_filter = SignedAnswers(reads.keys(), skipping, domains)
        self.verdicts = SignedVerdicts(reads, domains)
        self.pre_score = SignedAnswers(reads.keys(), skipping, domains)
        self.scores = SignedScores(reads, domains)
        #: whether all plugins that the last cycle asked signed the pod
        self._is_repeatable = False
        #: the plugins that were skipped in it, in Filter and in Score
        self._skipped: tuple[set[str], set[str]] = (set(), set())

    def begin(self, pod: PodInfo) -> None:
        """A cycle starts for a pod of this signature."""
        others_skip = True
        for skips in self._skips:
            if not skips(pod):
                others_skip = False
                break
        self.pre_filter.others_skip = self.pre_score.others_skip = others_skip

    def end(self, state: CycleState) -> None:
        """All points have run in this cycle."""
        if self.pre_filter.asked:
            self._is_repeatable = (
                self.pre_filter.is_known
                and self.pre_score.is_known
                and self.verdicts.is_signed
                and self.scores.is_signed
            )
            self._skipped = (state.skip_filter, state.skip_score)
            return
        self._is_repeatable = (
            self.pre_filter.is_replay(state.skip_filter)
            and self.pre_score.is_replay(state.skip_score)
            and self.verdicts.is_complete
            and self.scores.is_complete
        )

    def repeat(
        self, state: CycleState, pod: PodInfo, snapshot: Snapshot, most: int
    ) -> Repetition | None:
        """The result of all four points by what is known of the rows that changed.

        None if a plugin has to be asked that does not look at domains, or if one of these fails or
        skips where it did not before, or if more than ``most`` rows pass the other filters.
        """
        if not self._is_repeatable or not self.pre_filter.others_skip:
            return None
        if not self.pre_filter.asked:
            return self._repeat(state, snapshot, most)
        try:
            return self._ask_again(state, pod, snapshot, most)
        except Exception:
            # The plugin is asked again, and its error reported.
            return None

    def _ask_again(
        self, state: CycleState, pod: PodInfo, snapshot: Snapshot, most: int
    ) -> Repetition | None:
        """``repeat`` with plugins that look at domains."""
        verdicts = self.verdicts
        if verdicts.node_version != snapshot.node_version:
            return None
        begun = perf_counter_ns()
        self.pre_filter.restore(state, state.skip_filter)

        def pre_filter(plugin: PreFilterPlugin) -> Status:
            narrowed, status = plugin.pre_filter(state, pod, snapshot)
            # A plugin that narrows the nodes is asked again.
            return error() if narrowed is not None else status or SUCCESS

        asked = self.pre_filter.ask(pre_filter, state.skip_filter)
        if not asked or state.skip_filter != self._skipped[0]:
            return None
        allowed = perf_counter_ns()
        rows = snapshot.rows_changed_since(verdicts.position)
        if rows is None or not verdicts.follow(rows, snapshot) or len(verdicts.feasible) > most:
            return None
        left = verdicts.look_further(lambda plugin: plugin.filter(state, pod, snapshot))
        if not verdicts.is_signed:
            return None
        verdicts.position = snapshot.pods_position
        filtered = perf_counter_ns()
        self.pre_score.restore(state, state.skip_score)

        def pre_score(plugin: PreScorePlugin) -> Status:
            return plugin.pre_score(state, pod, snapshot, left.feasible) or SUCCESS

        asked = self.pre_score.ask(pre_score, state.skip_score)
        if not asked or state.skip_score != self._skipped[1]:
            return None
        prepared = perf_counter_ns()
        scores = self.scores.score_again(Cycle(state, pod, snapshot), left.feasible)
        self._note_times(state, (begun, allowed, filtered, prepared, perf_counter_ns()))
        known = left.statuses
        return Repetition(
            NodeStatuses(known.ids, known.statuses.copy()), left.feasible, left.summary, scores
        )

    def _note_times(self, state: CycleState, moments: Sequence[int]) -> None:
        """``moments``: nanoseconds before and after each of the four points."""
        points = {
            "PreFilter": self.pre_filter.spent,
            "Filter": self.verdicts.spent,
            "PreScore": self.pre_score.spent,
            "Score": self.scores.spent,
        }
        for (point, spent), start, end in zip(points.items(), moments, moments[1:], strict=False):
            state.durations[point] = end - start
            state.plugin_durations[point] = spent(end - start)

    def _repeat(self, state: CycleState, snapshot: Snapshot, most: int) -> Repetition | None:
        """``repeat`` without asking any plugin."""
        verdicts, scores = self.verdicts, self.scores
        if (
            not verdicts.node_version == scores.node_version == snapshot.node_version
            or scores.position != verdicts.position
            or scores.rows is not verdicts.feasible
        ):
            return None
        begun = perf_counter_ns()
        self.pre_filter.restore(state, state.skip_filter)
        allowed = perf_counter_ns()
        rows = snapshot.rows_changed_since(verdicts.position)
        if rows is None or not verdicts.follow(rows, snapshot) or len(verdicts.feasible) > most:
            return None
        filtered = perf_counter_ns()
        self.pre_score.restore(state, state.skip_score)
        prepared = perf_counter_ns()
        if rows and not scores.follow(rows, verdicts.feasible, snapshot):
            return None
        verdicts.position = scores.position = snapshot.pods_position
        scored = perf_counter_ns()
        self._note_times(state, (begun, allowed, filtered, prepared, scored))
        known = verdicts.statuses
        return Repetition(
            NodeStatuses(known.ids, known.statuses.copy()),
            verdicts.feasible,
            verdicts.summary,
            scores.found(),
        )
