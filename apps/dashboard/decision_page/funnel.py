"""The funnel: all nodes, how many each plugin rejected, the remaining ones, and the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.engine.results.refusals import RefusalGroup, count_by_source
from apps.scheduler.decision import Decision


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """The nodes that remain after a step, or that it rejected (`out`); the bar is in percent.

    `plugin` is what rejected them, a plugin or an extension point.
    """

    name: str
    nodes: int
    out: bool = False
    detail: str = ""
    plugin: str = ""
    start: float = 0.0
    width: float = 0.0


def funnel_steps(decision: Decision, refusals: Sequence[RefusalGroup]) -> list[FunnelStep]:
    """The steps from all nodes to the chosen one; `refusals` are those of the decision."""
    total, left = decision.total_nodes, decision.total_nodes
    steps = [_step(total, "nodes in the cluster", total)]
    for source, nodes in count_by_source(refusals):
        left -= nodes
        name = f"rejected by {source}" if source else "not evaluated"
        steps.append(replace(_step(total, name, nodes, out=True, start=left), plugin=source))
    steps.append(_step(total, "feasible", len(decision.feasible)))
    # the scores of a batch are those of another decision
    if len(decision.total) and not decision.is_batched:
        best = f"{decision.total.max():,} points"
        if decision.scores:
            steps.append(_step(total, "scored", len(decision.total)))
        steps.append(_step(total, "with the best score", len(decision.ties), detail=best))
    steps.append(_step(total, "selected", 1 if decision.node else 0, detail=decision.node))
    return steps


def _step(
    total: int, name: str, nodes: int, *, out: bool = False, detail: str = "", start: int = 0
) -> FunnelStep:
    percent = 100 / max(total, 1)
    return FunnelStep(
        name, nodes, out, detail, start=max(start, 0) * percent, width=nodes * percent
    )
