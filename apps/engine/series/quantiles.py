"""Quantiles of sparse histograms: index of a bound -> number of observations up to it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import gt

from apps.scheduler.metrics.definitions import exponential

#: index of the bound (its number of bounds: above the last one) -> observations
Histogram = dict[int, int]

#: Bounds of the waiting time in seconds: 10 ms to 23 days, each 1.41 times the one before.
WAIT_BOUNDS = exponential(0.01, 2**0.5, 56)


def quantile(histogram: Histogram, bounds: Sequence[float], share: float) -> float | None:
    """The value below which `share` (0 to 1) of the observations lie; None without observations.

    Linear within a bucket, as Prometheus' `histogram_quantile`; the last bound above all bounds.
    """
    total = sum(histogram.values())
    if not total:
        return None
    ordered = sorted(histogram.items())
    steps = [0]
    for _, count in ordered:
        steps.append(steps[-1] + count)
    wanted = share * total
    for (index, count), (before, after) in zip(ordered, pairwise(steps), strict=True):
        if after >= wanted:
            if index >= len(bounds):
                return bounds[-1]
            low = bounds[index - 1] if index else 0.0
            return low + (bounds[index] - low) * (wanted - before) / count
    return bounds[-1]


def subtract(now: Sequence[int], before: Sequence[int] | None) -> Histogram:
    """The observations since `before`; all of them if the counter was reset."""
    if before is None or len(before) != len(now) or any(map(gt, before, now)):
        before = (0,) * len(now)
    differences = ((index, n - b) for index, (n, b) in enumerate(zip(now, before, strict=True)))
    return {index: count for index, count in differences if count}
