"""Which of the feasible nodes is best: PreScore, Score, extenders, and the choice among ties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from apps.scheduler.attempt import Attempt
from apps.scheduler.decision import Decision
from apps.scheduler.framework.extender import MAX_EXTENDER_PRIORITY, Extender, ExtenderError
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.scoring import ScoreColumn
from apps.scheduler.framework.status import StatusError

if TYPE_CHECKING:
    from apps.scheduler.scheduler import Scheduler


def prioritize_nodes(sched: Scheduler, attempt: Attempt) -> None:
    """Score the feasible nodes: ``decision.scores`` and ``decision.total``."""
    decision, framework = attempt.decision, attempt.framework
    state, pod, rows = attempt.state, attempt.pod, decision.feasible
    if not framework.has_score_plugins and not sched.extenders:
        decision.total = np.ones(len(rows), dtype=np.int64)
        return
    status = framework.run_pre_score_plugins(state, pod, sched.snapshot, rows)
    if not status.is_success:
        raise StatusError(status)
    decision.scores = framework.run_score_plugins(state, pod, sched.snapshot, rows)
    for extender in sched.extenders:
        # as upstream, nobody outside is asked which of one node is best
        if len(rows) > 1 and extender.is_prioritizer and extender.is_interested(pod):
            add_extender_scores(sched, attempt, extender)
    total = np.zeros(len(rows), dtype=np.int64)
    for column in decision.scores.values():
        total += column.normalized if column.weight == 1 else column.weighted
    decision.total = total


def add_extender_scores(sched: Scheduler, attempt: Attempt, extender: Extender) -> None:
    """An extender that fails gives no scores; the others decide."""
    rows = attempt.decision.feasible
    names = [sched.snapshot.names[row] for row in rows]
    try:
        given = extender.prioritize(attempt.pod, names)
    except ExtenderError:
        return
    raw = np.array([given.get(name, 0) for name in names], dtype=np.int64)
    scaled = raw * (MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
    attempt.decision.scores[extender.name] = ScoreColumn(raw, scaled, extender.weight)


def select_host(sched: Scheduler, decision: Decision) -> None:
    """One of the nodes with the greatest total, drawn or first by name."""
    total = decision.total
    decision.ties = decision.feasible[np.flatnonzero(total == total.max())]
    decision.draw = sched.draw(decision.ties)
    decision.node = decision.nodes[decision.ties[decision.draw]]
