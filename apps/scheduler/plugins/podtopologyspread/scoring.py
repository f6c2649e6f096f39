"""Soft constraints: nodes with fewer matching pods in their domains score higher."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.pod_index import Sums
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.node_columns import BoolArray, Int64Array, take
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.podtopologyspread.constraints import HOSTNAME, SpreadConstraint
from apps.scheduler.plugins.podtopologyspread.eligibility import find_counted_domains

Float64Array = NDArray[np.float64]
_INT64_MAX: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class PreScoreState:
    """The feasible rows' scores; they depend on which rows are feasible."""

    #: (k,) int64; 0 where ignored
    raw: Int64Array
    #: (k,) int64 in 0..100
    normalized: Int64Array

    def clone(self) -> PreScoreState:
        return self


@dataclass(frozen=True, slots=True)
class Part:
    """One constraint, prepared for scoring the feasible rows."""

    constraint: SpreadConstraint
    #: the domains in which its pods are counted; None: on the node itself
    counted: Domains | None
    #: the domains by which a node is scored
    domains: Domains
    #: how many domains have a scored row; of a constraint by host name: how many rows are scored
    number: int
    #: the logarithm that balances constraints with many domains against those with few
    factor: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", math.log(self.number + 2))

    def sums(self, snapshot: Snapshot) -> Sums:
        pods = snapshot.pods_by_labels
        if self.counted is None:
            return pods.counts(self.constraint)
        return pods.totals(self.constraint, self.counted)

    def table(self, sums: Int64Array) -> Float64Array:
        """``count * log(domains + 2) + (maxSkew - 1)`` by domain or row; 0 outside."""
        scores = sums.astype(np.float64) * self.factor
        scores += self.constraint.max_skew - 1
        if self.counted is not None:
            scores[self.domains.size] = 0
        return scores

    def scores(self, sums: Int64Array, rows: Int64Array) -> Float64Array:
        """(len(rows),) float64."""
        if self.counted is not None:
            return self.table(sums).take(take(self.domains.slots, rows))
        scores = self.table(take(sums, rows))
        if self.domains.outside:
            scores[take(self.domains.slots, rows) == self.domains.size] = 0
        return scores


