"""Soft constraints: nodes with fewer matching pods in their domains score higher."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.nodes import BoolArray, Int64Array, take
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


def pre_score_state(
    snapshot: Snapshot,
    pod: PodInfo,
    rows: Int64Array,
    constraints: Sequence[SpreadConstraint],
    *,
    require_all_topologies: bool,
) -> PreScoreState:
    """Score the feasible ``rows`` (ascending).

    With ``require_all_topologies`` a node that lacks any of the topology keys is ignored;
    otherwise it is scored by those it has.
    """
    keys = tuple(dict.fromkeys(constraint.topology_key for constraint in constraints))
    ignored = _find_lacking(snapshot, keys, rows) if require_all_topologies else None
    scored = rows if ignored is None else rows[~ignored]
    if len(constraints) == 1 and require_all_topologies and keys[0] != HOSTNAME:
        return _score_single_constraint(snapshot, pod, constraints[0], rows, scored)
    score = np.zeros(len(rows), dtype=np.float64)
    for constraint in constraints:
        if constraint.topology_key == HOSTNAME:
            score += _score_by_host(snapshot, constraint, rows, len(scored))
        else:
            asked = keys if require_all_topologies else ()
            table, domains = _score_by_domain(snapshot, pod, constraint, scored, asked)
            score += table.take(take(domains.slots, rows))
    raw = _round_half_away(score)
    if ignored is None:
        return PreScoreState(raw, _normalize(raw, raw))
    raw[ignored] = 0
    normalized = _normalize(raw, raw[~ignored])
    normalized[ignored] = 0
    return PreScoreState(raw, normalized)


def _score_single_constraint(
    snapshot: Snapshot,
    pod: PodInfo,
    constraint: SpreadConstraint,
    rows: Int64Array,
    scored: Int64Array,
) -> PreScoreState:
    """With a single constraint, scores are computed per domain and then assigned to the rows."""
    table, domains = _score_by_domain(snapshot, pod, constraint, scored, (constraint.topology_key,))
    raw = _round_half_away(table)
    normalized = _normalize(raw, raw[_find_domains(domains, scored, snapshot.total_nodes)])
    normalized[domains.size] = 0
    slots = take(domains.slots, rows)
    return PreScoreState(raw.take(slots), normalized.take(slots))


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


def _score_by_host(
    snapshot: Snapshot, constraint: SpreadConstraint, rows: Int64Array, scored: int
) -> Float64Array:
    """(len(rows),) float64 by the pods on the node itself, included or not."""
    counts = snapshot.pods_by_labels.counts(constraint)
    scores = _score(take(counts, rows), constraint, scored)
    hosts = snapshot.domains(HOSTNAME)
    if hosts.outside:
        scores[take(hosts.slots, rows) == hosts.size] = 0
    return scores


def _score_by_domain(
    snapshot: Snapshot,
    pod: PodInfo,
    constraint: SpreadConstraint,
    scored: Int64Array,
    keys: Sequence[str],
) -> tuple[Float64Array, Domains]:
    """(size + 1,) float64 by the pods in each domain, 0 outside; and the domains.

    Without ``keys`` (all of which a node must have to be included), nodes that lack the topology
    key form a domain of their own, which counts in the weight but is not scored.
    """
    every = snapshot.domains(constraint.topology_key, absent_is_empty=not keys)
    counted = find_counted_domains(snapshot, pod, constraint, keys, absent_is_empty=not keys)
    totals = snapshot.pods_by_labels.totals(constraint, counted)
    number = int(np.count_nonzero(_find_domains(every, scored, snapshot.total_nodes)))
    scores = _score(totals, constraint, number)
    scores[every.size] = 0
    return scores, snapshot.domains(constraint.topology_key)


def _score(counts: Int64Array, constraint: SpreadConstraint, domains: int) -> Float64Array:
    """``count * log(domains + 2) + (maxSkew - 1)``, (n,) float64.

    The logarithm balances constraints with many domains against those with few.
    """
    scores = counts.astype(np.float64) * math.log(domains + 2)
    scores += constraint.max_skew - 1
    return scores


def _find_domains(domains: Domains, rows: Int64Array, nodes: int) -> BoolArray:
    """(size + 1,) bool: the domains of the rows; the last is for rows in no domain."""
    if len(rows) == nodes:
        return domains.occupied
    seen = np.zeros(domains.size + 1, dtype=np.bool_)
    seen[domains.slots.take(rows)] = True
    return seen
