"""Decisions in groups: how many there are, of how many pods, when, and how long they took.

    found = aggregate(filters, parse_grouping("pod"), cluster_id=cluster.pk)
    [(group.key, group.decisions, group.pods) for group in found.groups]

At most the newest MAX_DECISIONS that the filters select are aggregated, so that the time it takes
is bounded on a ledger of any size; `Aggregation.is_limited` says that there are more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.core.exceptions import EmptyResultSet
from django.db import OperationalError, connection, transaction
from django.utils.timezone import get_current_timezone_name
from psycopg.errors import QueryCanceled

from apps.cluster.access.reach import EVERYTHING, Reach
from apps.cluster.errors import BadRequest, Timeout
from apps.engine.ledger import finding
from apps.engine.ledger.finding import DecisionFilters
from apps.engine.ledger.grouping import Dimension, Key
from apps.engine.models import SchedulingDecision

#: Decisions that one aggregation reads at most: the newest that the filters select.
MAX_DECISIONS: Final = 50_000
#: Seconds after which an aggregation is cancelled.
MAX_SECONDS: Final = 10

_COLUMNS: Final = (
    "id",
    "pod_uid",
    "namespace",
    "name",
    "workload",
    "node",
    "scheduler_name",
    "profile_revision",
    "result",
    "at",
    "attempt",
    "duration_us",
)
#: name of the value -> its SQL expression; `sort=` takes these names
MEASURES: Final = {
    "decisions": "count(*)",
    "pods": "count(DISTINCT d.pod_uid)",
    "failed": "count(*) FILTER (WHERE d.result <> 'scheduled')",
    "first": "min(d.at)",
    "last": "max(d.at)",
    "p50_us": "percentile_disc(0.5) WITHIN GROUP (ORDER BY d.duration_us)",
    "p99_us": "percentile_disc(0.99) WITHIN GROUP (ORDER BY d.duration_us)",
    "max_us": "max(d.duration_us)",
    "max_attempt": "max(d.attempt)",
}
#: What `sort=` takes: a measure, or the key of the groups.
SORT_KEYS: Final = (*MEASURES, "key")

_STATEMENT: Final = """
    WITH recent AS MATERIALIZED ({rows}),
    groups AS (
        SELECT {keys}, {measures} FROM recent d{items} GROUP BY {numbers}
    ),
    page AS (SELECT * FROM groups ORDER BY {order} LIMIT %s OFFSET %s)
    SELECT totals.*, page.* FROM (
        SELECT (SELECT count(*) FROM groups), count(*), count(DISTINCT pod_uid), min(at)
        FROM recent
    ) totals LEFT JOIN page ON true
    ORDER BY {order}
"""


@dataclass(frozen=True, slots=True)
class Measures:
    """What is counted and measured of each group; durations are in µs."""

    decisions: int
    #: distinct pods
    pods: int
    #: decisions that did not schedule their pod
    failed: int
    #: by the cluster's clock
    first: datetime
    last: datetime
    #: median duration of an attempt
    p50_us: int
    p99_us: int
    max_us: int
    #: the highest number of an attempt
    max_attempt: int


@dataclass(frozen=True, slots=True)
class Group(Measures):
    """The decisions with the same keys."""

    #: one key for each dimension
    keys: Sequence[Key]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A page of groups, and the totals of all groups."""

    groups: Sequence[Group]
    #: groups on all pages
    total: int
    #: the decisions that were read, and their distinct pods
    decisions: int
    pods: int
    #: the time of the oldest decision that was read; None without any
    oldest: datetime | None
    #: MAX_DECISIONS were read: the filters may select older ones, too
    is_limited: bool


def parse_sorting(text: str, grouping: Sequence[Dimension]) -> tuple[str, bool]:
    """(sort key, descending) of `sort=` ("-p99_us"); a default that suits the grouping.

    Raises BadRequest for an unknown key.
    """
    if not text:
        return _default_key(grouping), True
    name = text.removeprefix("-")
    if name not in SORT_KEYS:
        raise BadRequest(f"sort: {name!r} is not one of {', '.join(SORT_KEYS)}")
    return name, text.startswith("-")