class SpreadScores:
    """The scores for pods that the plugin cannot tell apart; ``pod`` is one of these.

    With ``require_all_topologies`` a node that lacks any of the topology keys is ignored;
    otherwise it is scored by those it has. Scores are reused until the feasible rows change or the
    pods that the constraints count.
    """

    def __init__(
        self,
        pod: PodInfo,
        constraints: Sequence[SpreadConstraint],
        *,
        require_all_topologies: bool,
    ) -> None:
        self._pod = pod
        self._constraints = constraints
        self._require_all_topologies = require_all_topologies
        self._keys = tuple(dict.fromkeys(each.topology_key for each in constraints))
        self._node_version = -1
        self._rows: Int64Array | None = None
        #: (len(rows),) bool, the feasible rows that are not scored; None if there are none
        self.ignored: BoolArray | None = None
        #: of each constraint, for the feasible rows
        self.parts: list[Part] = []
        #: the domains of the only constraint that have a feasible row
        self._inhabited: BoolArray | None = None
        #: then also the domains of the feasible rows, and the normalized scores by domain
        self._slots: Int64Array | None = None
        self._table: Int64Array | None = None
        #: what the last state was computed from
        self._seen: list[tuple[Sums, int]] = []
        self._state: PreScoreState | None = None

    @property
    def required_keys(self) -> Sequence[str]:
        """The labels without which a node is not scored."""
        return self._keys if self._require_all_topologies else ()

    def state(self, snapshot: Snapshot, rows: Int64Array) -> PreScoreState:
        """The scores of the feasible ``rows`` (ascending), which may not change afterwards."""
        if self._node_version != snapshot.node_version or self._rows is not rows:
            self._prepare(snapshot, rows)
        sums = [part.sums(snapshot) for part in self.parts]
        seen = [(each, each.position) for each in sums]
        if self._state is None or seen != self._seen:
            self._state, self._seen = self._score(rows, [each.values for each in sums]), seen
        return self._state

    def bare_state(self, snapshot: Snapshot, rows: Int64Array) -> PreScoreState:
        """The same for nodes without their pods: those of larger domains count all the same."""
        self._prepare(snapshot, rows)
        sums = [part.sums(snapshot).values for part in self.parts]
        return self._score(
            rows,
            [
                np.zeros_like(values) if part.counted is None else values
                for part, values in zip(self.parts, sums, strict=True)
            ],
        )

    def _prepare(self, snapshot: Snapshot, rows: Int64Array) -> None:
        self._state = None
        self.ignored = None
        if self._require_all_topologies:
            self.ignored = _find_lacking(snapshot, self._keys, rows)
        scored = rows if self.ignored is None else rows[~self.ignored]
        self.parts = [self._part(snapshot, each, scored) for each in self._constraints]
        self._inhabited = None
        if len(self.parts) == 1 and self._require_all_topologies:
            part = self.parts[0]
            if part.counted is not None:
                self._inhabited = _find_domains(part.domains, scored, snapshot.total_nodes)
                self._slots = take(part.domains.slots, rows)
        self._rows, self._node_version = rows, snapshot.node_version

    def _part(self, snapshot: Snapshot, constraint: SpreadConstraint, scored: Int64Array) -> Part:
        """Without the need of all topologies, nodes that lack the topology key form a domain.

        It counts in the factor but is not scored.
        """
        key = constraint.topology_key
        domains = snapshot.domains(key)
        if key == HOSTNAME:
            return Part(constraint, None, domains, len(scored))
        absent = not self._require_all_topologies
        every = snapshot.domains(key, absent_is_empty=absent)
        counted = find_counted_domains(
            snapshot, self._pod, constraint, () if absent else self._keys, absent_is_empty=absent
        )
        number = np.count_nonzero(_find_domains(every, scored, snapshot.total_nodes))
        return Part(constraint, counted, domains, int(number))

    def _score(self, rows: Int64Array, sums: Sequence[Int64Array]) -> PreScoreState:
        if self._inhabited is not None:
            return self._score_by_domain(sums[0], self._inhabited)
        score = np.zeros(len(rows), dtype=np.float64)
        for part, values in zip(self.parts, sums, strict=True):
            score += part.scores(values, rows)
        raw = _round_half_away(score)
        if self.ignored is None:
            return _state(raw, _normalize(raw, raw))
        raw[self.ignored] = 0
        normalized = _normalize(raw, raw[~self.ignored])
        normalized[self.ignored] = 0
        return _state(raw, normalized)

    def _score_by_domain(self, sums: Int64Array, inhabited: BoolArray) -> PreScoreState:
        """Scores of a single constraint are computed per domain and then assigned to the rows.

        An array of the last state is the result again if no normalized score changes.
        """
        part, slots, before = self.parts[0], self._slots, self._state
        assert slots is not None
        raw = _round_half_away(part.table(sums))
        table = _normalize(raw, raw[inhabited])
        table[part.domains.size] = 0
        known = self._table
        if before is not None and known is not None and np.array_equal(table, known):
            return _state(raw.take(slots), before.normalized)
        self._table = table
        return _state(raw.take(slots), table.take(slots))


def _state(raw: Int64Array, normalized: Int64Array) -> PreScoreState:
    raw.setflags(write=False)
    normalized.setflags(write=False)
    return PreScoreState(raw, normalized)


def _round_half_away(scores: Float64Array) -> Int64Array:
    """Round half away from zero; for sums of counts times logarithms this is the same."""
    return np.floor(scores + 0.5).astype(np.int64)


def _normalize(scores: Int64Array, scored: Int64Array) -> Int64Array:
    """Reversed: ``100 * (max + min - score) // max`` of those scored; 100 if all are 0."""
    greatest, least = int(scored.max(initial=0)), int(scored.min(initial=_INT64_MAX))
    if greatest == 0:
        return np.full_like(scores, MAX_NODE_SCORE)
    return MAX_NODE_SCORE * (greatest + least - scores) // greatest


def _find_lacking(snapshot: Snapshot, keys: Sequence[str], rows: Int64Array) -> BoolArray | None:
    """(len(rows),) bool: rows without one of the labels; None if there is no such node."""
    lacking: BoolArray | None = None
    for key in keys:
        domains = snapshot.domains(key)
        if domains.outside:
            without = take(domains.slots, rows) == domains.size
            lacking = without if lacking is None else lacking | without
    return lacking


def _find_domains(domains: Domains, rows: Int64Array, nodes: int) -> BoolArray:
    """(size + 1,) bool: the domains of the rows; the last is for rows in no domain."""
    if len(rows) == nodes:
        return domains.occupied
    seen = np.zeros(domains.size + 1, dtype=np.bool_)
    seen[domains.slots.take(rows)] = True
    return seen
