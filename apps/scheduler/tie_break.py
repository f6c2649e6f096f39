"""The choice among things that nothing else tells apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.ranking import Ranking

TieBreak = Literal["random", "first-name"]


class TieBreaker:
    """Chooses one of several equally good nodes: at random, or the first by name.

    ``draw`` returns a random number from 0 to below its argument.
    """

    def __init__(self, tie_break: TieBreak, draw: Callable[[int], int]) -> None:
        self._by_name = tie_break == "first-name"
        self._draw = draw

    def choose(self, count: int) -> int:
        """An index below ``count``, into things that are listed by name."""
        if count == 1 or self._by_name:
            return 0
        return self._draw(count)

    def choose_row(self, ranking: Ranking, name_rank: Int64Array) -> int:
        """An index into the ties of ``ranking``; ``name_rank`` is Snapshot.name_rank."""
        if self._by_name and ranking.tied > 1:
            return int(name_rank[ranking.ties].argmin())
        return self.choose(ranking.tied)
