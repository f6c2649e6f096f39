"""Set-at-a-time SQL for the tables of kinds: one statement inserts or updates any number of rows.

Rows travel as one array per column (`unnest`), which costs one round trip for one row and for
ten thousand alike. Bodies go in and come out as JSON text through msgspec.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.backends.utils import CursorWrapper

Body = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]


def dump_json(value: Any) -> str:
    """JSON text of plain data, for a jsonb column."""
    return msgspec.json.encode(value).decode()


def load_json(text: str) -> Any:
    """Plain data from a jsonb column selected as text."""
    return msgspec.json.decode(text)


def insert_rows(cursor: CursorWrapper, model: type[models.Model], rows: Rows) -> list[int]:
    """Insert rows given by column name and return their ids in order."""
    if not rows:
        return []
    columns = tuple(rows[0])
    cursor.execute(_insert_statement(model, columns), _arrays(model, columns, rows))
    return sorted(row[0] for row in cursor.fetchall())


def update_rows(cursor: CursorWrapper, model: type[models.Model], rows: Rows) -> None:
    """Update rows given by column name; each has its `id`."""
    if rows:
        columns = tuple(rows[0])
        cursor.execute(_update_statement(model, columns), _arrays(model, columns, rows))


def delete_rows(cursor: CursorWrapper, model: type[models.Model], ids: Iterable[int]) -> None:
    """Delete rows by id."""
    cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE id = ANY(%s)", [list(ids)])


@cache
def _insert_statement(model: type[models.Model], columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    # ordered, so that ids rise in the order the rows were given
    return (
        f"INSERT INTO {model._meta.db_table} ({names}) SELECT {_casts(model, columns)} "
        f"FROM unnest({_parameters(model, columns)}) WITH ORDINALITY AS d({names}, ord) "
        "ORDER BY ord RETURNING id"
    )


@cache
def _update_statement(model: type[models.Model], columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    changed = tuple(column for column in columns if column != "id")
    assignments = ", ".join(f'"{column}" = {_cast(model, column)}' for column in changed)
    return (
        f"UPDATE {model._meta.db_table} AS t SET {assignments} "
        f"FROM unnest({_parameters(model, columns)}) AS d({names}) WHERE t.id = d.id"
    )


def _arrays(model: type[models.Model], columns: Sequence[str], rows: Rows) -> list[list[Any]]:
    arrays = []
    for column in columns:
        values = [row[column] for row in rows]
        if _travels_as_json(model, column):
            values = [dump_json(value) for value in values]
        arrays.append(values)
    return arrays


def _travels_as_json(model: type[models.Model], column: str) -> bool:
    """An array goes as JSON too, since unnest would flatten an array of arrays."""
    return isinstance(_field(model, column), models.JSONField | ArrayField)


@cache
def _field(model: type[models.Model], column: str) -> models.Field[Any, Any]:
    return next(field for field in model._meta.concrete_fields if field.column == column)


def _array_type(model: type[models.Model], column: str) -> str:
    if _travels_as_json(model, column):
        return "text"
    return str(_field(model, column).rel_db_type(connection))


def _parameters(model: type[models.Model], columns: Sequence[str]) -> str:
    return ", ".join(f"%s::{_array_type(model, column)}[]" for column in columns)


def _cast(model: type[models.Model], column: str) -> str:
    field = _field(model, column)
    if isinstance(field, ArrayField):
        items = f'jsonb_array_elements_text(d."{column}"::jsonb)'
        return f"ARRAY(SELECT {items})::{field.rel_db_type(connection)}"
    return f'd."{column}"::jsonb' if isinstance(field, models.JSONField) else f'd."{column}"'


def _casts(model: type[models.Model], columns: Sequence[str]) -> str:
    return ", ".join(_cast(model, column) for column in columns)
