"""The values by which decisions are grouped, and the filters that lead from a group to its rows.

    grouping = parse_grouping("namespace,reason")    # BadRequest names the parameter

A group has one key for each of its dimensions; a key has as many parts as its dimension has
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.utils.timezone import localtime

from apps.cluster.errors import BadRequest
from apps.engine.ledger.finding import NO_WORKLOAD, DecisionFilters

#: The most dimensions of a grouping.
MAX_DIMENSIONS: Final = 2

Key = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Dimension:
    """One value by which decisions are grouped.

    `columns` are SQL expressions over the row `d`; `lists` is the array column whose items they
    read as `item`, `fetches` one that they read as a whole. Decisions whose column `required` is
    empty belong to no group.
    """

    name: str
    label: str
    columns: Sequence[str]
    #: key -> its text
    show: Callable[[Key], str]
    #: key, present filters -> the query parameters that select its decisions
    select: Callable[[Key, DecisionFilters], Mapping[str, str]]
    lists: str = ""
    fetches: str = ""
    required: str = ""
    is_text: bool = True

    @property
    def expressions(self) -> Sequence[str]:
        """The columns to group by; text by the collation "C", which takes half of the time."""
        return (
            [f'{column} COLLATE "C"' for column in self.columns] if self.is_text else self.columns
        )


def format_time(at: datetime) -> str:
    """A time as the parameters `since` and `until` take it."""
    return at.isoformat().replace("+00:00", "Z")


def _first(key: Key) -> str:
    return str(key[0])


def _join(key: Key) -> str:
    return "/".join(key)


def _show_workload(key: Key) -> str:
    return f"{key[0]}/{key[1]}" if key[1] else f"{key[0]}: pods without a workload"


def _select_workload(key: Key, _: DecisionFilters) -> Mapping[str, str]:
    return {"namespace": key[0], "workload": key[1] or NO_WORKLOAD}


def _show_time(key: Key) -> str:
    return format_time(localtime(key[0]))


def _truncate(unit: str) -> str:
    """The start of the hour or day in the current time zone, which the aggregation sets."""
    return f"date_trunc('{unit}', d.at, current_setting('schedweb.time_zone'))"


def _next_hour(start: datetime) -> datetime:
    """An hour later, also if clocks are set back at its end."""
    return localtime(start.astimezone(UTC) + timedelta(hours=1))


def _next_day(start: datetime) -> datetime:
    """The next midnight, also if the day has 23 hours."""
    return start + timedelta(days=1)


def _select_span(
    find_end: Callable[[datetime], datetime],
) -> Callable[[Key, DecisionFilters], Mapping[str, str]]:
    """The part of a span of time that the present filters select, too."""

    def select(key: Key, present: DecisionFilters) -> Mapping[str, str]:
        since = localtime(key[0])
        until = find_end(since)
        since = max(since, present.since) if present.since else since
        until = min(until, present.until) if present.until else until
        return {"since": format_time(since), "until": format_time(until)}

    return select


def _by(parameter: str) -> Callable[[Key, DecisionFilters], Mapping[str, str]]:
    return lambda key, _: {parameter: str(key[0])}


DIMENSIONS: Final = (
    Dimension(
        "pod",
        "Pod",
        ("d.namespace", "d.name"),
        _join,
        lambda key, _: {"pod": _join(key)},
    ),
    Dimension(
        "workload",
        "Workload",
        ("d.namespace", "d.workload"),
        _show_workload,
        _select_workload,
    ),
    Dimension("namespace", "Namespace", ("d.namespace",), _first, _by("namespace")),
    Dimension("node", "Node", ("d.node",), _first, _by("node"), required="node"),
    Dimension(
        "plugin",
        "Plugin",
        ("item",),
        _first,
        _by("plugin"),
        lists="unschedulable_plugins",
        required="unschedulable_plugins",
    ),
    Dimension(
        "reason",
        "Reason",
        ("item",),
        _first,
        _by("reason"),
        lists="reasons",
        required="unschedulable_plugins",
    ),
    Dimension(
        "main_plugin",
        "Main plugin",
        ("d.unschedulable_plugins[1]",),
        _first,
        _by("main_plugin"),
        fetches="unschedulable_plugins",
        required="unschedulable_plugins",
    ),
    Dimension(
        "main_reason",
        "Main reason",
        ("d.reasons[1]",),
        _first,
        _by("main_reason"),
        fetches="reasons",
        required="reasons",
    ),
    Dimension("result", "Result", ("d.result",), _first, _by("result")),
    Dimension("profile", "Profile", ("d.scheduler_name",), _first, _by("profile")),
    Dimension(
        "revision", "Revision", ("d.profile_revision",), _first, _by("revision"), is_text=False
    ),
    Dimension(
        "hour",
        "Hour",
        (_truncate("hour"),),
        _show_time,
        _select_span(_next_hour),
        is_text=False,
    ),
    Dimension(
        "day",
        "Day",
        (_truncate("day"),),
        _show_time,
        _select_span(_next_day),
        is_text=False,
    ),
    Dimension("decision", "Single attempt", ("d.id",), _first, lambda _key, _: {}, is_text=False),
)
BY_NAME: Final = {dimension.name: dimension for dimension in DIMENSIONS}


def parse_grouping(text: str) -> tuple[Dimension, ...]:
    """The dimensions of `group=` ("pod", "hour,result"), in this order; empty for an empty text.

    Raises BadRequest for an unknown one, for more than MAX_DIMENSIONS, and for two of a pair that
    the ledger does not record together.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in BY_NAME:
            known = ", ".join(BY_NAME)
            raise BadRequest(f"group: {name!r} is not one of {known}")
    if len(names) > MAX_DIMENSIONS:
        raise BadRequest(f"group: at most {MAX_DIMENSIONS} values, not {len(names)}")
    if len(set(names)) < len(names):
        raise BadRequest(f"group: {names[0]!r} occurs twice")
    if {"plugin", "reason"} == set(names):
        raise BadRequest(
            "group: 'plugin' and 'reason' cannot be combined: group by one, filter by the other"
        )
    return tuple(BY_NAME[name] for name in names)


def select_group(
    keys: Sequence[Key], grouping: Sequence[Dimension], present: DecisionFilters
) -> dict[str, str]:
    """The query parameters that select a group's decisions, besides those of `present`.

    A parameter replaces the present one of the same name.
    """
    parameters: dict[str, str] = {}
    for dimension, key in zip(grouping, keys, strict=True):
        parameters.update(dimension.select(key, present))
    return parameters
