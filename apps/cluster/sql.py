"""Set-at-a-time SQL for the tables of kinds: one statement inserts or updates any number of rows.

Rows are sent as one JSON document: one round trip for any number of rows, encoded and decoded in C
on both sides. Bodies come out as JSON text through msgspec.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, Self

import msgspec
import psycopg
from django.db import connection, models
from django.db.backends.utils import CursorWrapper

Body = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

#: Rows of a stream that are received at once.
_ROWS_AT_ONCE: Final = 64


def column_type(model: type[models.Model], column: str) -> str:
    """The type of a column in the database; raises StopIteration if the model has none."""
    return str(_field(model, column).rel_db_type(connection))


def load_json(text: str) -> Any:
    """Plain data from a jsonb column selected as text."""
    return msgspec.json.decode(text)


def preparing_cursor() -> CursorWrapper:
    """A cursor on Django's connection, whose statements the server parses once.

    Their parameters are not part of their text.
    """
    return connection._prepare_cursor(_PreparingCursor(preparing_connection()))  # type: ignore[attr-defined,no-any-return]


def preparing_connection() -> psycopg.Connection[Any]:
    """The connection of this thread, which prepares statements that ask for it."""
    connection.ensure_connection()
    database: psycopg.Connection[Any] | None = connection.connection
    assert database is not None
    if database.prepare_threshold is None:
        # only what asks for it is prepared: the statements of other cursors hold their values
        database.prepare_threshold = sys.maxsize
    return database


class _PreparingCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        return super().execute(query, params, prepare=True, **options)


def stream_rows(statement: str, parameters: Any) -> Generator[tuple[Any, ...], None, None]:
    """The rows of a query, received while they are read: the process holds only a few at a time.

    Until the iterator is at its end or closed, the thread can run no other query.
    """
    with connection.cursor() as cursor, connection.wrap_database_errors:
        yield from cursor.stream(statement, parameters, size=_ROWS_AT_ONCE)


def insert_rows(cursor: CursorWrapper, model: type[models.Model], rows: Rows) -> list[int]:
    """Insert rows given by column name and return their ids in order."""
    if not rows:
        return []
    cursor.execute(_insert_statement(model, tuple(rows[0])), [_document(rows)])
    return sorted(row[0] for row in cursor.fetchall())


def update_rows(cursor: CursorWrapper, model: type[models.Model], rows: Rows) -> None:
    """Update rows given by column name; each has its `id`."""
    if rows:
        cursor.execute(_update_statement(model, tuple(rows[0])), [_document(rows)])


def delete_rows(cursor: CursorWrapper, model: type[models.Model], ids: Iterable[int]) -> None:
    """Delete rows by id."""
    cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE id = ANY(%s)", [list(ids)])


def _document(rows: Rows) -> str:
    return msgspec.json.encode(rows).decode()


@cache
def _insert_statement(model: type[models.Model], columns: tuple[str, ...]) -> str:
    # ordered, so that ids increase in the order of the rows
    return (
        f"INSERT INTO {model._meta.db_table} ({_names(columns)}) "
        f"SELECT {', '.join(_value(model, column) for column in columns)} "
        f"FROM ROWS FROM (json_to_recordset(%s::json) AS ({_types(model, columns)})) "
        f"WITH ORDINALITY AS d({_names(columns)}, ord) ORDER BY ord RETURNING id"
    )


@cache
def _update_statement(model: type[models.Model], columns: tuple[str, ...]) -> str:
    assignments = ", ".join(
        f'"{column}" = {_value(model, column)}' for column in columns if column != "id"
    )
    return (
        f"UPDATE {model._meta.db_table} AS t SET {assignments} "
        f"FROM json_to_recordset(%s::json) AS d({_types(model, columns)}) WHERE t.id = d.id"
    )


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _types(model: type[models.Model], columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}" {_type(model, column)}' for column in columns)


def _type(model: type[models.Model], column: str) -> str:
    # bytes are base64 in JSON
    return "text" if _is_binary(_field(model, column)) else column_type(model, column)


def _value(model: type[models.Model], column: str) -> str:
    binary = _is_binary(_field(model, column))
    return f"decode(d.\"{column}\", 'base64')" if binary else f'd."{column}"'


def _is_binary(field: models.Field[Any, Any]) -> bool:
    return isinstance(field, models.BinaryField)


@cache
def _field(model: type[models.Model], column: str) -> models.Field[Any, Any]:
    return next(field for field in model._meta.concrete_fields if field.column == column)
