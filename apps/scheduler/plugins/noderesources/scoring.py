"""The three scoring strategies of NodeResourcesFit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from apps.scheduler.config.resource_args import UtilizationShapePoint
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.plugins.helper.shapes import line_of_shape
from apps.scheduler.plugins.noderesources.amounts import Amounts, percent
from apps.scheduler.plugins.noderesources.args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    ScoringStrategy,
)

#: (resources, number of rows) -> (rows,) int64
Scorer = Callable[[Sequence[Amounts], int], Int64Array]


def scorer_for(strategy: ScoringStrategy) -> Scorer:
    """The scorer of a validated strategy."""
    if strategy.type == LEAST_ALLOCATED:
        return least_allocated
    if strategy.type == MOST_ALLOCATED:
        return most_allocated
    assert strategy.type == REQUESTED_TO_CAPACITY_RATIO
    assert strategy.requested_to_capacity_ratio is not None
    return requested_to_capacity_ratio(strategy.requested_to_capacity_ratio.shape)


def least_allocated(resources: Sequence[Amounts], rows: int) -> Int64Array:
    """The weighted mean of the free shares: ``(capacity - requested) * 100 / capacity``."""

    def free_share(requested: Int64Array, capacity: Int64Array, counts: Int64Array) -> Int64Array:
        return percent(np.maximum(capacity - requested, 0), counts)

    return _weighted_mean(resources, rows, free_share)


def most_allocated(resources: Sequence[Amounts], rows: int) -> Int64Array:
    """The weighted mean of the used shares; usage beyond the capacity does not count."""

    def used_share(requested: Int64Array, capacity: Int64Array, counts: Int64Array) -> Int64Array:
        return percent(np.minimum(requested, capacity), counts)

    return _weighted_mean(resources, rows, used_share)


def requested_to_capacity_ratio(shape: Sequence[UtilizationShapePoint]) -> Scorer:
    """The rounded weighted mean of the shape at each utilization; zeros are left out."""
    line = line_of_shape(shape)

    def score(resources: Sequence[Amounts], rows: int) -> Int64Array:
        total = np.zeros(rows, dtype=np.int64)
        weights = np.zeros(rows, dtype=np.int64)
        for resource in resources:
            capacity, requested = resource.allocatable, resource.requested + resource.pod
            used = percent(np.minimum(requested, capacity), np.maximum(capacity, 1))
            scores = line[used]
            counts = (capacity != 0) & (scores > 0)
            total += np.where(counts, scores * resource.weight, 0)
            weights += np.where(counts, resource.weight, 0)
        # math.Round: halves away from zero; nothing here is negative.
        return np.floor(total / np.maximum(weights, 1) + 0.5).astype(np.int64)

    return score


def _weighted_mean(
    resources: Sequence[Amounts],
    rows: int,
    share: Callable[[Int64Array, Int64Array, Int64Array], Int64Array],
) -> Int64Array:
    """``share(requested, capacity, max(capacity, 1))`` by weight, rounded down; (rows,) int64.

    The arguments are (resources, rows) int64. A resource does not count on rows where its capacity
    is 0.
    """
    if not resources:
        return np.zeros(rows, dtype=np.int64)
    capacity = np.array([each.allocatable for each in resources])
    requested = np.array([each.requested for each in resources])
    requested += np.array([[each.pod] for each in resources], dtype=np.int64)
    if capacity.all():
        listed = [each.weight for each in resources]
        # The usual case: a few operations matter for a few rows.
        mean: Int64Array = np.array(listed).dot(share(requested, capacity, capacity))
        mean //= sum(listed)
        return mean
    weights = np.array([[each.weight] for each in resources], dtype=np.int64) * (capacity != 0)
    total = (share(requested, capacity, np.maximum(capacity, 1)) * weights).sum(axis=0)
    return np.asarray(total // np.maximum(weights.sum(axis=0), 1))
