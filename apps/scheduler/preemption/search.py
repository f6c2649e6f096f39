"""The search for candidates: on which nodes would evicting pods make room?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.diagnosis import Diagnosis, NodeStatuses
from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.status import Code, Status, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.dry_run import DryRun
from apps.scheduler.preemption.importance import lowest_priority

NO_VICTIMS: Final = unresolvable("No preemption victims found for incoming pod")
NOT_HELPFUL: Final = unresolvable("Preemption is not helpful for scheduling")


@dataclass(slots=True)
class SearchResult:
    """The result of the search."""

    #: the reasons for rows that are no candidates
    statuses: NodeStatuses
    #: node -> victims, at most as many as wanted; those that violate no budget come first
    candidates: dict[str, Victims] = field(default_factory=dict)
    #: messages of internal errors
    errors: list[str] = field(default_factory=list)


def potential_rows(snapshot: Snapshot, diagnosis: Diagnosis) -> Int64Array:
    """Rows where evicting pods might help, in visiting order."""
    helpful = diagnosis.node_statuses.with_code(Code.UNSCHEDULABLE)
    return snapshot.order[helpful[snapshot.order]]


def find_candidates(
    snapshot: Snapshot, pod: PodInfo, dry_run: DryRun, rows: Int64Array, wanted: int
) -> SearchResult:
    """Dry-run preemption on ``rows`` in their order until there are ``wanted`` candidates.

    The search continues while all candidates violate a budget.
    """
    found = SearchResult(NodeStatuses.empty(len(snapshot)))
    found.statuses.absent = NOT_HELPFUL
    lowest = snapshot.memo("lowest priority of a pod", lowest_priority, depends="pods")[rows]
    places = np.flatnonzero(lowest < pod.priority)
    refusals = dry_run.refusals(rows[places])
    helped = places[refusals.ids == NodeStatuses.FEASIBLE]
    harmless: dict[str, Victims] = {}
    harmful: dict[str, Victims] = {}
    end = len(rows)
    outcomes = dry_run.outcomes(rows[helped], lambda: wanted - len(harmless) - len(harmful))
    for place, outcome in zip(helped.tolist(), outcomes, strict=True):
        if isinstance(outcome, Status):
            found.statuses.set(int(rows[place]), outcome)
            if outcome.code is Code.ERROR:
                found.errors.append(outcome.message)
            continue
        group = harmful if outcome.pdb_violations else harmless
        if len(group) < wanted:
            group[snapshot.names[rows[place]]] = outcome
        if harmless and len(harmless) + len(harmful) >= wanted:
            end = place
            break
    tried = int(np.searchsorted(places, end))
    found.statuses.overrule(rows[places[:tried]], refusals.first(tried))
    in_vain = rows[:end][lowest[:end] >= pod.priority]
    if len(in_vain):
        found.statuses.ids[in_vain] = found.statuses.intern(NO_VICTIMS)
    found.candidates = harmless | harmful
    return found
