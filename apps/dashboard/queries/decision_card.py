"""What the card of a decision says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

from apps.cluster.models import Cluster, Pod
from apps.dashboard.decision_page.card import Card
from apps.dashboard.decision_page.funnel import FunnelStep, funnel_steps
from apps.engine import queries
from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.engine.results.presenting import describe_tie
from apps.engine.results.refusals import group_refusals
from apps.studies.explanations.explained_decisions import explain_decision
from apps.studies.explanations.pending_pods import PodExplanation, explain_pod

MAX_REMEDIES = 3


def decision_card(cluster: Cluster, number: int, link: str) -> Card:
    """The card; of a pod that still waits since this attempt, with what would unblock it now."""
    row = queries.decision_numbered(number, cluster)
    decision = read(row).decision
    steps = funnel_steps(decision, group_refusals(decision))
    pending = _pending(cluster, row)
    sentences = [_answer(row, pending), _funnel(steps)]
    if row.node:
        sentences += filter(None, [describe_tie(row.tied_nodes, cluster.tie_break)])
    elif pending and pending.prospect:
        outlook = pending.prospect
        sentences.append(". ".join(filter(None, (outlook.prospect.value, outlook.proof))))
    unblocking = pending.unblocking if pending else None
    return Card(
        title=f"Why {row.node} for {row.namespace}/{row.name}?"
        if row.node
        else f"Why is there no node for {row.namespace}/{row.name}?",
        sentences=[_as_sentence(each) for each in sentences if each],
        remedies=[
            f"{each.sentence} → {each.nodes:,} node{'' if each.nodes == 1 else 's'}"
            for each in (unblocking.suggestions if unblocking else ())[:MAX_REMEDIES]
        ],
        steps=steps,
        cluster=cluster.name,
        number=row.pk,
        at=row.at.astimezone(UTC),
        link=link,
        is_scheduled=bool(row.node),
    )


def _pending(cluster: Cluster, row: SchedulingDecision) -> PodExplanation | None:
    """The explanation of the pod as it is now; None unless it waits since this decision."""
    if row.node or cluster.deleted_at is not None:
        return None
    if not Pod.objects.filter(cluster=cluster, uid=row.pod_uid, node_name="").exists():
        return None
    explained = explain_pod(cluster, row.namespace, row.name)
    return explained if explained.decision == row.pk else None


def _answer(row: SchedulingDecision, pending: PodExplanation | None) -> str:
    if pending and pending.why_pending:
        return pending.why_pending
    if row.node or not row.reasons:
        return explain_decision(row, decision=read(row).decision).sentence
    plugin = row.unschedulable_plugins[0] if row.unschedulable_plugins else ""
    because = f"{plugin}: {row.reasons[0]}" if plugin else row.reasons[0]
    return f"None of {row.nodes:,} nodes fits, most of them because of {because}"


def _funnel(steps: list[FunnelStep]) -> str:
    def name() -> Iterator[str]:
        for step in steps:
            if step.out:
                yield f"{step.plugin or 'no attempt'} {step.nodes:,}"

    rejected = ", ".join(name())
    feasible = next(step.nodes for step in steps if step.name == "feasible")
    told = (
        f"Of {steps[0].nodes:,} nodes, {feasible:,} {'was' if feasible == 1 else 'were'} feasible"
    )
    return f"{told}; rejected by {rejected}" if rejected else told


def _as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."
