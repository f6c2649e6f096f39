"""What a decision has found, for the API and the pages: refusals by status, scores as columns.

Raw scores are 64-bit integers. Clients that read numbers as doubles, such as JavaScript, round
those beyond 2^53.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from apps.cluster.models import Cluster
from apps.engine.results.refusals import NodeRefusal, RefusalGroup, find_refusal, group_refusals
from apps.engine.results.scores import Score, ScoreMatrix, score_matrix
from apps.scheduler.decision import Decision
from apps.scheduler.framework.extender_calls import ExtenderCall
from apps.scheduler.framework.status import Status
from apps.scheduler.preemption.ranking import CRITERIA


class PluginStatus(NamedTuple):
    plugin: str
    code: str
    reasons: Sequence[str]


class Batch(NamedTuple):
    """A decision whose node comes from the ranking of another one."""

    #: its next node, which was tried before all others
    node: str
    #: the pod fits there: no other node was evaluated, and none was scored
    selected: bool
    #: `namespace/name` of the pod whose decision has the scores
    pod: str
    pod_uid: str
    #: the number of the attempt of that decision
    attempt: int


@dataclass(frozen=True, slots=True)
class Search:
    """How the nodes were searched."""

    #: position in the order of nodes at which it started
    start: int
    #: nodes that the filters evaluated
    evaluated: int
    #: no other node was evaluated
    nominated_node_only: bool
    #: None: no node came from the ranking of another decision
    batch: Batch | None
    #: None: PreFilter allowed all
    pre_filter_nodes: Sequence[str] | None
    filter_skipped: Sequence[str]
    score_skipped: Sequence[str]
    #: index of the selected node in `ties`, in the order of the snapshot
    draw: int | None


class PreemptionCandidate(NamedTuple):
    node: str
    #: `namespace/name`, most important first
    victims: Sequence[str]
    pdb_violations: int
    #: criterion -> figure, in order of comparison
    figures: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Preemption:
    """The candidates for preemption."""

    outcome: PluginStatus
    nominated_node: str | None
    candidates: Sequence[PreemptionCandidate]
    ties: Sequence[str]
    #: the criterion that decided
    decided_by: str
    #: index of the node at which the search started
    offset: int


class PermitHold(NamedTuple):
    """How Permit plugins held the pod."""

    #: plugin -> timeout in seconds
    timeouts: Mapping[str, float]
    #: how long the pod waited
    seconds: float
    #: None when the pod was allowed
    rejection: PluginStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionResults:
    """Everything that an attempt found."""

    #: the first refusal of each node, grouped; most nodes first, not evaluated last
    refusals: Sequence[RefusalGroup]
    scores: ScoreMatrix
    ties: Sequence[str]
    pre_filter: PluginStatus | None
    rejection: PluginStatus | None
    search: Search
    #: None: PostFilter was not run
    preemption: Preemption | None
    #: extension point -> nanoseconds
    durations: Mapping[str, int]
    #: extension point -> plugin -> nanoseconds
    plugin_durations: Mapping[str, Mapping[str, int]]
    extender_calls: Sequence[ExtenderCall]
    permit_wait: PermitHold | None


@dataclass(frozen=True, slots=True)
class NodeResult:
    """The result of one node in a decision."""

    node: str
    #: None: the node was feasible
    refusal: NodeRefusal | None
    #: empty if the node was not scored
    scores: Sequence[Score]
    total: int | None
    #: from 1, by total
    rank: int | None


def read_results(decision: Decision, *, first: int | None = None) -> DecisionResults:
    """Everything that an attempt found; of each list of nodes the `first` ones, or all."""
    refusals = group_refusals(decision)
    return DecisionResults(
        refusals=[replace(group, nodes=group.nodes[:first]) for group in refusals],
        scores=score_matrix(decision).cut(first),
        ties=decision.tied_nodes()[:first],
        pre_filter=_read_status(decision.pre_filter),
        rejection=_read_status(decision.rejection),
        search=_read_search(decision),
        preemption=_read_preemption(decision),
        durations=decision.durations,
        plugin_durations=decision.plugin_durations,
        extender_calls=decision.extender_calls,
        permit_wait=_read_permit_wait(decision),
    )


def read_node_result(decision: Decision, node: str) -> NodeResult:
    """The refusal or the scores of one node; raises KeyError if it was not in the cluster."""
    if not node or node not in decision.nodes:
        raise KeyError(node)
    refusal, matrix = find_refusal(decision, node), score_matrix(decision)
    place = matrix.find_place(node)
    if place is None:
        return NodeResult(node, refusal, (), None, None)
    total, rank = int(matrix.total[place]), int(matrix.ranks[place])
    return NodeResult(node, refusal, matrix.scores_at(place), total, rank)


def describe_tie(tied_nodes: int, tie_break: str) -> str:
    """How one of several nodes with the same score was selected; empty without a tie."""
    if tied_nodes < 2:
        return ""
    if tie_break == Cluster.TieBreak.FIRST_NAME:
        return f"the first by name of {tied_nodes:,} nodes with the same score"
    return f"drawn from {tied_nodes:,} nodes with the same score"


def _read_search(decision: Decision) -> Search:
    allowed = decision.pre_filter_nodes
    return Search(
        start=decision.start,
        evaluated=decision.evaluated,
        nominated_node_only=decision.nominated_fast_path and not decision.is_batched,
        batch=_read_batch(decision),
        pre_filter_nodes=None if allowed is None else sorted(allowed),
        filter_skipped=sorted(decision.filter_skipped),
        score_skipped=sorted(decision.score_skipped),
        draw=decision.draw if len(decision.ties) else None,
    )


def _read_batch(decision: Decision) -> Batch | None:
    hint = decision.hint
    if hint is None:
        return None
    return Batch(hint.node, decision.is_batched, hint.pod_key, hint.pod_uid, hint.attempt)


def _read_preemption(decision: Decision) -> Preemption | None:
    status, result = decision.post_filter_status, decision.post_filter
    if status is None:
        return None
    return Preemption(
        outcome=PluginStatus(status.plugin, status.code.label, status.reasons),
        nominated_node=decision.nominating.nominated_node if decision.nominating else None,
        candidates=[
            PreemptionCandidate(
                candidate.node,
                candidate.victims,
                candidate.pdb_violations,
                dict(zip(CRITERIA, candidate.figures, strict=False)),
            )
            for candidate in (result.candidates if result else ())
        ],
        ties=result.ties if result else (),
        decided_by=result.decided_by if result else "",
        offset=result.offset if result else 0,
    )


def _read_permit_wait(decision: Decision) -> PermitHold | None:
    wait = decision.permit_wait
    if wait is None:
        return None
    return PermitHold(wait.timeouts, wait.seconds, _read_status(wait.outcome))


def _read_status(status: Status | None) -> PluginStatus | None:
    """A status that is not a success; None for success and for no status."""
    if status is None or status.is_success:
        return None
    return PluginStatus(status.plugin, status.code.label, status.reasons)
