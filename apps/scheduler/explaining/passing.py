"""Which rows each filter accepts on its own."""

from __future__ import annotations

from apps.scheduler.explaining.sight import Sight
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.nodes import BoolArray


def find_passing(sight: Sight) -> dict[str, BoolArray]:
    """Filter -> (rows,) bool: the rows that pass this filter, without nominated pods."""
    found: dict[str, BoolArray] = {}
    if not sight.outcome.is_success:
        return found
    for name in sight.framework.filters.names:
        if name not in sight.state.skip_filter:
            statuses = sight.framework.filters.run_filter_plugin(
                name, sight.state, sight.pod, sight.snapshot
            )
            found[name] = statuses.ids == NodeStatuses.FEASIBLE
    return found
