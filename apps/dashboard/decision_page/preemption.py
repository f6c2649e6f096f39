"""The candidates for preemption, with the figures that rank them and the deciding criterion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from apps.engine.results.refusals import RefusalGroup, group_statuses
from apps.scheduler.decision import Decision
from apps.scheduler.framework.interface import Candidate
from apps.scheduler.preemption.importance import NOT_STARTED
from apps.scheduler.preemption.ranking import CRITERIA, Criterion

#: Candidates that are shown; the chosen one comes first.
MOST_SHOWN = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Figure:
    """A candidate's figure for one criterion; `lost`: the candidate was eliminated by it."""

    text: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A node where evictions make room, the victims, and why another node was nominated."""

    node: str
    victims: Sequence[str]
    figures: Sequence[Figure]
    #: the criterion that eliminated the candidate; "" if none did
    lost_by: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class PreemptionTable:
    """The result of PostFilter."""

    status: str
    message: str
    criteria: Sequence[str]
    decided_by: str
    rows: Sequence[CandidateRow]
    candidates: int
    ties: Sequence[str]
    #: nodes where evicting pods does not help, by reason
    unhelpful: Sequence[RefusalGroup]


def preemption_table(decision: Decision) -> PreemptionTable | None:
    """The chosen candidate, then those eliminated last; None if PostFilter was not run."""
    status, result = decision.post_filter_status, decision.post_filter
    if status is None:
        return None
    candidates = result.candidates if result else ()
    statuses = result.node_statuses if result else None
    return PreemptionTable(
        status=status.code.label,
        message=status.message,
        criteria=[str(criterion) for criterion in CRITERIA],
        decided_by=result.decided_by if result else "",
        rows=_rows(candidates, _nominated_node(decision))[:MOST_SHOWN],
        candidates=len(candidates),
        ties=result.ties if result and len(result.ties) > 1 else (),
        unhelpful=group_statuses(statuses, decision.nodes) if statuses is not None else (),
    )


def _nominated_node(decision: Decision) -> str:
    return decision.nominating.nominated_node if decision.nominating else ""


def _rows(candidates: Sequence[Candidate], nominated: str) -> list[CandidateRow]:
    lost = _eliminate(candidates)
    never = len(CRITERIA)
    ordered = sorted(
        candidates,
        key=lambda each: (each.node != nominated, -lost.get(each.node, never), each.node),
    )
    return [_row(each, lost.get(each.node), each.node == nominated) for each in ordered]


def _eliminate(candidates: Sequence[Candidate]) -> dict[str, int]:
    """Node -> index of the criterion that eliminates it; the criteria are compared in order."""
    lost: dict[str, int] = {}
    left = [each for each in candidates if len(each.figures) == len(CRITERIA)]
    for index, criterion in enumerate(CRITERIA):
        if len(left) < 2:
            break
        better = max if criterion is Criterion.START_TIME else min
        best = better(each.figures[index] for each in left)
        lost |= {each.node: index for each in left if each.figures[index] != best}
        left = [each for each in left if each.figures[index] == best]
    return lost


def _row(candidate: Candidate, lost: int | None, chosen: bool) -> CandidateRow:
    figures = [
        Figure(_text(criterion, figure))
        for criterion, figure in zip(CRITERIA, candidate.figures, strict=False)
    ]
    if lost is not None:
        figures[lost] = replace(figures[lost], lost=True)
    lost_by = "" if lost is None else str(CRITERIA[lost])
    return CandidateRow(candidate.node, candidate.victims, figures, lost_by, chosen)


def _text(criterion: Criterion, figure: int) -> str:
    if criterion is not Criterion.START_TIME:
        return f"{figure:,}"
    if figure >= NOT_STARTED:
        return "not started"
    return f"{timezone.localtime(_EPOCH + timedelta(microseconds=figure)):%Y-%m-%d %H:%M:%S}"
