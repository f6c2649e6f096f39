"""Normalization of raw scores to 0..100."""

from __future__ import annotations

from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.nodes import Int64Array, constant


def default_normalize_score(scores: Int64Array, *, reverse: bool = False) -> Int64Array:
    """Scale non-negative scores so that the highest becomes 100; ``reverse``: so that 0 does.

    ``score * 100 // highest``, and 100 minus that in reverse. All zero stays 0, or 100 reversed.
    """
    greatest = int(scores.max(initial=0))
    if greatest == 0:
        return constant(len(scores), MAX_NODE_SCORE) if reverse else scores
    scaled = scores * MAX_NODE_SCORE // greatest
    return MAX_NODE_SCORE - scaled if reverse else scaled
