"""The result of a replay, as it is stored and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

#: Differences that a report lists.
MAX_LISTED: Final = 2000


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of one life of the cluster in the span. Times are in seconds."""

    attempts: int
    #: pods that got a node in the span
    bound: int
    #: pods without a node at its end
    pending: int
    preempted: int
    #: from the creation of a pod, or the start of the span, to its binding; None without one
    waiting_p50: float | None
    waiting_p99: float | None


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the pods of one priority in one life, as in Figures."""

    bound: int
    pending: int
    preempted: int
    waiting_p50: float | None
    waiting_p99: float | None


class PriorityWaits(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one priority class, in the record and in the replay."""

    priority: int
    #: "" for pods without a class
    priority_class: str
    recorded: Waits
    replayed: Waits

    @property
    def lives(self) -> tuple[tuple[str, Waits], tuple[str, Waits]]:
        return ("Recorded", self.recorded), ("Replayed", self.replayed)


class PodDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that another thing happened to."""

    namespace: str
    name: str
    uid: str
    #: "other node", "only recorded", "only replayed", "preempted" or "not preempted"
    kind: str
    node_before: str
    node_after: str
    #: seconds until it was bound; None if it was not
    waited_before: float | None
    waited_after: float | None
    #: the attempt that differs first, and the recorded decision about it; None if none does
    attempt: int | None
    decision: int | None
    #: why the first attempt that differs does so
    cause: str
    #: the pod ("namespace/name") whose difference led to this one; "" if the change itself did
    follows: str = ""


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay has found."""

    cluster: str
    since_version: int
    since_at: datetime
    until_version: int
    until_at: datetime
    #: what was changed: "nothing", or "revision 3, seed 7"
    changed: str
    #: recorded decisions in the span; how many of them were made again with the same outcome
    #: before the first one that differs, and how many could not be
    decisions: int
    equal: int
    unknown: int
    #: of an unchanged replay: decisions that differ in some status or score
    inexact: list[int]
    #: the first decision that differs; None if none does
    first: int | None
    first_at: datetime | None
    recorded: Figures
    replayed: Figures
    differing: int
    #: the first MAX_LISTED, in the order in which they came about
    differences: list[PodDifference]
    #: times of the series, and name -> values; null where nothing could be measured
    times: list[datetime]
    recorded_series: dict[str, list[float | None]]
    replayed_series: dict[str, list[float | None]]
    #: the highest priority first; empty in reports of earlier versions
    priorities: list[PriorityWaits] = []

    @property
    def differs(self) -> bool:
        return self.first is not None


#: The columns of the file with the differences.
FIELDS: Final = tuple(PodDifference.__struct_fields__)


def write_csv(report: ReplayReport) -> Iterator[str]:
    """The differences as lines of a CSV file, with a head."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(FIELDS)
    for each in report.differences:
        writer.writerow(getattr(each, name) for name in FIELDS)
    yield buffer.getvalue()
