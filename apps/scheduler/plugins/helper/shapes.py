"""Scores by a shape: a broken line over the utilization of a resource."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.scheduler.config.resource_args import MAX_CUSTOM_PRIORITY_SCORE, UtilizationShapePoint
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.nodes import Int64Array


def line_of_shape(shape: Sequence[UtilizationShapePoint]) -> Int64Array:
    """(101,) int64: the score, 0 to 100, at each whole percent of utilization."""
    scale = MAX_NODE_SCORE // MAX_CUSTOM_PRIORITY_SCORE
    points = [(point.utilization, point.score * scale) for point in shape]
    return np.array([broken_line(points, percent) for percent in range(101)], dtype=np.int64)


def broken_line(points: Sequence[tuple[int, int]], at: int) -> int:
    """The value at ``at`` of the line through ``points`` (x ascending), in Go's integers."""
    for index, (x, y) in enumerate(points):
        if at <= x:
            if index == 0:
                return y
            x0, y0 = points[index - 1]
            rise = (y - y0) * (at - x0)
            steps = abs(rise) // (x - x0)
            return y0 + (steps if rise >= 0 else -steps)
    return points[-1][1]
