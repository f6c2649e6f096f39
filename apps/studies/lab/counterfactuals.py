"""A recorded decision with other weights, and without some of its filter plugins."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.engine.ledger.records import DecisionRecord
from apps.engine.models import SchedulingDecision
from apps.engine.results.flips import MAX_WEIGHT, Flip, find_flips
from apps.engine.results.scores import ScoreMatrix, score_matrix
from apps.engine.results.weighing import TieRule, describe_outcome, recorded_rule, reweigh
from apps.scheduler.config.types import Profile
from apps.scheduler.decision import Decision, Result
from apps.studies.explanations.states import GAPS, describe_gap, states
from apps.studies.lab.edits import Edits, edited
from apps.studies.rebuilding import PastState, rebuild_state_before
from apps.studies.rebuilding.previewing import Effect
from apps.studies.rebuilding.replaying import CannotRecompute, decide_again

#: Where a filter plugin that is switched off has no effect; it still scores.
_POINTS = ("preFilter", "filter", "reserve")


EffectOfQuestion: TypeAlias = Literal[
    Effect.SAME, Effect.TIED, Effect.OTHER_NODE, Effect.NOW_SCHEDULED, Effect.NOW_UNSCHEDULABLE
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is different from the recorded decision."""

    #: plugin (or extender) -> its weight instead of the recorded one
    weights: Mapping[str, int]
    #: filter plugins that are switched off
    without: Sequence[str] = ()
    #: changes of the pod, of nodes, and of the pods on them
    edits: Edits = Edits()

    @property
    def needs_state(self) -> bool:
        """Whether the pod has to be filtered and scored again."""
        return bool(self.without or self.edits)


class Weight(NamedTuple):
    #: the plugin, or the URL of an extender
    plugin: str
    recorded: int
    weight: int


class NodeTotal(NamedTuple):
    node: str
    #: from 1; equal totals share a rank
    rank: int
    total: int
    #: None for a node that had no scores
    recorded_total: int | None
    #: how much the greatest total is above it
    missed_by: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """What a recorded decision would have been."""

    question: Question
    rule: TieRule
    #: as recorded; empty if nothing was scored
    recorded: ScoreMatrix
    #: without the filters that are off, with the recorded weights
    unweighed: ScoreMatrix
    #: the same with the weights of the question
    matrix: ScoreMatrix
    #: `tied`: the recorded node has the greatest total as well, and the draw is not known
    effect: EffectOfQuestion
    #: empty if there is none, or if the draw is not known: then `tied` has several
    node: str
    sentence: str
    #: of the recorded decision; the smallest change first
    flips: Sequence[Flip]

    ANSWER: ClassVar = (
        *("sentence", "effect", "recorded_node", "node", "tied"),
        *("weights", "without", "nodes", "flips"),
    )

    @property
    def recorded_node(self) -> str:
        return self.rule.node

    @property
    def without(self) -> Sequence[str]:
        return self.question.without

    @property
    def nodes(self) -> list[NodeTotal]:
        """All feasible nodes, by rank."""
        recorded = dict(zip(self.recorded.nodes, self.recorded.total.tolist(), strict=True))
        ranks, totals = self.matrix.ranks.tolist(), self.matrix.total.tolist()
        return [
            NodeTotal(node, rank, total, recorded.get(node), totals[0] - total)
            for node, rank, total in zip(self.matrix.nodes, ranks, totals, strict=True)
        ]

    @property
    def tied(self) -> Sequence[str]:
        """The nodes with the greatest total."""
        return self.matrix.nodes[: self.matrix.tied]

    @property
    def weights(self) -> list[Weight]:
        """The weights, sorted by the names of plugins."""
        plugins = {each.name: each.weight for each in self.unweighed.plugins}
        return [
            Weight(name, weight, self.question.weights.get(name, weight))
            for name, weight in sorted(plugins.items())
        ]


def ask(row: SchedulingDecision, record: DecisionRecord, question: Question) -> Counterfactual:
    """Answer a question about a recorded decision; `record` is the row's.

    Other weights alone follow from the ledger. Else the state of the decision is rebuilt, changed,
    and its pod is filtered and scored again.

    Raises BadRequest for an unknown plugin or an impossible weight, and if the state cannot be
    rebuilt.
    """
    decision = record.decision
    recorded = score_matrix(decision)
    by_name = record.draws.tie_break == Cluster.TieBreak.FIRST_NAME
    rule = replace(recorded_rule(recorded, by_name=by_name), node=decision.node)
    again = _decide_again(row, decision, question) if question.needs_state else decision
    unweighed = reweigh(score_matrix(again), {}, rule) if question.needs_state else recorded
    _check_weights(unweighed, question.weights)
    matrix = reweigh(unweighed, question.weights, rule)
    node = _chosen_node(matrix, again)
    return Counterfactual(
        question=question,
        rule=rule,
        recorded=recorded,
        unweighed=unweighed,
        matrix=matrix,
        effect=_compare(rule, matrix, again, node),
        node=node,
        sentence=_describe(rule, matrix, again),
        flips=find_flips(recorded, rule),
    )


