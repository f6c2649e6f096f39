"""The extension points of PodTopologySpread."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import ClusterEventWithHint
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, Reads
from apps.scheduler.framework.status import SKIP, Status, StatusError, error
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.labels import SelectorError
from apps.scheduler.plugins.podtopologyspread.args import (
    SYSTEM_DEFAULTING,
    PodTopologySpreadArgs,
    check_args,
    default_args,
)
from apps.scheduler.plugins.podtopologyspread.constraints import (
    DO_NOT_SCHEDULE,
    NAME,
    SpreadConstraint,
)
from apps.scheduler.plugins.podtopologyspread.default_constraints import (
    SYSTEM_DEFAULTS,
    DefaultConstraints,
)
from apps.scheduler.plugins.podtopologyspread.filtering import (
    PreFilterState,
    verdicts,
)
from apps.scheduler.plugins.podtopologyspread.hints import SpreadHints
from apps.scheduler.plugins.podtopologyspread.refusal_details import too_uneven
from apps.scheduler.plugins.podtopologyspread.score_details import (
    describe_counts,
    describe_normalization,
)
from apps.scheduler.plugins.podtopologyspread.scoring import PreScoreState
from apps.scheduler.plugins.podtopologyspread.signs import NOT_SPREAD, SpreadSign, SpreadSigns

PRE_FILTER_STATE = f"PreFilter{NAME}"
_PRE_SCORE_STATE = f"PreScore{NAME}"


class PodTopologySpread:
    name = NAME
    args_type = PodTopologySpreadArgs
    default_args = staticmethod(default_args)
    check_args = staticmethod(check_args)
    default_weight = 2
    sign_reads: Reads = "domains"

    def __init__(self, args: PodTopologySpreadArgs | None, handle: Handle) -> None:
        args = args or PodTopologySpreadArgs()
        system_defaulted = args.defaulting_type == SYSTEM_DEFAULTING
        written = SYSTEM_DEFAULTS if system_defaulted else args.default_constraints
        self._has_defaults = bool(written)
        defaults = DefaultConstraints(written, handle.listers)
        self._signs = SpreadSigns(defaults, handle.listers, system_defaulted=system_defaulted)
        self._handle = handle

    def sign(self, pod: PodInfo) -> Hashable | None:
        try:
            return self._signs.of(pod)
        except SelectorError:
            return None

    def skips(self, pod: PodInfo) -> bool:
        return self.sign(pod) is NOT_SPREAD

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return None if self._has_defaults or pod.pod.spec.topology_spread_constraints else ()

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        constraints = self._sign(pod).filter
        if constraints is None:
            return None, SKIP
        state.write(PRE_FILTER_STATE, constraints.state(self._handle.snapshot))
        return None, None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, nodes: NodeColumns) -> None:
        self._change(state, pod, added, nodes, 1)

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, nodes: NodeColumns
    ) -> None:
        self._change(state, pod, removed, nodes, -1)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        pre_filter_state = state.read(PRE_FILTER_STATE, PreFilterState)
        return verdicts(pre_filter_state, nodes, whole=nodes is self._handle.snapshot)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        pre_filter_state = state.read(PRE_FILTER_STATE, PreFilterState)
        return too_uneven(pre_filter_state, int(nodes.snapshot_rows[0]), self._handle.snapshot)

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        scores = self._sign(pod).scores
        if scores is None:
            return SKIP
        snapshot = self._handle.snapshot
        rows = rows if nodes is snapshot else nodes.snapshot_rows[rows]
        score_state = (scores.state if nodes.has_pods else scores.bare_state)(snapshot, rows)
        state.write(_PRE_SCORE_STATE, score_state)
        return None

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """The weighted number of matching pods in the node's domains; fewer is better."""
        return state.read(_PRE_SCORE_STATE, PreScoreState).raw

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """The matching pods in the node's domains, and what each constraint adds."""
        scores, row = self._sign(pod).scores, int(nodes.snapshot_rows[0])
        return iter(()) if scores is None else describe_counts(scores, self._handle.snapshot, row)

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Int64Array) -> Int64Array:
        return state.read(_PRE_SCORE_STATE, PreScoreState).normalized

    def explain_normalization(
        self, state: CycleState, pod: PodInfo, scores: Int64Array, place: int
    ) -> Iterator[Detail]:
        own = self._sign(pod).scores
        result = int(state.read(_PRE_SCORE_STATE, PreScoreState).normalized[place])
        return iter(()) if own is None else describe_normalization(own, scores, place, result)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return SpreadHints(self._hard_constraints).events()

    def _hard_constraints(self, pod: PodInfo) -> Sequence[SpreadConstraint]:
        try:
            return self._signs.constraints(pod, DO_NOT_SCHEDULE)
        except SelectorError as failure:
            raise _invalid(failure) from failure

    def _sign(self, pod: PodInfo) -> SpreadSign:
        try:
            return self._signs.of(pod)
        except SelectorError as failure:
            raise _invalid(failure) from failure

    def _change(
        self, state: CycleState, pod: PodInfo, other: PodInfo, nodes: NodeColumns, amount: int
    ) -> None:
        if other.namespace == pod.namespace:
            pre_filter_state = state.read(PRE_FILTER_STATE, PreFilterState)
            state.write(
                PRE_FILTER_STATE,
                pre_filter_state.with_change(other, int(nodes.snapshot_rows[0]), amount),
            )


def _invalid(failure: SelectorError) -> StatusError:
    return StatusError(error(f"get constraints from pod: {failure}"))