def aggregate(
    filters: DecisionFilters,
    grouping: Sequence[Dimension],
    *,
    cluster_id: int | None = None,
    reach: Reach = EVERYTHING,
    sorting: tuple[str, bool] = ("decisions", True),
    limit: int = 100,
    offset: int = 0,
) -> Aggregation:
    """The groups of the decisions that the filters select, sorted.

    Raises Timeout when it takes longer than MAX_SECONDS.
    """
    required = {dimension.required for dimension in grouping if dimension.required}
    rows = finding.find(filters, cluster_id=cluster_id, reach=reach)
    for name in required:
        rows = rows.exclude(**{name: "" if name == "node" else []})
    arrays = {name for each in grouping for name in (each.lists, each.fetches) if name}
    selected = rows.values(*_COLUMNS, *arrays)[:MAX_DECISIONS]
    try:
        sql, parameters = selected.query.sql_with_params()
    except EmptyResultSet:
        return Aggregation((), 0, 0, 0, None, False)
    statement = _build_statement(sql, grouping, sorting)
    return _read(_execute(statement, [*parameters, limit, offset]), grouping)


def list_decisions(ids: Sequence[int]) -> Mapping[int, SchedulingDecision]:
    """Rows of the ledger without their columns, by id."""
    return finding.find(DecisionFilters()).in_bulk(ids) if ids else {}


def _default_key(grouping: Sequence[Dimension]) -> str:
    first = grouping[0].name if grouping else ""
    return {"hour": "key", "day": "key", "decision": "max_us"}.get(first, "decisions")


def _build_statement(rows: str, grouping: Sequence[Dimension], sorting: tuple[str, bool]) -> str:
    columns = [column for dimension in grouping for column in dimension.expressions]
    names = [f"key{number}" for number in range(len(columns))]
    lists = [dimension.lists for dimension in grouping if dimension.lists]
    key, descending = sorting
    direction = "DESC" if descending else "ASC"
    sorted_by = names if key == "key" else [key, *names]
    directions = [direction] * len(names) if key == "key" else [direction, *["ASC"] * len(names)]
    order = ", ".join(f"{a} {b}" for a, b in zip(sorted_by, directions, strict=True))
    # the percent signs of the rows' parameters stay
    return _STATEMENT.format(
        rows=rows,
        keys=", ".join(f"{column} AS {name}" for column, name in zip(columns, names, strict=True)),
        measures=", ".join(f"{sql} AS {name}" for name, sql in MEASURES.items()),
        items="".join(f", unnest(d.{each}) item" for each in lists),
        numbers=", ".join(str(number + 1) for number in range(len(names))),
        order=order,
    )


def _execute(statement: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, true),"
            " set_config('work_mem', '64MB', true), set_config('jit', 'off', true),"
            " set_config('schedweb.time_zone', %s, true)",
            [f"{MAX_SECONDS}s", get_current_timezone_name()],
        )
        try:
            cursor.execute(statement, parameters)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows
        except OperationalError as error:
            if not isinstance(error.__cause__, QueryCanceled):
                raise
            raise Timeout(
                f"the aggregation took longer than {MAX_SECONDS} s: select fewer decisions, "
                "for example with since and until"
            ) from error


def _read(rows: Sequence[tuple[Any, ...]], grouping: Sequence[Dimension]) -> Aggregation:
    total, decisions, pods, oldest = rows[0][:4]
    groups = [_read_group(row[4:], grouping) for row in rows if row[-1] is not None]
    return Aggregation(groups, total, decisions, pods, oldest, decisions == MAX_DECISIONS)


def _read_group(values: Sequence[Any], grouping: Sequence[Dimension]) -> Group:
    keys, place = [], 0
    for dimension in grouping:
        keys.append(tuple(values[place : place + len(dimension.columns)]))
        place += len(dimension.columns)
    return Group(keys=keys, **dict(zip(MEASURES, values[place:], strict=True)))