def _chosen_node(matrix: ScoreMatrix, again: Decision) -> str:
    """The node with which the search ends; a single feasible node is not scored."""
    if len(matrix.nodes):
        return matrix.nodes[0] if matrix.chosen else ""
    return again.node


def _compare(rule: TieRule, matrix: ScoreMatrix, again: Decision, node: str) -> EffectOfQuestion:
    has_node = bool(node or len(matrix.nodes))
    if not rule.node:
        return Effect.NOW_SCHEDULED if has_node else Effect.SAME
    if not has_node:
        return Effect.NOW_UNSCHEDULABLE
    if not node:
        tied = matrix.nodes[: matrix.tied]
        return Effect.TIED if rule.node in tied else Effect.OTHER_NODE
    return Effect.SAME if node == rule.node else Effect.OTHER_NODE


def _describe(rule: TieRule, matrix: ScoreMatrix, again: Decision) -> str:
    if len(matrix.nodes):
        return describe_outcome(matrix, rule)
    if again.node:
        verb = "is still" if again.node == rule.node else "would be"
        return f"{again.node} {verb} the only feasible node, so nothing is scored."
    return again.message or "No node was scored."


def _check_weights(matrix: ScoreMatrix, weights: Mapping[str, int]) -> None:
    recorded = {each.name: each.weight for each in matrix.plugins}
    for name, weight in weights.items():
        if name not in recorded:
            known = ", ".join(sorted(recorded)) or "none"
            raise BadRequest(f"weight: {name} has no scores here; plugins with scores: {known}")
        if not 0 <= weight <= max(MAX_WEIGHT, recorded[name]):
            raise BadRequest(f"weight: {name} must weigh 0 to {max(MAX_WEIGHT, recorded[name])}")


def _decide_again(row: SchedulingDecision, recorded: Decision, question: Question) -> Decision:
    """The attempt in the state that it saw, changed, and without the filters that are off."""
    field = "without" if question.without else "edits"
    try:
        with (
            _state_of(row, question) as state,
            edited(state, question.edits.edits(str(row.pod_uid))),
            _filters_off(state, row, question.without),
        ):
            again = decide_again(state, row, recorded)
    except GAPS as failure:
        if isinstance(failure, BadRequest):
            raise
        raise BadRequest(f"{field}: {describe_gap(failure)}") from failure
    except CannotRecompute as failure:
        raise BadRequest(f"{field}: {failure}") from failure
    if again.result is Result.ERROR:
        raise BadRequest(f"{field}: the attempt ends with an error: {again.message}")
    return again


@contextmanager
def _state_of(row: SchedulingDecision, question: Question) -> Iterator[PastState]:
    """The state that the decision saw, from memory unless the question cannot be undone there.

    A pod that is deleted and added again is the last one in the cache.
    """
    if question.edits.delete_pods:
        yield rebuild_state_before(row)
    else:
        with states.before(row) as state:
            yield state


@contextmanager
def _filters_off(
    state: PastState, row: SchedulingDecision, without: Collection[str]
) -> Iterator[None]:
    """Turn these plugins off in the profile of the decision's pod, until the block ends."""
    if not without:
        yield
        return
    framework = state.scheduler.profiles.get(row.scheduler_name)
    if framework is None:
        raise BadRequest(f"without: revision {state.revision} has no profile {row.scheduler_name}")
    filters = framework.profile.plugins.get("filter", ())
    for name in without:
        if name not in filters:
            known = ", ".join(sorted(filters))
            raise BadRequest(f"without: {name} is no filter plugin of the profile: {known}")
    with state.scheduler.with_profile(_without(framework.profile, without)):
        yield


def _without(profile: Profile, without: Collection[str]) -> Profile:
    plugins = {
        point: tuple(name for name in names if point not in _POINTS or name not in without)
        for point, names in profile.plugins.items()
    }
    return replace(profile, plugins=plugins)
