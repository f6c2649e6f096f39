"""The funnel: all nodes, who took how many of them out, what was left, and the one taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from apps.scheduler.decision import Decision
from apps.scheduler.framework.diagnosis import NodeStatuses

PRE_FILTER = "PreFilter"
NOBODY = "not evaluated"


@dataclass(frozen=True, slots=True)
class Step:
    """So many nodes were left, or taken out (`out`), at one step; its bar is in percent."""

    name: str
    nodes: int
    out: bool = False
    detail: str = ""
    start: float = 0.0
    width: float = 0.0


def funnel(decision: Decision) -> list[Step]:
    """From all nodes to the one that was taken, each plugin's share taken out in between."""
    whole, left = decision.total_nodes, decision.total_nodes
    steps = [_step(whole, "nodes in the cluster", whole)]
    for name, nodes in _taken_out(decision):
        left -= nodes
        words = name if name == NOBODY else f"rejected by {name}"
        steps.append(_step(whole, words, nodes, out=True, start=left))
    steps.append(_step(whole, "feasible", len(decision.feasible)))
    if len(decision.total):
        best = f"{decision.total.max():,} points"
        if decision.scores:
            steps.append(_step(whole, "scored", len(decision.total)))
        steps.append(_step(whole, "with the best score", len(decision.ties), detail=best))
    steps.append(_step(whole, "selected", 1 if decision.node else 0, detail=decision.node))
    return steps


def _step(
    whole: int, name: str, nodes: int, *, out: bool = False, detail: str = "", start: int = 0
) -> Step:
    share = 100 / max(whole, 1)
    return Step(name, nodes, out, detail, max(start, 0) * share, nodes * share)


def _taken_out(decision: Decision) -> Iterator[tuple[str, int]]:
    """Who kept how many nodes out: PreFilter, then the most severe first, then nobody."""
    whole, statuses = decision.total_nodes, decision.node_statuses
    if not decision.pre_filter.is_success and whole:
        yield decision.pre_filter.plugin or PRE_FILTER, whole
    if statuses is None or not decision.pre_filter.is_success:
        return
    searched = whole
    if decision.pre_filter_nodes is not None:
        searched = len(decision.pre_filter_nodes & set(decision.nodes))
        if whole > searched:
            yield PRE_FILTER, whole - searched
    refused: Counter[str] = Counter()
    for number, status in enumerate(statuses.statuses):
        if status is not None and (count := int(np.count_nonzero(statuses.ids == number))):
            refused[status.plugin or "a filter"] += count
    yield from sorted(refused.items(), key=lambda item: (-item[1], item[0]))
    unseen = int(np.count_nonzero(statuses.ids == NodeStatuses.NOT_EVALUATED)) - whole + searched
    if unseen > 0:
        yield NOBODY, unseen
