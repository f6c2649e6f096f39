"""Normalization of raw scores to 0..100."""

from __future__ import annotations

from collections.abc import Iterator

from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.node_columns import Int64Array, constant
from apps.scheduler.plugins.helper.arithmetic import rounded_down


def default_normalize_score(scores: Int64Array, *, reverse: bool = False) -> Int64Array:
    """Scale non-negative scores so that the highest becomes 100; ``reverse``: so that 0 does.

    ``score * 100 // highest``, and 100 minus that in reverse. All zero stays 0, or 100 reversed.
    """
    greatest = int(scores.max(initial=0))
    if greatest == 0:
        return constant(len(scores), MAX_NODE_SCORE) if reverse else scores
    scaled = scores * MAX_NODE_SCORE // greatest
    return MAX_NODE_SCORE - scaled if reverse else scaled


def explain_default_normalization(
    scores: Int64Array, place: int, *, reverse: bool = False
) -> Iterator[Detail]:
    """The computation of ``default_normalize_score`` for one of the scores."""
    raw, greatest = int(scores[place]), int(scores.max(initial=0))
    result = int(default_normalize_score(scores, reverse=reverse)[place])
    if greatest == 0:
        words = f"the raw score of every node is 0: each has {result}"
    else:
        words = f"100 × {raw} / {greatest} = {rounded_down(100 * raw, greatest)}"
        if reverse:
            words += f"; fewer are better: 100 − {100 - result} = {result}"
    yield Detail(words, {**raw_range(scores, place), "reverse": reverse, "score": result})


def raw_range(scores: Int64Array, place: int) -> dict[str, int]:
    """The raw score of a node, and the smallest and the greatest one of the scored nodes."""
    return {
        "raw": int(scores[place]),
        "smallest": int(scores.min()),
        "greatest": int(scores.max()),
    }
