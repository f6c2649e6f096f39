"""Why not this node: from the state that the decision saw, not from now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.controlplane.explanations.scores import Comparison, compare, points
from apps.controlplane.explanations.states import states
from apps.controlplane.models import SchedulingDecision
from apps.scheduler.decision import Decision
from apps.scheduler.explaining.refusing import refusals_at
from apps.scheduler.explaining.sight import Refusal, look
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.status import StatusError


class Outcome(StrEnum):
    CHOSEN = "chosen"
    FEASIBLE = "feasible"
    REFUSED = "refused"
    NOT_LOOKED_AT = "not looked at"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """What became of one node in one decision."""

    node: str
    outcome: Outcome
    sentence: str
    #: the plugins that refuse the node in the rebuilt state, the decisive one first
    refusals: tuple[Refusal, ...] = ()
    #: a feasible node beside the chosen one
    comparison: Comparison | None = None
    #: why there are no figures though the node was refused; "" if there are
    gap: str = ""


def explain_node(row: SchedulingDecision, decision: Decision, node: str) -> NodeExplanation:
    """Why `node` was not taken, or that it was."""
    if node not in decision.nodes:
        sentence = f"There was no node {node} in the cluster when this was decided."
        return NodeExplanation(node, Outcome.UNKNOWN, sentence)
    place = decision.nodes.index(node)
    if place in decision.feasible:
        return _feasible(decision, node)
    statuses = decision.node_statuses
    if statuses is None:
        sentence = f"{node} was not looked at: the attempt ended before the filters."
        return NodeExplanation(node, Outcome.NOT_LOOKED_AT, sentence)
    refusals, gap = _refusals(row, node)
    if statuses.ids[place] == NodeStatuses.NOT_EVALUATED and not statuses.absent.reasons:
        sentence = (
            f"{node} was not looked at: {len(decision.feasible):,} feasible nodes were enough."
        )
        return NodeExplanation(node, Outcome.NOT_LOOKED_AT, sentence, refusals, gap=gap)
    status = decision.status_of(node)
    assert status is not None
    return NodeExplanation(
        node,
        Outcome.REFUSED,
        _refused(node, status.plugin, status.message, refusals),
        refusals,
        gap=gap,
    )


def _feasible(decision: Decision, node: str) -> NodeExplanation:
    if node == decision.node:
        total = f" with {points(int(decision.total.max()))}" if len(decision.total) else ""
        return NodeExplanation(node, Outcome.CHOSEN, f"{node} was chosen{total}.")
    beside = compare(decision, node, decision.node) if decision.node else None
    if beside is None:
        return NodeExplanation(node, Outcome.FEASIBLE, f"{node} was feasible; nothing was scored.")
    sentence = f"{node} was feasible, at rank {beside.rank:,}. {beside.sentence}"
    return NodeExplanation(node, Outcome.FEASIBLE, sentence, comparison=beside)


def _refused(node: str, plugin: str, message: str, refusals: tuple[Refusal, ...]) -> str:
    decisive = next((each for each in refusals if each.plugin == plugin), None)
    by = f" by {plugin}" if plugin else ""
    if decisive is None or not decisive.details:
        return f"{node} was refused{by}: {message}."
    said = "; ".join(detail.sentence for detail in decisive.details)
    return f"{node} was refused{by}: {said}."


def _refusals(row: SchedulingDecision, node: str) -> tuple[tuple[Refusal, ...], str]:
    """What the plugins say of the node in the rebuilt state, or why that cannot be told."""
    try:
        with states.before(row) as state:
            pod = state.pod(str(row.pod_uid))
            if pod is None or row.scheduler_name not in state.scheduler.profiles:
                return (), "The pod is not known at that version of the cluster."
            sight = look(state.scheduler, pod)
            line = state.scheduler.snapshot.row_of(node)
            return (tuple(refusals_at(sight, line)), "") if line >= 0 else ((), "")
    except ApiError as expired:
        return (), expired.message
    except Cluster.DoesNotExist:
        return (), "The cluster is deleted; only its ledger is left."
    except StatusError as failure:
        return (), failure.status.message
