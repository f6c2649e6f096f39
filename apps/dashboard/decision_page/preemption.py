"""The candidates for preemption, with the figures they were ranked by and what told them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from apps.scheduler.decision import Decision
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import Candidate
from apps.scheduler.preemption.importance import NOT_STARTED
from apps.scheduler.preemption.ranking import CRITERIA, PRIORITY_SHIFT, Criterion

#: Candidates that are shown; the chosen one comes first.
MOST_SHOWN = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Figure:
    """A candidate's figure for one criterion, and whether it put the candidate out."""

    text: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A node where room could be made, at what cost, and why it was not taken instead."""

    node: str
    victims: Sequence[str]
    figures: Sequence[Figure]
    #: "" for those that were never behind
    lost_by: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class InVain:
    """Nodes where evicting pods would not help, by reason."""

    reason: str
    nodes: int


@dataclass(frozen=True, slots=True)
class PreemptionTable:
    """What PostFilter found."""

    status: str
    message: str
    criteria: Sequence[str]
    decided_by: str
    rows: Sequence[CandidateRow]
    candidates: int
    ties: Sequence[str]
    in_vain: Sequence[InVain]


def preemption_table(decision: Decision) -> PreemptionTable | None:
    """The candidates, the chosen one first, then in the order they fell out; None if not tried."""
    status, result = decision.post_filter_status, decision.post_filter
    if status is None:
        return None
    candidates = result.candidates if result else ()
    chosen = decision.nominating.nominated_node if decision.nominating else ""
    lost = _lost(candidates)
    rows = [_row(each, lost.get(each.node), each.node == chosen) for each in candidates]
    rows.sort(key=lambda row: (not row.chosen, -_place(lost.get(row.node)), row.node))
    return PreemptionTable(
        status=status.code.label,
        message=status.message,
        criteria=[str(criterion) for criterion in CRITERIA],
        decided_by=result.decided_by if result else "",
        rows=rows[:MOST_SHOWN],
        candidates=len(candidates),
        ties=result.ties if result and len(result.ties) > 1 else (),
        in_vain=_in_vain(result.node_statuses if result else None),
    )


def _lost(candidates: Sequence[Candidate]) -> dict[str, int]:
    """Node -> place in CRITERIA of the one that put it out; the criteria one after the other."""
    lost: dict[str, int] = {}
    left = [each for each in candidates if len(each.figures) == len(CRITERIA)]
    for place, criterion in enumerate(CRITERIA):
        if len(left) < 2:
            break
        better = max if criterion is Criterion.START_TIME else min
        best = better(each.figures[place] for each in left)
        lost |= {each.node: place for each in left if each.figures[place] != best}
        left = [each for each in left if each.figures[place] == best]
    return lost


def _place(lost: int | None) -> int:
    return len(CRITERIA) if lost is None else lost


def _row(candidate: Candidate, lost: int | None, chosen: bool) -> CandidateRow:
    figures = [
        Figure(_text(criterion, figure, len(candidate.victims)))
        for criterion, figure in zip(CRITERIA, candidate.figures, strict=False)
    ]
    if lost is not None:
        figures[lost] = replace(figures[lost], lost=True)
    lost_by = "" if lost is None else str(CRITERIA[lost])
    return CandidateRow(candidate.node, candidate.victims, figures, lost_by, chosen)


def _text(criterion: Criterion, figure: int, victims: int) -> str:
    if criterion is Criterion.PRIORITY_SUM:
        return f"{figure - PRIORITY_SHIFT * victims:,}"
    if criterion is not Criterion.START_TIME:
        return f"{figure:,}"
    if figure >= NOT_STARTED:
        return "not started"
    return f"{_EPOCH + timedelta(microseconds=figure):%Y-%m-%d %H:%M:%S}"


def _in_vain(statuses: NodeStatuses | None) -> list[InVain]:
    """The most frequent reason first."""
    if statuses is None:
        return []
    found = [InVain(status.message, count) for status, count in statuses.used()]
    return sorted(found, key=lambda each: (-each.nodes, each.reason))
