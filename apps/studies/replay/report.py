"""The result of a replay, as it is stored and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, TypeAlias

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
    #: as `baseline` of the report
    baseline: Waits | None = None

    ANSWER: ClassVar = ("priority", "priority_class", "recorded", "baseline", "replayed")

    @property
    def lives(self) -> list[tuple[str, Waits]]:
        """The lives with their names, as they are shown."""
        lives = (
            ("Recorded", self.recorded),
            ("Baseline", self.baseline),
            ("Replayed", self.replayed),
        )
        return [(name, life) for name, life in lives if life is not None]


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """One effective difference between the recorded configuration and that of the replay."""

    #: "" for the settings of all profiles
    scheduler_name: str
    #: a setting, plugin, weight or argument
    what: str
    before: str
    after: str

    def __str__(self) -> str:
        profile = f" of {self.scheduler_name}" if self.scheduler_name else ""
        return f"{self.what}{profile}: {self.before} -> {self.after}"


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
    #: what the configurations really differ in, the percentage of nodes first, which changes most
    effects: list[Effect] = []
    #: the recorded configuration, continued from the first difference on in the same way as the
    #: replay: in both, attempts take no time. Compare waiting times with these, not with the
    #: recorded ones. None if nothing differs, and in reports of earlier versions
    baseline: Figures | None = None
    baseline_series: dict[str, list[float | None]] = {}

    @property
    def lives(self) -> list[tuple[str, Figures, dict[str, list[float | None]]]]:
        """Name, figures and series of each life, in the order in which they are compared."""
        lives = [("recorded", self.recorded, self.recorded_series)]
        if self.baseline is not None:
            lives.append(("baseline", self.baseline, self.baseline_series))
        return [*lives, ("replayed", self.replayed, self.replayed_series)]

    @property
    def differs(self) -> bool:
        return self.first is not None


#: The columns of the file with the differences.
FIELDS: Final = tuple(PodReplay.__struct_fields__)


def write_figures(report: ReplayReport) -> str:
    """A CSV file with a row for each figure, of all pods and of each priority class."""
    names = [name for name, _, _ in report.lives]
    rows: list[list[Any]] = [["priority", "priority_class", "figure", *names]]
    for figure in Figures.__struct_fields__:
        rows.append(["", "", figure, *(getattr(each, figure) for _, each, _ in report.lives)])
    for each in report.priorities:
        for figure in Waits.__struct_fields__:
            values = [getattr(life, figure) for _, life in each.lives]
            rows.append([each.priority, each.priority_class, figure, *values])
    return _to_csv(rows)


def write_series(report: ReplayReport) -> str:
    """A CSV file with a row for each time, and a column for each level and life."""
    columns = {
        f"{level}.{name}": values
        for level in report.recorded_series
        for name, _, series in report.lives
        if (values := series.get(level)) is not None
    }
    rows = zip(*columns.values(), strict=True)
    return _to_csv(
        [
            ["at", *columns],
            *([at.isoformat(), *row] for at, row in zip(report.times, rows, strict=True)),
        ]
    )


def _to_csv(rows: Iterable[Iterable[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue()


def write_differences(report: ReplayReport) -> str:
    """A CSV file with the pods that differ."""
    rows = ([getattr(each, name) for name in FIELDS] for each in report.differences)
    return _to_csv([FIELDS, *rows])


#: What of a report is written as CSV.
TABLES: Final[Mapping[str, Callable[[ReplayReport], str]]] = {
    "differences": write_differences,
    "figures": write_figures,
    "series": write_series,
}
