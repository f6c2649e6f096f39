"""Prepared statements on Django's connection, and several statements in one round trip.

    lease = Step("lease", "UPDATE … WHERE cluster_id = $1 RETURNING 1", [Int8(7)], "count(*)")
    moves = insert("moves", QueueMove, {"cluster_id": Int8(7), "pod_uid": uuids([…]), …})
    results = execute_together([lease, moves])      # {"lease": 1}

The steps are one statement: all of them see the database as it was before, and write different
rows. Parameters travel in binary form (`arrays`); the server parses and plans a statement once for
each connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import psycopg
from django.db import connection, models
from django.db.backends.utils import CursorWrapper

from apps.cluster.arrays import DUMPERS, BinaryArray, JsonArray, NestedArray
from apps.cluster.exchange import Exchange
from apps.cluster.sql import column_type, preparing_connection

_PARAMETER = re.compile(r"\$(\d+)")


@dataclass(frozen=True, slots=True)
class Step:
    """A statement with parameters `$1`, `$2`, …, and an expression over the rows it returns."""

    name: str
    sql: str
    parameters: Sequence[Any] = field(default_factory=tuple)
    #: an aggregate, such as `count(*)`; empty if nothing is returned
    result: str = ""


def execute_together(steps: Sequence[Step]) -> dict[str, Any]:
    """Execute the steps as one statement; returns the results of those that have one."""
    if not steps:
        return {}
    with prepared_cursor() as cursor:
        _execute(cursor, steps)
        return _fetch(cursor, steps)


def send_together(sent: Exchange, steps: Sequence[Step]) -> None:
    """Send the steps, at least one, as one statement of a transaction.

    The transaction fails with a DataError (a division by zero) unless each result is true.
    """
    sent.send(*_statement(steps, "1 / (SELECT ({result})::int FROM {name})"))


def _execute(cursor: CursorWrapper, steps: Sequence[Step]) -> None:
    cursor.execute(*_statement(steps, "(SELECT {result} FROM {name})"))


def _statement(steps: Sequence[Step], result: str) -> tuple[str, list[Any]]:
    parts = tuple((step.name, step.sql, step.result, len(step.parameters)) for step in steps)
    return _combine(parts, result), [value for step in steps for value in step.parameters]


def _fetch(cursor: CursorWrapper, steps: Sequence[Step]) -> dict[str, Any]:
    row = cursor.fetchone()
    names = [step.name for step in steps if step.result]
    return dict(zip(names, row or (), strict=False))


def insert(
    name: str,
    model: type[models.Model],
    columns: Mapping[str, Any],
    *,
    condition: str = "true",
    conflict: str = "",
) -> Step:
    """A step that inserts rows, in their order; `columns` are arrays, or the value of all rows.

    At least one is an array. `condition` may refer to the steps before; `conflict` are the columns
    of a unique constraint: a row that exists with these values is updated.
    """
    kinds = tuple((column, type(value)) for column, value in columns.items())
    sql = _insert_statement(model, kinds, condition, conflict)
    return Step(name, sql, list(columns.values()))


def prepared_cursor() -> CursorWrapper:
    """A cursor of Django's connection for statements with `$1`, `$2`, …, which it prepares."""
    cursor = _PreparedCursor(preparing_connection())
    for array, dumper in DUMPERS.items():
        cursor.adapters.register_dumper(array, dumper)
    return connection._prepare_cursor(cursor)  # type: ignore[attr-defined,no-any-return]


class _PreparedCursor(psycopg.RawCursor[Any]):
    def execute(
        self,
        query: Any,
        params: Any = None,
        *,
        prepare: bool | None = True,
        binary: bool | None = True,
    ) -> _PreparedCursor:
        return super().execute(query, params, prepare=prepare, binary=binary)


@cache
def _insert_statement(
    model: type[models.Model], kinds: tuple[tuple[str, type], ...], condition: str, conflict: str
) -> str:
    table, names = model._meta.db_table, [f'"{column}"' for column, _ in kinds]
    numbered = [(number, *each) for number, each in enumerate(kinds, start=1)]
    values = [_value(model, number, column, kind) for number, column, kind in numbered]
    arrays = [(n, column) for n, column, kind in numbered if issubclass(kind, BinaryArray)]
    rows = ", ".join(f"${number}" for number, _ in arrays)
    fields = ", ".join(f'"{column}"' for _, column in arrays)
    changed = ", ".join(f"{name} = excluded.{name}" for name in names)
    update = f" ON CONFLICT ({conflict}) DO UPDATE SET {changed}" if conflict else ""
    return (
        f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} "
        f"FROM unnest({rows}) WITH ORDINALITY AS d({fields}, ord) "
        f"WHERE {condition} ORDER BY ord{update}"
    )


def _value(model: type[models.Model], number: int, column: str, kind: type) -> str:
    if not issubclass(kind, BinaryArray):
        return f"${number}::{column_type(model, column)}"
    if issubclass(kind, NestedArray | JsonArray):
        return f'd."{column}"::{column_type(model, column)}'
    return f'd."{column}"'


@cache
def _combine(parts: tuple[tuple[str, str, str, int], ...], result_of: str) -> str:
    first = 0
    texts = []
    for name, sql, _, count in parts:
        shifted = _shift(sql, first)
        texts.append(f"{name} AS ({shifted})")
        first += count
    results = [result_of.format(result=each, name=name) for name, _, each, _ in parts if each]
    return f"WITH {', '.join(texts)} SELECT {', '.join(results) or '1'}"


def _shift(sql: str, by: int) -> str:
    return _PARAMETER.sub(lambda match: f"${int(match[1]) + by}", sql)
