"""Preferred terms: the sum of the weights of the terms that match in a node's domains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.pod_index import Sums
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.node_columns import Int64Array, take
from apps.scheduler.plugins.interpodaffinity.existing import Existing
from apps.scheduler.plugins.interpodaffinity.incoming import Incoming
from apps.scheduler.plugins.interpodaffinity.totals import (
    Totals,
    totals_of_pods,
    totals_of_terms,
)

#: rows whose scores are entered one by one; more than these are worth whole columns
_MAX_PATCHES: Final = 64


@dataclass(frozen=True, slots=True)
class PreScoreState:
    """The feasible rows' scores; they depend on which rows are feasible."""

    #: (k,) int64, negative where anti-affinity prevails
    raw: Int64Array
    #: (k,) int64 in 0..100
    normalized: Int64Array
    #: the smallest and the greatest raw score
    extremes: tuple[int, int]

    def clone(self) -> PreScoreState:
        return self

    def with_normalized_of(self, before: PreScoreState) -> PreScoreState:
        """With the same array as ``before`` if the normalized scores are equal."""
        if not np.array_equal(self.normalized, before.normalized):
            return self
        return PreScoreState(self.raw, before.normalized, self.extremes)


class AffinityScores:
    """The scores for pods that the plugin cannot tell apart.

    They are reused until the feasible rows change or the pods that the terms count; if these are on
    a few rows only, the scores of these rows are computed.
    """

    def __init__(self, incoming: Incoming, existing: Existing) -> None:
        self.incoming = incoming
        self.existing = existing
        self._node_version = -1
        self._rows: Int64Array | None = None
        #: what the last state was computed from
        self._seen: list[tuple[Sums, int]] = []
        self._state: PreScoreState | None = None

    def state(self, snapshot: Snapshot, rows: Int64Array) -> PreScoreState | None:
        """The scores of the feasible ``rows`` (ascending), which may not change afterwards.

        None if no term matches anywhere; terms that cancel each other out do match.
        """
        totals = [
            *totals_of_pods(snapshot, self.incoming.preferred),
            *totals_of_terms(snapshot, self.existing.preferred),
        ]
        seen = [(sums, sums.position) for _, sums in totals]
        same_rows = self._rows is rows and self._node_version == snapshot.node_version
        if self._state is None or not same_rows:
            self._state = _score(totals, rows)
        elif seen != self._seen:
            before = self._state
            after = self._patch(before, totals, rows) or _score(totals, rows)
            self._state = after.with_normalized_of(before)
        self._seen, self._rows, self._node_version = seen, rows, snapshot.node_version
        return (
            self._state
            if self._state.extremes != (0, 0) or self._matches(totals, snapshot)
            else None
        )

    def _matches(self, totals: Iterable[Totals], snapshot: Snapshot) -> bool:
        """Whether a term matches a pod on any node."""
        if any(sums.values.any() for _, sums in totals):
            return True
        held = [
            *totals_of_pods(snapshot, self.incoming.preferred_matches),
            *totals_of_terms(snapshot, self.existing.preferred_matches),
        ]
        return any(sums.values.any() for _, sums in held)

    def _patch(
        self, before: PreScoreState, totals: Sequence[Totals], rows: Int64Array
    ) -> PreScoreState | None:
        """The scores ``before`` with those of the changed rows; None if that does not do."""
        changed = self._changed_rows(totals)
        if changed is None:
            return None
        places = rows.searchsorted(changed)
        places = places[rows.take(places, mode="clip") == changed]
        old, new = before.raw[places], _add_up(totals, rows[places])
        raw = before.raw.copy()
        raw[places] = new
        least, greatest = before.extremes
        if ((old == least) | (old == greatest)).any():
            least, greatest = int(raw.min()), int(raw.max())
        elif len(new):
            least, greatest = min(least, int(new.min())), max(greatest, int(new.max()))
        if (least, greatest) != before.extremes:
            return _state(raw, _normalize(raw, least, greatest), (least, greatest))
        normalized = before.normalized.copy()
        normalized[places] = _normalize(new, least, greatest)
        return _state(raw, normalized, before.extremes)

    def _changed_rows(self, totals: Sequence[Totals]) -> Int64Array | None:
        """The rows in domains whose sums changed, ascending; None if they are too many."""
        rows: set[int] = set()
        for (domains, sums), (known, position) in zip(totals, self._seen, strict=True):
            slots = sums.log.since(position) if sums is known else None
            if slots is None or len(slots) > _MAX_PATCHES:
                return None
            for slot in slots:
                in_domain = domains.rows_in(slot)
                if len(rows) + len(in_domain) > _MAX_PATCHES:
                    return None
                rows.update(in_domain.tolist())
        return np.array(sorted(rows), dtype=np.int64)


def _score(totals: Sequence[Totals], rows: Int64Array) -> PreScoreState:
    domains = totals[0][0]
    if any(other is not domains for other, _ in totals) or 4 * domains.size > len(rows):
        raw = _add_up(totals, rows)
        extremes = _extremes(raw)
        return _state(raw, _normalize(raw, *extremes), extremes)
    # There are few domains: their scores are computed and then assigned to the rows.
    table = np.add.reduce([sums.values for _, sums in totals])
    slots = take(domains.slots, rows)
    extremes = _extremes(table[np.bincount(slots, minlength=domains.size + 1) > 0])
    return _state(table.take(slots), _normalize(table, *extremes).take(slots), extremes)


def _add_up(totals: Iterable[Totals], rows: Int64Array) -> Int64Array:
    """(len(rows),) int64: the sum of all weights."""
    tables: dict[Domains, Int64Array] = {}
    for domains, sums in totals:
        known = tables.get(domains)
        tables[domains] = sums.values if known is None else known + sums.values
    scores = np.zeros(len(rows), dtype=np.int64)
    for domains, table in tables.items():
        scores += table.take(take(domains.slots, rows))
    return scores


def _extremes(scores: Int64Array) -> tuple[int, int]:
    return (int(scores.min()), int(scores.max())) if len(scores) else (0, 0)


def _normalize(scores: Int64Array, least: int, greatest: int) -> Int64Array:
    """``int(100 * ((score - min) / (max - min)))`` in float64; all 0 if all are equal."""
    if least == greatest:
        return np.zeros_like(scores)
    scaled = (scores - least) / (greatest - least)
    scaled *= float(MAX_NODE_SCORE)
    return scaled.astype(np.int64)


def _state(raw: Int64Array, normalized: Int64Array, extremes: tuple[int, int]) -> PreScoreState:
    raw.setflags(write=False)
    normalized.setflags(write=False)
    return PreScoreState(raw, normalized, extremes)
