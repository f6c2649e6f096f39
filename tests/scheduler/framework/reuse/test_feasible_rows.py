"""How two arrays of rows differ, against sets."""

from __future__ import annotations

import numpy as np
import pytest

from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.reuse.feasible_rows import difference


def rows(*listed: int) -> Int64Array:
    return np.array(listed, dtype=np.int64)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (rows(1, 2, 5, 9), rows(1, 2, 5, 9)),
        (rows(1, 2, 5, 9), rows(2, 5, 9)),
        (rows(1, 2, 5, 9), rows(1, 5, 9)),
        (rows(1, 2, 5, 9), rows(1, 2, 5)),
        (rows(1, 2, 5, 9), rows(1, 3, 9)),
        (rows(1, 2, 5, 9), rows(2, 5, 10)),
        (rows(1, 2, 5), rows(1, 2, 5, 9)),
        (rows(4), rows()),
        (rows(), rows(4)),
    ],
)
def test_rows_that_left_and_entered(before: Int64Array, after: Int64Array) -> None:
    olds, news = set(before.tolist()), set(after.tolist())
    assert difference(before, after) == (sorted(olds - news), sorted(news - olds))


def test_many_differences_are_not_listed() -> None:
    assert difference(np.arange(40), np.arange(40) + 100) is None
