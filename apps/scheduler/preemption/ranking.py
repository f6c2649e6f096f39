"""Which of several candidate nodes is chosen: the one where evictions do the least harm."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from apps.scheduler.framework.interface import Candidate, Victims
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.preemption.importance import start_time


class Criterion(StrEnum):
    """The criterion that decided for the chosen node."""

    ONLY_CANDIDATE = "only candidate"
    PDB_VIOLATIONS = "fewest PodDisruptionBudget violations"
    HIGHEST_PRIORITY = "lowest priority of the most important victim"
    PRIORITY_SUM = "smallest sum of the victims' priorities"
    VICTIM_COUNT = "fewest victims"
    START_TIME = "latest start of the most important victims"
    #: none: several nodes were equally good
    TIE = "tie"


#: the criteria by which candidates are compared, one after the other; see `figures`
CRITERIA: Final = (
    Criterion.PDB_VIOLATIONS,
    Criterion.HIGHEST_PRIORITY,
    Criterion.PRIORITY_SUM,
    Criterion.VICTIM_COUNT,
    Criterion.START_TIME,
)
#: added to each priority before summing, so that a victim of negative priority counts too
PRIORITY_SHIFT: Final = 2**31


@dataclass(frozen=True, slots=True)
class Ranking:
    """The outcome of comparing candidates."""

    #: all candidates with their figures, in the order of the search
    candidates: tuple[Candidate, ...]
    #: the equally good nodes, sorted by name; one of them is chosen
    ties: tuple[str, ...]
    decided_by: Criterion


def rank_candidates(candidates: Sequence[Candidate], table: Int64Array) -> Ranking:
    """Compare by one criterion after the other until one node is left; there is at least one.

    ``table``: (criteria, candidates) int64, the figures of the candidates.
    """
    left, decided_by = np.arange(len(candidates)), Criterion.ONLY_CANDIDATE
    for criterion, column in zip(CRITERIA, table, strict=True):
        if len(left) == 1:
            break
        values = column[left]
        best = values.max() if criterion is Criterion.START_TIME else values.min()
        left, decided_by = left[values == best], criterion
    if len(left) > 1:
        decided_by = Criterion.TIE
    ties = sorted(candidates[place].node for place in left.tolist())
    return Ranking(tuple(candidates), tuple(ties), decided_by)


def figures_table(candidates: Iterable[Candidate]) -> Int64Array:
    """(criteria, candidates) int64: the figures of the candidates."""
    return np.array([candidate.figures for candidate in candidates], dtype=np.int64).T


def build_candidate(node: str, victims: Victims) -> Candidate:
    keys = tuple(pod.key for pod in victims.pods)
    return Candidate(node, keys, victims.pdb_violations, figures(victims))


def figures(victims: Victims) -> tuple[int, ...]:
    """A node's figure for each criterion; the least is best, of start times the greatest.

    The sum counts every priority plus 2**31; times are in microseconds, NOT_STARTED for victims
    that have not started.
    """
    pods = victims.pods
    priorities = [pod.priority for pod in pods]
    highest = max(priorities)
    return (
        victims.pdb_violations,
        priorities[0],
        sum(priorities) + PRIORITY_SHIFT * len(pods),
        len(pods),
        min(start_time(pod) for pod in pods if pod.priority == highest),
    )
