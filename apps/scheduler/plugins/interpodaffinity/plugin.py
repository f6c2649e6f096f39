"""The extension points of InterPodAffinity."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from apps.scheduler.config.checks import check_range
from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import ClusterEventWithHint
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, Reads
from apps.scheduler.framework.status import SKIP, Status, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects.meta import Int32
from apps.scheduler.plugins.interpodaffinity import NAME, hints
from apps.scheduler.plugins.interpodaffinity.filtering import PreFilterState, verdicts
from apps.scheduler.plugins.interpodaffinity.refusal_details import UnmetTerms
from apps.scheduler.plugins.interpodaffinity.score_details import (
    CountedTerms,
    describe_normalization,
)
from apps.scheduler.plugins.interpodaffinity.scoring import PreScoreState
from apps.scheduler.plugins.interpodaffinity.signs import UNRELATED, AffinitySigns

_PRE_FILTER_STATE = f"PreFilter{NAME}"
_PRE_SCORE_STATE = f"PreScore{NAME}"
#: the terms of a cycle whose scores are explained: they are counted once for all nodes
_COUNTED_TERMS = f"Explain{NAME}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterPodAffinityArgs:
    hard_pod_affinity_weight: Int32 = described(
        1, "0 to 100: the weight of a required affinity term of an existing pod in scores."
    )
    ignore_preferred_terms_of_existing_pods: bool = described(
        False, "Ignore the preferred affinity of existing pods, unless the pod has affinity."
    )


class InterPodAffinity:
    name = NAME
    args_type = InterPodAffinityArgs
    default_weight = 2
    sign_reads: Reads = "domains"

    def __init__(self, args: InterPodAffinityArgs | None, handle: Handle) -> None:
        args = args or InterPodAffinityArgs()
        self._handle = handle
        self._signs = AffinitySigns(
            handle.snapshot,
            handle.listers,
            hard_pod_affinity_weight=args.hard_pod_affinity_weight,
            ignores_existing=args.ignore_preferred_terms_of_existing_pods,
        )

    @staticmethod
    def check_args(args: InterPodAffinityArgs, path: str, problems: Problems) -> None:
        weight = args.hard_pod_affinity_weight
        check_range(weight, 0, 100, f"{path}.hardPodAffinityWeight", problems)

    def sign(self, pod: PodInfo) -> Hashable | None:
        return None if pod.terms.errors else self._signs.of(pod)

    def skips(self, pod: PodInfo) -> bool:
        return self.sign(pod) is UNRELATED

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        affinity = pod.pod.spec.affinity
        if affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity):
            return None
        return frozenset(pod.pod.metadata.labels.items())

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        if pod.terms.errors:
            return None, unresolvable(f"parsing pod: {', '.join(pod.terms.errors)}")
        required = self._signs.of(pod).filter
        counts = required.counts(self._handle.snapshot) if required is not None else None
        if counts is None:
            return None, SKIP
        labels = self._signs.existing.namespace_labels(pod)
        state.write(_PRE_FILTER_STATE, PreFilterState(pod, labels, counts))
        return None, None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, nodes: NodeColumns) -> None:
        self._change(state, added, nodes, 1)

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, nodes: NodeColumns
    ) -> None:
        self._change(state, removed, nodes, -1)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        pre_filter_state = state.read(_PRE_FILTER_STATE, PreFilterState)
        return verdicts(pre_filter_state.counts, nodes, whole=nodes is self._handle.snapshot)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        snapshot, listers = self._handle.snapshot, self._handle.listers
        terms = UnmetTerms(pod, nodes.info(0), int(nodes.snapshot_rows[0]), snapshot, listers)
        return terms.details(status)

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        scores, snapshot = self._signs.of(pod).scores, self._handle.snapshot
        if scores is None:
            return SKIP
        score_state = scores.state(
            snapshot, rows if nodes is snapshot else nodes.snapshot_rows[rows]
        )
        if score_state is None:
            return SKIP
        state.write(_PRE_SCORE_STATE, score_state)
        return None

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """The weights of the terms, the pod's and others', that match in the node's domains."""
        return state.read(_PRE_SCORE_STATE, PreScoreState).raw

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """Each term that counts, with the pods in the node's domain."""
        snapshot, scores = self._handle.snapshot, self._signs.of(pod).scores
        counted = state.find(_COUNTED_TERMS, CountedTerms)
        if counted is None and scores is not None:
            counted = CountedTerms(pod, scores.incoming, scores.existing, snapshot)
            state.write(_COUNTED_TERMS, counted)
        return counted.details(int(nodes.snapshot_rows[0]), snapshot) if counted else iter(())

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Int64Array) -> Int64Array:
        return state.read(_PRE_SCORE_STATE, PreScoreState).normalized

    def explain_normalization(
        self, state: CycleState, pod: PodInfo, scores: Int64Array, place: int
    ) -> Iterator[Detail]:
        result = int(state.read(_PRE_SCORE_STATE, PreScoreState).normalized[place])
        return describe_normalization(scores, place, result)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return hints.EVENTS

    def _change(self, state: CycleState, other: PodInfo, nodes: NodeColumns, amount: int) -> None:
        pre_filter_state = state.read(_PRE_FILTER_STATE, PreFilterState)
        changed = pre_filter_state.with_change(
            other, int(nodes.snapshot_rows[0]), amount, self._handle.snapshot.domains
        )
        state.write(_PRE_FILTER_STATE, changed)
