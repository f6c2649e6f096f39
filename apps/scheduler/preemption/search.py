"""The search for candidates: on which nodes would evicting pods make room?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.diagnosis import Diagnosis, NodeStatuses
from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.status import Code, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.dry_run import NO_VICTIMS, DryRun
from apps.scheduler.preemption.importance import lowest_priority

NOT_HELPFUL: Final = unresolvable("Preemption is not helpful for scheduling")


@dataclass(slots=True)
class Found:
    """What the search came to."""

    #: rows tried in vain
    statuses: NodeStatuses
    #: node -> victims, as many as are wanted; those that break no budget come first
    candidates: dict[str, Victims] = field(default_factory=dict)
    #: messages of internal errors
    errors: list[str] = field(default_factory=list)


def potential_rows(snapshot: Snapshot, diagnosis: Diagnosis) -> Int64Array:
    """Rows where fewer pods might help, in visiting order."""
    helpful = diagnosis.node_statuses.with_code(Code.UNSCHEDULABLE)
    return snapshot.order[helpful[snapshot.order]]


def find_candidates(
    snapshot: Snapshot, pod: PodInfo, dry_run: DryRun, rows: Int64Array, wanted: int
) -> Found:
    """Dry-run preemption on ``rows`` in their order until there are ``wanted`` candidates.

    The search goes on while all candidates break a budget.
    """
    found = Found(NodeStatuses.empty(len(snapshot)))
    found.statuses.absent = NOT_HELPFUL
    lowest = snapshot.memo("lowest priority of a pod", lowest_priority, depends="pods")
    places = np.flatnonzero(lowest[rows] < pod.priority)
    harmless: dict[str, Victims] = {}
    harmful: dict[str, Victims] = {}
    end = len(rows)
    outcomes = dry_run.outcomes(rows[places], wanted)
    for place, outcome in zip(places.tolist(), outcomes, strict=True):
        if isinstance(outcome, Victims):
            group = harmful if outcome.pdb_violations else harmless
            if len(group) < wanted:
                group[snapshot.names[rows[place]]] = outcome
            if harmless and len(harmless) + len(harmful) >= wanted:
                end = place
                break
            continue
        found.statuses.set(int(rows[place]), outcome)
        if outcome.code is Code.ERROR:
            found.errors.append(outcome.message)
    in_vain = rows[:end][lowest[rows[:end]] >= pod.priority]
    if len(in_vain):
        found.statuses.ids[in_vain] = found.statuses.intern(NO_VICTIMS)
    found.candidates = harmless | harmful
    return found
