"""Soft constraints: the fewer matching pods in a node's domains, the better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.cache.domains import Domains
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.nodes import BoolArray, Int64Array, take
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.podtopologyspread.constraints import HOSTNAME, SpreadConstraint
from apps.scheduler.plugins.podtopologyspread.eligibility import counted_domains

Float64Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PreScoreState:
    """The feasible rows' raw scores; they depend on which rows are feasible."""

    #: (k,) int64; 0 where ignored
    raw: Int64Array
    #: (k,) bool, rows that lack a topology key; None = no row does
    ignored: BoolArray | None

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

    With ``require_all_topologies`` a node that lacks any of the topology keys takes no part;
    otherwise it is scored by those it has.
    """
    keys = tuple(dict.fromkeys(constraint.topology_key for constraint in constraints))
    ignored = _lacking(snapshot, keys, rows) if require_all_topologies else None
    scored = rows if ignored is None else rows[~ignored]
    score = np.zeros(len(rows), dtype=np.float64)
    for constraint in constraints:
        if constraint.topology_key == HOSTNAME:
            score += _by_host(snapshot, constraint, rows, len(scored))
        elif require_all_topologies:
            score += _by_domain(snapshot, pod, constraint, rows, scored, keys)
        else:
            score += _by_domain(snapshot, pod, constraint, rows, scored, ())
    # Half away from zero: for sums of counts times logarithms this is the same.
    raw = np.floor(score + 0.5).astype(np.int64)
    if ignored is not None:
        raw[ignored] = 0
    return PreScoreState(raw, ignored)


def normalized(state: PreScoreState, scores: Int64Array) -> Int64Array:
    """Turned round: ``100 * (max + min - score) // max``; 100 if all are 0, ignored nodes 0."""
    scored = scores if state.ignored is None else scores[~state.ignored]
    if not len(scored):
        return np.zeros_like(scores)
    greatest, least = int(scored.max()), int(scored.min())
    if greatest == 0:
        result = np.full_like(scores, MAX_NODE_SCORE)
    else:
        result = MAX_NODE_SCORE * (greatest + least - scores) // greatest
    if state.ignored is not None:
        result[state.ignored] = 0
    return result


def _lacking(snapshot: Snapshot, keys: Sequence[str], rows: Int64Array) -> BoolArray | None:
    """(len(rows),) bool: rows without one of the labels; None if there is no such node at all."""
    lacking: BoolArray | None = None
    for key in keys:
        domains = snapshot.domains(key)
        if domains.outside:
            without = take(domains.slots, rows) == domains.size
            lacking = without if lacking is None else lacking | without
    return lacking


def _by_host(
    snapshot: Snapshot, constraint: SpreadConstraint, rows: Int64Array, scored: int
) -> Float64Array:
    """(len(rows),) float64 by the pods on the node itself, whether or not they are looked at."""
    counts = snapshot.pods_by_labels.counts(constraint)
    scores = _score(take(counts, rows), constraint, scored)
    hosts = snapshot.domains(HOSTNAME)
    if hosts.outside:
        scores[take(hosts.slots, rows) == hosts.size] = 0
    return scores


def _by_domain(
    snapshot: Snapshot,
    pod: PodInfo,
    constraint: SpreadConstraint,
    rows: Int64Array,
    scored: Int64Array,
    keys: Sequence[str],
) -> Float64Array:
    """(len(rows),) float64 by the pods in the node's domain; 0 without one.

    Without ``keys`` (all of which a node must have to be looked at), nodes that lack the topology
    key make a domain of their own, which has a part in the weight but is not scored.
    """
    every = snapshot.domains(constraint.topology_key, absent_is_empty=not keys)
    counted = counted_domains(snapshot, pod, constraint, keys, absent_is_empty=not keys)
    totals = snapshot.pods_by_labels.totals(constraint, counted)
    scores = _score(totals, constraint, _distinct(every, scored, snapshot.total_nodes))
    scores[every.size] = 0
    return scores.take(take(snapshot.domains(constraint.topology_key).slots, rows))


def _score(counts: Int64Array, constraint: SpreadConstraint, domains: int) -> Float64Array:
    """``count * log(domains + 2) + (maxSkew - 1)``: many small domains do not water down few."""
    scores = counts.astype(np.float64) * math.log(domains + 2)
    scores += constraint.max_skew - 1
    return scores


def _distinct(domains: Domains, rows: Int64Array, nodes: int) -> int:
    """In how many different domains the rows are; being in none counts as one."""
    if len(rows) == nodes:
        return int(np.count_nonzero(domains.rows))
    seen = np.zeros(domains.size + 1, dtype=np.bool_)
    seen[domains.slots[rows]] = True
    return int(np.count_nonzero(seen))
