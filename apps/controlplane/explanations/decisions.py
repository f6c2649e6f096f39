"""One decision explained: why here, why not there, one node beside another."""

from __future__ import annotations

from dataclasses import dataclass

from apps.controlplane.explanations.nodes import NodeExplanation, explain_node
from apps.controlplane.explanations.scores import Comparison, compare, why_here
from apps.controlplane.ledger.reading import read
from apps.controlplane.models import SchedulingDecision
from apps.scheduler.decision import Decision


@dataclass(frozen=True, slots=True)
class DecisionExplanation:
    """What was asked about one decision."""

    sentence: str
    #: the chosen node beside the runner-up; None if there was no choice
    here: Comparison | None
    #: the nodes that were asked about, in that order
    nodes: tuple[NodeExplanation, ...] = ()
    #: both of two nodes side by side, if both were feasible
    beside: Comparison | None = None


def explain_decision(
    row: SchedulingDecision,
    *,
    node: str = "",
    against: str = "",
    decision: Decision | None = None,
) -> DecisionExplanation:
    """Explain a row of the ledger; `node` and `against` name the nodes asked about."""
    if decision is None:
        decision = read(row).decision
    here = why_here(decision)
    asked = [name for name in dict.fromkeys((node, against)) if name]
    beside = compare(decision, node, against) if len(asked) == 2 else None
    return DecisionExplanation(
        _outcome(row, decision, here),
        here,
        tuple(explain_node(row, decision, name) for name in asked),
        beside,
    )


def _outcome(row: SchedulingDecision, decision: Decision, here: Comparison | None) -> str:
    if here is not None and row.node:
        return here.sentence
    if here is not None and decision.rejection is not None:
        by = decision.rejection.plugin or "the binding"
        return f"{here.sentence} It was refused there by {by}: {decision.rejection.message}."
    if row.node:
        return f"{row.node} was chosen; nothing was scored."
    return " ".join(filter(None, (row.message, row.post_filter_message))) or "It was not scheduled."
