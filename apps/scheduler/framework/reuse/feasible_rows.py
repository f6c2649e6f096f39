"""How the feasible rows differ from those of an earlier cycle, and what that does to scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.plugin_scores import ScoreColumn, Scorer

#: differences that are followed one by one; more than these are worth new columns
_MAX_DIFFERENCES: Final = 16


def difference(before: Int64Array, after: Int64Array) -> tuple[list[int], list[int]] | None:
    """The rows of ``before`` alone and those of ``after`` alone; both arrays ascend.

    None if these are too many to be followed one by one.
    """
    if abs(len(before) - len(after)) > _MAX_DIFFERENCES:
        return None
    only = _only_one_left(before, after)
    if only is not None:
        return [only], []
    left: list[int] = []
    entered: list[int] = []
    while len(before) and len(after):
        common = min(len(before), len(after))
        differs = before[:common] != after[:common]
        place = int(differs.argmax())
        if not differs[place]:
            before, after = before[common:], after[common:]
            break
        if len(left) + len(entered) == _MAX_DIFFERENCES:
            return None
        if before[place] < after[place]:
            left.append(int(before[place]))
            before, after = before[place + 1 :], after[place:]
        else:
            entered.append(int(after[place]))
            before, after = before[place:], after[place + 1 :]
    left.extend(before.tolist())
    entered.extend(after.tolist())
    return (left, entered) if len(left) + len(entered) <= _MAX_DIFFERENCES else None


def _only_one_left(before: Int64Array, after: Int64Array) -> int | None:
    """The row of ``before`` that ``after`` lacks, if this is the only difference."""
    count = len(after)
    if len(before) != count + 1:
        return None
    place = int((before[:count] != after).argmax()) if count else 0
    if count and before[place] == after[place]:
        place = count
    rest = (before[place + 1 :] == after[place:]).all()
    return int(before[place]) if rest else None


class Extremes:
    """How many rows have the smallest and the greatest of the raw scores of one plugin."""

    def __init__(self, raw: Int64Array) -> None:
        self._raw = raw
        self._rows: dict[int, int] = {
            score: int(np.count_nonzero(raw == score)) for score in {int(raw.min()), int(raw.max())}
        }

    def count(self, place: int, amount: int) -> bool:
        """Count more rows with the score at ``place``; False if an extreme has none left."""
        score = int(self._raw[place])
        if score not in self._rows:
            return True
        self._rows[score] += amount
        return self._rows[score] > 0


def extremes_of(
    scorers: Iterable[Scorer], columns: dict[str, ScoreColumn]
) -> list[Extremes] | None:
    """The extremes of the plugins that normalize.

    None if one of them looks at more than the extremes.
    """
    normalizing = [each for each in scorers if each.normalizer is not None]
    if not all(each.normalizes_by_extremes for each in normalizing):
        return None
    return [Extremes(columns[each.name].raw) for each in normalizing]
