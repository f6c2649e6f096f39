"""Which rows each filter accepts on its own."""

from __future__ import annotations

from apps.scheduler.explaining.evaluation import Evaluation
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.nodes import BoolArray


def find_passing(evaluation: Evaluation) -> dict[str, BoolArray]:
    """Filter -> (rows,) bool: the rows that pass this filter, without nominated pods."""
    found: dict[str, BoolArray] = {}
    if not evaluation.outcome.is_success:
        return found
    for name in evaluation.framework.filters.names:
        if name not in evaluation.state.skip_filter:
            statuses = evaluation.framework.filters.run_filter_plugin(
                name, evaluation.state, evaluation.pod, evaluation.snapshot
            )
            found[name] = statuses.ids == NodeStatuses.FEASIBLE
    return found
