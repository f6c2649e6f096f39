"""The search for candidates: on which nodes would evicting pods make room?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.diagnosis import Diagnosis, NodeStatuses
from apps.scheduler.framework.node_columns import BoolArray, Int64Array
from apps.scheduler.framework.status import Code, unresolvable
from apps.scheduler.preemption.dry_run import FEWEST, DryRun
from apps.scheduler.preemption.outcomes import CANDIDATE, UNKNOWN, NodeVictims, Outcomes

NOT_HELPFUL: Final = unresolvable("Preemption is not helpful for scheduling")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of the search."""

    #: the reasons for rows that are no candidates
    statuses: NodeStatuses
    #: at most as many as wanted; those that violate no budget come first
    candidates: Sequence[NodeVictims]
    #: (criteria, candidates) int64: see ranking.figures
    figures: Int64Array
    #: messages of internal errors
    errors: list[str] = field(default_factory=list)


def potential_rows(snapshot: Snapshot, diagnosis: Diagnosis) -> Int64Array:
    """Rows where evicting pods might help, in visiting order."""
    helpful = diagnosis.node_statuses.with_code(Code.UNSCHEDULABLE)
    return snapshot.order[helpful[snapshot.order]]


def find_candidates(
    dry_run: DryRun, outcomes: Outcomes, rows: Int64Array, wanted: int
) -> SearchResult:
    """Dry-run preemption on ``rows`` in their order until there are ``wanted`` candidates.

    The search continues while all candidates violate a budget. ``outcomes`` are those known; those
    that the search needs are added.
    """
    grown = 1
    while True:
        kinds = outcomes.kinds[rows]
        candidates = np.flatnonzero(kinds == CANDIDATE)
        violate = outcomes.figures[0, rows[candidates]] > 0
        used, end = _end(candidates, violate, len(rows), wanted)
        unknown = np.flatnonzero(kinds[:end] == UNKNOWN)
        if not len(unknown):
            break
        needed = len(unknown)
        if needed > FEWEST:
            needed = _needed(kinds, unknown, candidates[violate], wanted)
        dry_run.add_outcomes(outcomes, rows[unknown], needed, grown)
        grown *= 2
    violate = violate[:used]
    chosen = rows[candidates[:used]]
    chosen = np.concatenate((chosen[~violate][:wanted], chosen[violate][:wanted]))
    statuses = outcomes.rejections(rows[:end])
    statuses.absent = NOT_HELPFUL
    return SearchResult(
        statuses,
        outcomes.candidates(chosen.tolist()),
        outcomes.figures.take(chosen, axis=1),
        _errors(statuses, rows[:end]),
    )


def _end(
    candidates: Int64Array,
    violate: BoolArray,
    rows: int,
    wanted: int,
) -> tuple[int, int]:
    """After how many of the candidates the search ends, and the place of the last one.

    All of them and the number of ``rows`` if there are not enough.
    """
    if len(candidates) < wanted:
        return len(candidates), rows
    harmful = np.minimum(violate.cumsum(), wanted)
    harmless = (~violate).cumsum()
    enough = np.flatnonzero((harmless > 0) & (harmless + harmful >= wanted))
    if not len(enough):
        return len(candidates), rows
    return int(enough[0]) + 1, int(candidates[enough[0]])


def _needed(
    kinds: NDArray[np.int8], unknown: Int64Array, violating: Int64Array, wanted: int
) -> int:
    """How many of the ``unknown`` places the search reaches, whatever their outcomes are.

    It ends no earlier than if all of them were candidates that violate no budget.
    """
    possible = np.flatnonzero((kinds == CANDIDATE) | (kinds == UNKNOWN))
    violates = np.zeros(len(kinds), dtype=np.bool_)
    violates[violating] = True
    _, end = _end(possible, violates[possible], len(kinds), wanted)
    return int(unknown.searchsorted(end, side="right"))


def _errors(statuses: NodeStatuses, rows: Int64Array) -> list[str]:
    """The messages of internal errors in the order of the rows."""
    failed = [
        number
        for number, status in enumerate(statuses.statuses)
        if status is not None and status.code is Code.ERROR
    ]
    if not failed:
        return []
    ids = statuses.ids[rows]
    refusals = (statuses.statuses[number] for number in ids[np.isin(ids, failed)].tolist())
    return [status.message for status in refusals if status is not None]


def num_candidates(potential_nodes: int, percentage: int, absolute: int) -> int:
    """The number of candidates to dry-run among `potential_nodes` where eviction may help.

    `percentage` (0–100) and `absolute` are minCandidateNodesPercentage and
    minCandidateNodesAbsolute of DefaultPreemptionArgs; the larger counts, up to all nodes.
    """
    return min(max(potential_nodes * percentage // 100, absolute), potential_nodes)
