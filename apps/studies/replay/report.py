"""The result of a replay, as it is stored and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime
from typing import Final, Literal, TypeAlias

import msgspec

#: Differences that a report lists.
MAX_LISTED: Final = 2000

ReplayKind: TypeAlias = Literal[
    "other node", "only recorded", "only replayed", "preempted", "not preempted"
]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of one life of the cluster in the span. Times are in seconds."""

    attempts: int
    #: pods that got a node in the span
    bound: int
    #: pods without a node at its end
    pending: int
    preempted: int
    #: seconds until bound, from the creation of a pod or the start of the span; None without any
    waiting_p50: float | None
    waiting_p99: float | None


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the pods of one priority in one life, as in Figures."""

    #: pods that got a node in the span
    bound: int
    #: pods without a node at its end
    pending: int
    preempted: int
    #: seconds until bound
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


class PodReplay(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that another thing happened to."""

    namespace: str
    name: str
    uid: str
    kind: ReplayKind
    node_before: str
    node_after: str
    #: seconds until bound; None if it was not
    waited_before: float | None
    waited_after: float | None
    #: the first attempt that differs; None if none does
    attempt: int | None
    #: the recorded one about it
    decision: int | None
    #: why the first attempt that differs does so
    cause: str
    #: the pod (`namespace/name`) whose difference led to this one; empty if the change itself did
    follows: str = ""


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay has found."""

    cluster: str
    since_version: int
    since_at: datetime
    until_version: int
    until_at: datetime
    #: "nothing", or what was changed: "revision 3, seed 7"
    changed: str
    #: recorded decisions in the span
    decisions: int
    #: those made again with the same outcome before the first one that differs
    equal: int
    #: those that could not be made again
    unknown: int
    #: of an unchanged replay: decisions with another status or score
    inexact: list[int]
    #: the first decision that differs; None if none does
    first: int | None
    first_at: datetime | None
    recorded: Figures
    replayed: Figures
    #: number of pods that differ
    differing: int
    #: the first 2,000, in the order in which they came about
    differences: list[PodReplay]
    times: list[datetime]
    #: name of a level -> its value at each of the times; None where nothing could be measured
    recorded_series: dict[str, list[float | None]]
    replayed_series: dict[str, list[float | None]]
    #: for each priority class, the highest priority first; empty in reports of earlier versions
    priorities: list[PriorityWaits] = []

    @property
    def differs(self) -> bool:
        return self.first is not None


#: The columns of the file with the differences.
FIELDS: Final = tuple(PodReplay.__struct_fields__)


def write_csv(report: ReplayReport) -> Iterator[str]:
    """The differences as lines of a CSV file, with a head."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(FIELDS)
    for each in report.differences:
        writer.writerow(getattr(each, name) for name in FIELDS)
    yield buffer.getvalue()
