"""Why a simulated pod has its node, or none: the sentences that real decisions have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apps.engine.results.comparison import compare_with_runner_up, format_points
from apps.engine.results.scores import score_matrix
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.scheduler import Scheduler
from apps.studies.explanations.reasons import describe_dominant_reason

if TYPE_CHECKING:
    from apps.studies.lab.run import SimulatedPod


def describe_pod(scheduler: Scheduler, simulated: SimulatedPod) -> str:
    """One or two sentences about the last attempt; the scheduler's message if it is not kept."""
    decision = simulated.decision
    if decision is None:
        return _summarize(simulated) if simulated.is_placed else simulated.message
    if simulated.is_placed:
        comparison = compare_with_runner_up(decision, score_matrix(decision))
        return (
            comparison.sentence
            if comparison
            else f"{simulated.node} was chosen; nothing was scored."
        )
    if simulated.nominated_node:
        return f"It is nominated to {simulated.nominated_node} and waits for room there."
    nodes = scheduler.cache.nodes
    reason = describe_dominant_reason(
        decision,
        PodInfo(simulated.pod).requests,
        nodes=sum(info.node is not None for info in nodes.values()),
        largest=lambda resource: max(
            (info.allocatable.get(resource, 0) for info in nodes.values()), default=0
        ),
    )
    return reason or simulated.message


def _summarize(placed: SimulatedPod) -> str:
    """What is known of a placement whose decision is not kept."""
    if placed.total_score is None:
        return f"{placed.node} was chosen; nothing was scored."
    nodes = f"{placed.feasible_nodes:,} feasible node{'' if placed.feasible_nodes == 1 else 's'}"
    points = format_points(placed.total_score)
    if placed.tied_nodes > 1:
        others = f"{placed.tied_nodes - 1:,} other{'s' if placed.tied_nodes > 2 else ''}"
        return f"{placed.node} tied with {others} of {nodes} at {points} and was picked."
    return f"{placed.node} has the most points of {nodes}: {points}."
