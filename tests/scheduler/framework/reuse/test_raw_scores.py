"""Scores that are entered row by row, against arrays in which each change is written at once."""

from __future__ import annotations

import random

import numpy as np

from apps.scheduler.framework.plugin_scores import Scorer
from apps.scheduler.framework.reuse.raw_scores import RawScores
from apps.scheduler.framework.reuse.score_plan import ScorePlan

ROWS = 12
WEIGHTS = {"A": 1, "B": 3}


class Plugin:
    name = "any"


def plan() -> ScorePlan:
    scorers = [Scorer(name, Plugin(), None, weight) for name, weight in WEIGHTS.items()]  # type: ignore[arg-type]
    return ScorePlan(scorers, dict.fromkeys(WEIGHTS, "amounts"), ())


def test_rows_that_are_entered_one_by_one_or_at_once_are_in_the_columns() -> None:
    drawn, known, scored = random.Random(1), RawScores(), plan()
    plain = {name: np.arange(ROWS, dtype=np.int64) for name in WEIGHTS}
    known.replace(scored, plain, ROWS)
    for _ in range(200):
        row = drawn.randrange(ROWS)
        if drawn.random() < 0.7:
            new = scored.with_sum([drawn.randrange(101) for _ in WEIGHTS])
            before = sum(int(plain[name][row]) * weight for name, weight in WEIGHTS.items())
            gain = known.enter(row, new)
            assert (gain or 0) == new[-1] - before
            for name, score in zip(WEIGHTS, new, strict=False):
                plain[name][row] = score
        elif drawn.random() < 0.5:
            name, rows = drawn.choice("AB"), np.array(sorted({row, 3, 7}))
            scores = np.array([drawn.randrange(101) for _ in rows], dtype=np.int64)
            gains = known.enter_all(rows, name, scores, WEIGHTS[name])
            assert gains.tolist() == ((scores - plain[name][rows]) * WEIGHTS[name]).tolist()
            plain[name][rows] = scores
        else:
            assert all(known.column(name).tolist() == plain[name].tolist() for name in WEIGHTS)
        assert known.at(row)[:-1] == tuple(int(plain[name][row]) for name in WEIGHTS)


def test_the_same_scores_are_no_change() -> None:
    known, scored = RawScores(), plan()
    known.replace(scored, {name: np.zeros(ROWS, dtype=np.int64) for name in WEIGHTS}, ROWS)
    scores = scored.with_sum((10, 20))
    assert known.enter(4, scores) == 70
    assert known.enter(4, scored.with_sum((10, 20))) is None
