"""Reads second opinions: how far a client's bindings agree with this site's scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from django.db.models import Count, QuerySet

from apps.cluster.models import Cluster
from apps.engine.models import SecondOpinion

Verdict = SecondOpinion.Verdict

AGREEMENTS = (
    *(Verdict.SAME_NODE, Verdict.TIE, Verdict.SAME_REASONS),
    *(Verdict.ORDER, Verdict.MOVED_ON),
)
DISAGREEMENTS = (
    *(Verdict.OTHER_NODE, Verdict.NODE_REJECTED, Verdict.UNSCHEDULABLE),
    *(Verdict.OTHER_REASONS, Verdict.FEASIBLE),
)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far an external scheduler agrees."""

    #: bindings by verdict
    counts: Mapping[str, int]

    ANSWER: ClassVar = ("percent", "compared", "agreed", "disagreed", "counts")

    @property
    def agreed(self) -> int:
        """The same node, or one with the same score, in a state that the client can have seen."""
        return sum(self.counts[verdict] for verdict in AGREEMENTS)

    @property
    def disagreed(self) -> int:
        return sum(self.counts[verdict] for verdict in DISAGREEMENTS)

    @property
    def compared(self) -> int:
        return self.agreed + self.disagreed

    @property
    def percent(self) -> float | None:
        """Agreements per hundred compared bindings, rounded down to tenths; None without any."""
        return 1000 * self.agreed // self.compared / 10 if self.compared else None

    @property
    def rows(self) -> list[tuple[str, str, int]]:
        """(verdict, its text, count) of every verdict."""
        return [(each.value, str(each.label), self.counts[each]) for each in Verdict]


def read_agreement(cluster: Cluster) -> Agreement:
    """Count the reviewed bindings of a cluster."""
    rows = SecondOpinion.objects.filter(cluster=cluster).order_by()
    counted = dict(rows.values_list("verdict").annotate(Count("id")))
    return Agreement({each.value: counted.get(each.value, 0) for each in Verdict})


def list_disagreements(cluster: Cluster) -> QuerySet[SecondOpinion]:
    """The bindings with which this site's scheduler disagrees, newest first."""
    opinions = SecondOpinion.objects.filter(cluster=cluster, verdict__in=DISAGREEMENTS)
    return opinions.order_by("-id")


def trim(cluster: Cluster, oldest: date | None, most: int) -> None:
    """Delete opinions recorded before a day, and all but the newest `most` (0: no limit)."""
    rows = SecondOpinion.objects.filter(cluster=cluster)
    if oldest is not None:
        rows.filter(recorded_at__date__lt=oldest).delete()
    newest = rows.order_by("-id").values_list("id", flat=True)
    if most and (first_deleted := newest[most : most + 1].first()) is not None:
        rows.filter(id__lte=first_deleted).delete()


def list_opinions(cluster: Cluster) -> QuerySet[SecondOpinion]:
    """All reviewed bindings, newest first."""
    return SecondOpinion.objects.filter(cluster=cluster).order_by("-id")
