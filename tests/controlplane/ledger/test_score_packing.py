"""Columns of scores that are packed with the changes up to a moment."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from apps.controlplane.ledger import columns
from apps.controlplane.ledger.score_packing import ScorePacker
from apps.scheduler.framework.live_scores import LiveScores, Moment
from apps.scheduler.framework.scoring import ScoreColumn

NODES = 40


def change_some(scores: LiveScores, random: Random, out: set[int]) -> None:
    """Change a few rows; some leave, and some of those return."""
    for _ in range(random.randrange(4)):
        row = random.randrange(NODES)
        if row in out:
            out.remove(row)
            scores.enter(row, (random.randrange(100), 7), random.randrange(200))
        elif random.random() < 0.2 and len(out) < NODES - 2:
            out.add(row)
            scores.leave(row)
        else:
            # also values that do not fit into a byte
            values = (random.choice([3, 50, 255, 256, -1]), random.randrange(100))
            scores.change_each([(row, values, random.randrange(-9, 9))])


def columns_of(moment: Moment, whole: ScoreColumn) -> list[ScoreColumn]:
    own = [ScoreColumn(None, None, 1, moment, index) for index in range(2)]
    return [*own, whole.restricted(moment)]


def check(packed: tuple[list[Any], list[Any] | None], column: ScoreColumn) -> None:
    """Whether the packed scores are those of the arrays; equal normalized ones are left out."""
    raw, normalized = packed
    assert columns.unpack(raw, np.int64).tolist() == column.raw.tolist()
    same = column.normalized.tolist() == column.raw.tolist()
    assert (normalized is None) == same
    if normalized is not None:
        assert columns.unpack(normalized, np.int64).tolist() == column.normalized.tolist()


@pytest.mark.parametrize("seed", range(12))
def test_packed_scores_are_those_of_the_arrays(seed: int) -> None:
    random = Random(seed)
    numbers = np.random.default_rng(seed)
    rows = np.arange(NODES)
    raw = [numbers.integers(0, 100, NODES) for _ in range(2)]
    scores = LiveScores(rows, raw, raw[0] + raw[1])
    level = np.full(NODES, 100)
    whole = ScoreColumn(numbers.integers(0, 9, NODES), level if seed % 2 else raw[0], 2)
    found, out = [], set[int]()
    for _ in range(80):
        change_some(scores, random, out)
        found += columns_of(scores.moment(), whole)
    if seed % 3 == 0:
        # not in the order in which they were scheduled
        random.shuffle(found)
    packer = ScorePacker()
    for column in found:
        check(packer.pack_scores(column), column)


def test_no_column_is_built_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = LiveScores(np.arange(NODES), [np.arange(NODES)] * 2, np.arange(NODES))
    built: list[int] = []
    build = Moment.whole

    def note(self: Moment, index: int) -> object:
        built.append(index)
        return build(self, index)

    packer = ScorePacker()
    moments = []
    for row in range(50):
        scores.change_each([(row % NODES, (5, 6), -1)])
        moments.append(scores.moment())
    monkeypatch.setattr(Moment, "whole", note)
    for moment in moments:
        for index in range(2):
            packer.pack_scores(ScoreColumn(None, None, 1, moment, index))
    assert not built
    packer.pack_scores(ScoreColumn(moments[-1].column(0), moments[-1].column(1), 1))
    assert built
