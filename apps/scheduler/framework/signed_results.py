"""What is known for the pods of one signature."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.nodes import Int64Array, Reads
from apps.scheduler.framework.signed_answers import SignedAnswers
from apps.scheduler.framework.signed_scores import Scores, SignedScores
from apps.scheduler.framework.signed_verdicts import SignedVerdicts
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
    ) -> None:
        """``reads``: what the plugins that signed the pod read; ``skips``: of other plugins.

        ``domains``: plugins that signed the pod and run in each cycle, as they look at domains.
        """
        self._skips = list(skips.values())
        self.pre_filter = SignedAnswers(reads.keys(), skips.keys(), domains)
        self.verdicts = SignedVerdicts(reads, domains)
        self.pre_score = SignedAnswers(reads.keys(), skips.keys(), domains)
        self.scores = SignedScores(reads, domains)
        #: whether the last cycle asked no plugin that did not sign the pod
        self._is_repeatable = False

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
        self._is_repeatable = (
            not self.pre_filter.asked
            and self.pre_filter.is_replay(state.skip_filter)
            and self.pre_score.is_replay(state.skip_score)
            and self.verdicts.is_complete
            and self.scores.is_complete
        )

    def repeat(self, state: CycleState, snapshot: Snapshot) -> Repetition | None:
        """The result of all four points by what is known of the rows that changed.

        None if a plugin has to be asked, or the verdict on a row changes.
        """
        verdicts, scores = self.verdicts, self.scores
        if (
            not self._is_repeatable
            or not self.pre_filter.others_skip
            or not verdicts.node_version == scores.node_version == snapshot.node_version
            or scores.position != verdicts.position
            or scores.rows is not verdicts.feasible
        ):
            return None
        begun = perf_counter_ns()
        self.pre_filter.restore(state, state.skip_filter)
        allowed = perf_counter_ns()
        rows = snapshot.rows_changed_since(verdicts.position)
        if rows is None or not verdicts.still_hold(rows, snapshot):
            return None
        filtered = perf_counter_ns()
        self.pre_score.restore(state, state.skip_score)
        prepared = perf_counter_ns()
        if rows and not scores.follow(rows, snapshot):
            return None
        verdicts.position = scores.position = snapshot.pods_position
        scored = perf_counter_ns()
        state.durations = {
            "PreFilter": allowed - begun,
            "Filter": filtered - allowed,
            "PreScore": prepared - filtered,
            "Score": scored - prepared,
        }
        state.plugin_durations = {
            "PreFilter": self.pre_filter.spent(allowed - begun),
            "Filter": verdicts.spent(filtered - allowed),
            "PreScore": self.pre_score.spent(prepared - filtered),
            "Score": scores.spent(scored - prepared),
        }
        known = verdicts.statuses
        return Repetition(
            NodeStatuses(known.ids, known.statuses.copy()),
            verdicts.feasible,
            verdicts.summary,
            scores.found(),
        )
