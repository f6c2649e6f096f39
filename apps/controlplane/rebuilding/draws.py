"""Chance, as it fell."""

from __future__ import annotations

from apps.scheduler.decision import Decision


class RecordedDraws:
    """Gives the draws of a decision again, in their order; without one the first thing is taken."""

    def __init__(self) -> None:
        self._left: list[int] = []

    def of(self, decision: Decision) -> None:
        """From now on give those of this decision: among the best nodes, or in preemption."""
        self._left = [decision.draw]
        if not len(decision.total) and decision.post_filter is not None:
            found = decision.post_filter
            chosen = found.nominating.nominated_node if found.nominating is not None else ""
            chosen = chosen or (decision.nominating.nominated_node if decision.nominating else "")
            place = found.ties.index(chosen) if chosen in found.ties else 0
            self._left = [found.offset, place]

    def forget(self) -> None:
        """From now on always take the first."""
        self._left = []

    def __call__(self, choices: int) -> int:
        drawn = self._left.pop(0) if self._left else 0
        # what was drawn among more things cannot be found among fewer
        return drawn if drawn < choices else 0
