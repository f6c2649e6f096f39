"""Lists as files: CSV, JSON, JSON Lines, written batch by batch in constant memory."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.db.models import QuerySet

#: Rows that are read and written at a time.
BATCH = 1000

#: A spreadsheet computes a cell that begins with one of these, also after a tab or line break.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")

_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", re.ASCII)

Row = Mapping[str, Any]
Batches = Iterator[Sequence[Row]]


def read_batches(
    rows: QuerySet[Any, Any], *, by: str = "id", limit: int | None = None
) -> Iterator[list[Any]]:
    """Rows that are ordered by a unique column, the greatest first; each batch is one statement."""
    rest, left = rows, limit
    while batch := list(rest[: BATCH if left is None else min(BATCH, left)]):
        yield batch
        last = batch[-1]
        value = last[by] if isinstance(last, dict) else getattr(last, by)
        rest = rows.filter(**{f"{by}__lt": value})
        left = None if left is None else left - len(batch)


@dataclass(frozen=True, slots=True)
class Format:
    """A file format; `write` turns columns and batches of rows into chunks of the file."""

    name: str
    media_type: str
    write: Callable[[Sequence[str], Batches], Iterator[bytes]]


def write_csv(columns: Sequence[str], batches: Batches) -> Iterator[bytes]:
    """The first line has the names of the columns; lists and objects are JSON, times ISO 8601.

    Texts are quoted as by `format_cell`.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for batch in batches:
        writer.writerows([format_cell(row[name]) for name in columns] for row in batch)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def write_json(columns: Sequence[str], batches: Batches) -> Iterator[bytes]:
    """One array with an object for each row, a row per line."""
    separator = b"[\n"
    for batch in batches:
        for row in batch:
            yield separator + msgspec.json.encode(row)
            separator = b",\n"
    yield b"\n]\n" if separator == b",\n" else b"[]\n"


def write_json_lines(columns: Sequence[str], batches: Batches) -> Iterator[bytes]:
    """One object per line."""
    for batch in batches:
        yield msgspec.json.Encoder().encode_lines(batch)


CSV = Format("csv", "text/csv", write_csv)
JSON = Format("json", "application/json", write_json)
JSON_LINES = Format("jsonl", "application/jsonl", write_json_lines)
#: The formats of every export, by name.
FORMATS: Mapping[str, Format] = {each.name: each for each in (CSV, JSON, JSON_LINES)}


def format_cell(value: Any) -> Any:
    """The value of a cell of a CSV file; of a time, as JSON has it: `2026-11-22T09:00:00Z`.

    A text that a spreadsheet would compute as a formula has an apostrophe in front, which the
    spreadsheet shows as text. Numbers remain numbers, also negative ones.
    """
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, list | dict):
        return msgspec.json.encode(value).decode()
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS) and not _is_number(value):
        return f"'{value}"
    return value


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None
