"""The random draws of a recorded decision."""

from __future__ import annotations

from apps.scheduler.decision import Decision


class RecordedDraws:
    """Replays the draws of a decision in order; returns 0 when no draw is left."""

    def __init__(self) -> None:
        self._left: list[int] = []

    def replay(self, decision: Decision) -> None:
        """Replay the draws of this decision: among tied nodes, or in preemption."""
        self._left = [decision.draw]
        if decision.ranking.best is None and decision.post_filter is not None:
            preemption = decision.post_filter
            chosen = (
                preemption.nominating.nominated_node if preemption.nominating is not None else ""
            )
            chosen = chosen or (decision.nominating.nominated_node if decision.nominating else "")
            index = preemption.ties.index(chosen) if chosen in preemption.ties else 0
            self._left = [preemption.offset, index]

    def clear(self) -> None:
        """Return 0 from now on."""
        self._left = []

    def __call__(self, choices: int) -> int:
        drawn = self._left.pop(0) if self._left else 0
        # the recorded draw had more choices than this one
        return drawn if drawn < choices else 0
