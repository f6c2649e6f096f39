"""Scores by a shape: a broken line over the utilization of a resource."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from apps.scheduler.config.resource_args import MAX_CUSTOM_PRIORITY_SCORE, UtilizationShapePoint
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.plugins.helper.arithmetic import decimal_text, operand, signed

#: (utilization in percent, score from 0 to 100)
Point = tuple[int, int]


def line_of_shape(shape: Sequence[UtilizationShapePoint]) -> Int64Array:
    """(101,) int64: the score, 0 to 100, at each whole percent of utilization."""
    points = points_of(shape)
    return np.array([broken_line(points, percent) for percent in range(101)], dtype=np.int64)


def points_of(shape: Sequence[UtilizationShapePoint]) -> list[Point]:
    """The points of a shape, with scores up to 100."""
    scale = MAX_NODE_SCORE // MAX_CUSTOM_PRIORITY_SCORE
    return [(point.utilization, point.score * scale) for point in shape]


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


def points_around(points: Sequence[Point], utilization: int) -> tuple[Point, Point]:
    """The points before and after a utilization; twice the same one outside of the shape."""
    for index, point in enumerate(points):
        if utilization <= point[0]:
            return (point, point) if not index else (points[index - 1], point)
    return points[-1], points[-1]


def describe_line(points: Sequence[Point], utilization: int, score: int) -> str:
    """ "at utilization 25 %, between (0, 0) and (100, 100): 0 + 100 × 25 / 100 = 25"."""
    at = f"at utilization {utilization} %"
    below, above = points_around(points, utilization)
    if below == above:
        return f"{at} the shape has {score}"
    (x0, y0), (x1, y1) = below, above
    quotient = Fraction((y1 - y0) * (utilization - x0), x1 - x0)
    line = f"{at}, between ({x0}, {y0}) and ({x1}, {y1})"
    product = f"{operand(y1 - y0)} × {utilization - x0} / {x1 - x0}"
    if quotient.denominator == 1:
        return f"{line}: {y0} + {product} = {score}"
    cut = int(quotient)
    exact = decimal_text(abs(quotient))
    minus = "−" if quotient < 0 else ""
    return (
        f"{line}: {product} = {minus}{exact}, cut to {signed(cut)}; {y0} + {operand(cut)} = {score}"
    )
