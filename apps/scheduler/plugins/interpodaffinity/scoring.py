"""Preferred terms: the sum of the weights of the terms that match in a node's domains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.nodes import Int64Array, take
from apps.scheduler.plugins.interpodaffinity.existing import Existing
from apps.scheduler.plugins.interpodaffinity.incoming import Incoming


@dataclass(frozen=True, slots=True)
class PreScoreState:
    #: domains and (size + 1,) int64 sums of weights, 0 outside
    sums: tuple[tuple[Domains, Int64Array], ...]

    def clone(self) -> PreScoreState:
        return self


def pre_score_state(
    snapshot: Snapshot, incoming: Incoming, existing: Existing
) -> PreScoreState | None:
    """None if no term matches anywhere; terms that cancel each other out do match."""
    sums = tuple(_sums(snapshot, incoming, existing))
    if any(table.any() for _, table in sums):
        return PreScoreState(sums)
    held = _matches(snapshot, incoming, existing)
    return PreScoreState(sums) if any(table.any() for table in held) else None


def raw_scores(state: PreScoreState, rows: Int64Array) -> Int64Array:
    """(len(rows),) int64, negative where anti-affinity prevails."""
    tables: dict[Domains, Int64Array] = {}
    for domains, table in state.sums:
        known = tables.get(domains)
        tables[domains] = table if known is None else known + table
    columns = (table.take(take(domains.slots, rows)) for domains, table in tables.items())
    scores: Int64Array = reduce(np.add, columns)
    return scores


def normalize(scores: Int64Array) -> Int64Array:
    """``int(100 * ((score - min) / (max - min)))`` in float64; all 0 if all are equal."""
    if not len(scores):
        return scores
    least = int(scores.min())
    difference = int(scores.max()) - least
    if difference == 0:
        return np.zeros_like(scores)
    scaled = (scores - least) / difference
    scaled *= float(MAX_NODE_SCORE)
    return scaled.astype(np.int64)


def _sums(
    snapshot: Snapshot, incoming: Incoming, existing: Existing
) -> Iterator[tuple[Domains, Int64Array]]:
    for tally in incoming.preferred:
        domains = snapshot.domains(tally.topology_key)
        yield domains, snapshot.pods_by_labels.totals(tally, domains)
    for carried in existing.preferred:
        domains = snapshot.domains(carried.topology_key)
        yield domains, snapshot.pods_by_term.totals(carried, domains)


def _matches(snapshot: Snapshot, incoming: Incoming, existing: Existing) -> Iterator[Int64Array]:
    for tally in incoming.preferred_matches:
        domains = snapshot.domains(tally.topology_key)
        yield snapshot.pods_by_labels.totals(tally, domains)
    for carried in existing.preferred_matches:
        domains = snapshot.domains(carried.topology_key)
        yield snapshot.pods_by_term.totals(carried, domains)
