"""The choice among nodes, or placements, with the same score."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Literal

from apps.scheduler.framework.node_columns import Int64Array

TieBreak = Literal["random", "first-name"]
#: returns a random number from 0 to below its argument
Draw = Callable[[int], int]


def parse_tie_break(text: str) -> TieBreak:
    """The setting as clusters and bundles store it; "random" for any other text."""
    return "first-name" if text == "first-name" else "random"


def random_draws(seed: int) -> Draw:
    """Random numbers from 0 to below the argument, the same ones for the same seed."""
    draw = random.Random(seed).random
    return lambda count: int(draw() * count)


class TieBreaker:
    """Chooses one of several equally good nodes: at random, or the first by name."""

    def __init__(self, tie_break: TieBreak, draw: Draw) -> None:
        self._by_name = tie_break == "first-name"
        self._draw = draw

    def choose(self, count: int) -> int:
        """An index below ``count``, into things that are listed by name."""
        if count == 1 or self._by_name:
            return 0
        return self._draw(count)

    def choose_name(self, names: Sequence[str]) -> int:
        """An index into ``names``, which are in order."""
        return self.choose(len(names))

    def choose_row(self, ties: Sequence[int] | Int64Array, name_rank: Int64Array) -> int:
        """An index into ``ties``, rows of the snapshot; ``name_rank`` is Snapshot.name_rank."""
        if self._by_name and len(ties) > 1:
            return int(name_rank[ties].argmin())
        return self.choose(len(ties))
