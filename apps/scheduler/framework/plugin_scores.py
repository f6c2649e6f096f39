"""One plugin's scores, and how they are computed and checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps.scheduler.framework import guard
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.interface import NormalizeScorePlugin, ScorePlugin
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, constant
from apps.scheduler.framework.reuse.live_scores import ScoreSnapshot
from apps.scheduler.framework.status import StatusError, error
from apps.scheduler.framework.types import PodInfo


class ScoreColumn:
    """One plugin's scores, aligned with the feasible rows."""

    __slots__ = ("_index", "_levels", "_normalized", "_raw", "_snapshot", "_whole", "weight")

    def __init__(
        self,
        raw: Int64Array | None,
        normalized: Int64Array | None,
        weight: int,
        snapshot: ScoreSnapshot | None = None,
        index: int = 0,
        whole: ScoreColumn | None = None,
    ) -> None:
        """Scores; without them those at ``snapshot``, built when they are first read.

        These are column ``index``, which needs no normalization, or the scores in ``whole`` of the
        rows that are feasible then.
        """
        self._raw = raw
        self._normalized = normalized
        self._snapshot = snapshot
        self._index = index
        self._whole = whole
        #: as `levels`, once they are known
        self._levels: tuple[int | None, int | None] | None = None
        self.weight = weight

    def restricted(self, snapshot: ScoreSnapshot) -> ScoreColumn:
        """The scores of the rows that are feasible then, built when they are first read."""
        return ScoreColumn(None, None, self.weight, snapshot, whole=self)

    @property
    def raw(self) -> Int64Array:
        """What Score returned."""
        if self._raw is None:
            self._build()
        assert self._raw is not None
        return self._raw

    @property
    def normalized(self) -> Int64Array:
        """After NormalizeScore, in 0..100."""
        if self._normalized is None:
            self._build()
        assert self._normalized is not None
        return self._normalized

    @property
    def origin(self) -> tuple[ScoreSnapshot, int | ScoreColumn] | None:
        """What the scores are built from when they are first read; None for arrays.

        The number of a column of the snapshot, whose scores need no normalization; or the scores of
        more rows, of which those are left that are feasible then.
        """
        if self._snapshot is None:
            return None
        return self._snapshot, self._index if self._whole is None else self._whole

    @property
    def levels(self) -> tuple[int | None, int | None]:
        """The value that all scores have, raw and normalized; None if they differ."""
        if self._levels is None:
            self._levels = _level(self.raw), _level(self.normalized)
        return self._levels

    def _build(self) -> None:
        snapshot, whole = self._snapshot, self._whole
        assert snapshot is not None
        if whole is None:
            self._normalized = self._raw = snapshot.column(self._index)
            return
        raw, normalized = whole.levels
        self._raw = _restrict(snapshot, whole.raw, raw)
        is_plain = whole.normalized is whole.raw
        self._normalized = (
            self._raw if is_plain else _restrict(snapshot, whole.normalized, normalized)
        )

    @property
    def weighted(self) -> Int64Array:
        return self.normalized * self.weight


@dataclass(frozen=True, slots=True)
class Scorer:
    """A Score plugin with its NormalizeScore, if it has one, and its weight in the profile."""

    name: str
    plugin: ScorePlugin
    normalizer: NormalizeScorePlugin | None
    weight: int

    @property
    def normalizes_by_extremes(self) -> bool:
        """Whether a normalized score depends on nothing but its raw one and the extremes."""
        # Not inherited: a subclass that changes the method may look at more than its base.
        return bool(vars(type(self.plugin)).get("normalizes_by_extremes", False))

    def score(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: NodeColumns,
        rows: Int64Array,
        before: ScoreColumn | None = None,
    ) -> ScoreColumn:
        """Score ``rows`` of ``nodes`` and normalize the scores.

        ``before`` is returned if the plugin returns these arrays again. Raises StatusError if the
        plugin fails or a normalized score is not in 0..100.
        """
        return self.normalize(state, pod, self.raw(state, pod, nodes, rows), before)

    def raw(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """What Score returns; raises StatusError if it fails."""
        try:
            raw = self.plugin.score(state, pod, nodes, rows)
            _check_shape(raw, rows)
        except Exception as raised:
            raise guard.running_error(self.name, "Score", raised) from raised
        return raw

    def normalize(
        self, state: CycleState, pod: PodInfo, raw: Int64Array, before: ScoreColumn | None = None
    ) -> ScoreColumn:
        """The column for raw scores; raises StatusError as ``score`` does."""
        normalized = raw
        if self.normalizer is not None:
            try:
                normalized = self.normalizer.normalize_score(state, pod, raw)
                _check_shape(normalized, raw)
            except Exception as raised:
                raise guard.running_error(self.name, "Score", raised) from raised
        if before is None or before.normalized is not normalized:
            _check_range(self.name, normalized)
        elif before.raw is raw:
            return before
        return ScoreColumn(raw, normalized, self.weight)


def _level(column: Int64Array) -> int | None:
    """The value of all entries; None if they differ, or if there are none."""
    if not len(column):
        return None
    first = int(column[0])
    return first if bool((column == first).all()) else None


def _restrict(snapshot: ScoreSnapshot, column: Int64Array, level: int | None) -> Int64Array:
    """``column`` at the rows that are feasible then, read-only; ``level`` as `_level` returns."""
    if level is not None:
        return constant(len(snapshot), level)
    restricted = snapshot.restrict(column)
    restricted.setflags(write=False)
    return restricted


def _check_shape(column: Int64Array, rows: Int64Array) -> None:
    if column.dtype != np.int64 or column.shape != rows.shape:
        wanted = f"{len(rows)} scores of type int64"
        raise TypeError(f"{wanted} are wanted, not {column.shape} of type {column.dtype}")


def is_valid(scores: Int64Array) -> bool:
    """Whether all scores are in 0..100, as they must be after NormalizeScore."""
    # As unsigned numbers, negative scores are greater than any valid one: one pass for both ends.
    return not len(scores) or bool(scores.view(np.uint64).max() <= 100)


def _check_range(plugin: str, scores: Int64Array) -> None:
    if not is_valid(scores):
        raise StatusError(
            error(
                f'plugin "{plugin}" returns an invalid score, '
                "it should in the range of [0, 100] after normalizing"
            )
        )
