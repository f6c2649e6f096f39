"""What filters refused, in short."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.status import Status


@dataclass(frozen=True, slots=True)
class Summary:
    """What the filters refused."""

    rejected: int
    statuses: tuple[Status, ...]


NOTHING_REFUSED: Final = Summary(0, ())


def summarize(statuses: NodeStatuses) -> Summary:
    """What ``statuses`` refuse."""
    if len(statuses.statuses) == 1:
        return NOTHING_REFUSED
    counts = tuple(statuses.used())
    return Summary(sum(rows for _, rows in counts), tuple(status for status, _ in counts))
