"""Columns of scores that are packed with the changes up to a snapshot."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from apps.engine.ledger import columns
from apps.engine.ledger.score_packing import LEAST_ROWS, ScorePacker
from apps.scheduler.framework.plugin_scores import ScoreColumn
from apps.scheduler.framework.reuse.live_scores import LiveScores, ScoreSnapshot

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


def columns_of(snapshot: ScoreSnapshot, whole: ScoreColumn) -> list[ScoreColumn]:
    own = [ScoreColumn(None, None, 1, snapshot, index) for index in range(2)]
    return [*own, whole.restricted(snapshot)]


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
        found += columns_of(scores.snapshot(), whole)
    if seed % 3 == 0:
        # not in the order in which they were scheduled
        random.shuffle(found)
    packer = ScorePacker()
    for column in found:
        check(packer.pack_scores(column), column)


def test_no_column_is_built_of_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = LiveScores(np.arange(NODES), [np.arange(NODES)] * 2, np.arange(NODES))
    built: list[int] = []
    build = ScoreSnapshot.whole

    def note(self: ScoreSnapshot, index: int) -> object:
        built.append(index)
        return build(self, index)

    packer = ScorePacker()
    snapshots = []
    for row in range(50):
        scores.change_each([(row % NODES, (5, 6), -1)])
        snapshots.append(scores.snapshot())
    monkeypatch.setattr(ScoreSnapshot, "whole", note)
    for snapshot in snapshots:
        for index in range(2):
            packer.pack_scores(ScoreColumn(None, None, 1, snapshot, index))
    assert not built
    packer.pack_scores(ScoreColumn(snapshots[-1].column(0), snapshots[-1].column(1), 1))
    assert built


@pytest.mark.parametrize(("levels", "are_combined"), [(3, True), (200, False)])
@pytest.mark.parametrize("seed", range(4))
def test_plugins_with_few_combinations_share_a_column(
    seed: int, levels: int, are_combined: bool
) -> None:
    random, numbers = Random(seed), np.random.default_rng(seed)
    size = LEAST_ROWS + 50
    raw = [numbers.integers(0, levels, size) for _ in range(2)]
    scores = LiveScores(np.arange(size), raw, raw[0] + raw[1])
    level = ScoreColumn(np.full(size, 100), np.full(size, 100), 1)
    found, out = [], set[int]()
    for _ in range(90):
        change_some(scores, random, out)
        snapshot = scores.snapshot()
        own = [ScoreColumn(None, None, 1, snapshot, index) for index in range(2)]
        found.append([own[0], level, own[1]])
    if seed == 3:
        random.shuffle(found)
    packer, combined = ScorePacker(), 0
    for plugins in found:
        packed, combinations = packer.pack_all(plugins)
        check(packed[1], level)
        if combinations is None:
            check(packed[0], plugins[0])
            check(packed[2], plugins[2])
            continue
        combined += 1
        assert combinations.places == [0, 2]
        assert packed[0] == packed[2] == ([0, 0], None)
        rows = columns.unpack(combinations.numbers, np.int64)
        for place, values in zip(combinations.places, combinations.scores, strict=True):
            assert columns.unpack(values, np.int64)[rows].tolist() == plugins[place].raw.tolist()
    assert (combined > 40) == are_combined


def test_combinations_are_not_more_than_a_byte_numbers() -> None:
    size = 40 * 40
    raw = [np.arange(size) // 100, np.arange(size) % 15]
    scores = LiveScores(np.arange(size), raw, raw[0] + raw[1])
    packer, kinds = ScorePacker(), []
    for row in range(40):
        scores.change_each([(row, (50, row), -1)])
        snapshot = scores.snapshot()
        plugins = [ScoreColumn(None, None, 1, snapshot, index) for index in range(2)]
        packed, combinations = packer.pack_all(plugins)
        kinds.append(combinations is not None)
        if combinations is None:
            for scored, column in zip(packed, plugins, strict=True):
                check(scored, column)
    # 240 at first
    assert kinds == [False] * 2 + [True] * 14 + [False] * 24
