"""Objects that are alike as columns: each distinct value of a field is stored once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from apps.cluster.errors import BadRequest
from apps.engine.ledger import columns

Document = dict[str, Any]
#: An array as `ledger.columns.pack` writes it.
Packed = list[Any]

#: A stored value is [value], or this: the name of the object itself.
_OWN_NAME: Final[list[Any]] = []


class Table(msgspec.Struct, array_like=True):
    """Documents as columns. Lists are values; fields of objects are columns of their own."""

    length: int
    #: the path of each column: ["metadata", "labels", "disk"]
    paths: list[list[str]]
    #: column -> its distinct values, each in a list; an empty list is the name of the object
    values: list[list[list[Any]]]
    #: column -> for each document 0 if it lacks the field, else 1 + the position of its value;
    #: None: every document has the value at its own position
    places: list[Packed | None]


def build_table(documents: Sequence[Document]) -> Table:
    """The documents as columns; `read_table` returns equal ones."""
    by_path: dict[tuple[str, ...], dict[int, list[Any]]] = {}
    for number, document in enumerate(documents):
        name = document.get("metadata", {}).get("name")
        for path, value in _flatten(document):
            is_own = value == name and path != ("metadata", "name")
            by_path.setdefault(path, {})[number] = _OWN_NAME if is_own else [value]
    paths = sorted(by_path)
    coded = [_code(by_path[path], len(documents)) for path in paths]
    return Table(
        len(documents),
        [list(path) for path in paths],
        [values for values, _ in coded],
        [places for _, places in coded],
    )


def read_table(table: Table) -> list[Document]:
    """The documents of a table; BadRequest if its columns contradict each other.

    `sizes.check_tables` has admitted a table from a file.
    """
    documents: list[Document] = [{} for _ in range(table.length)]
    listed = zip(table.paths, table.values, table.places, strict=True)
    # names first: other columns refer to them
    for path, values, packed in sorted(listed, key=lambda each: each[0] != ["metadata", "name"]):
        places = places_of(packed, table.length, len(values))
        for document, place in zip(documents, places.tolist(), strict=True):
            if place:
                _put(document, path, values[place - 1])
    return documents


def places_of(packed: Packed | None, length: int, values: int) -> Any:
    """(length,) int64: for each object 0 or 1 + the position of its value; see `Table.places`.

    Raises BadRequest for positions outside of the values.
    """
    places = np.arange(1, length + 1) if packed is None else read_array(packed, length)
    if len(places) != length or not ((places >= 0) & (places <= values)).all():
        raise BadRequest("bundle: a table refers to values that it does not have")
    return places


def pack_array(numbers: Sequence[int]) -> Packed:
    """Whole numbers in few bytes."""
    return columns.pack(np.array(numbers, dtype=np.int64))


def read_array(packed: Packed, length: int) -> Any:
    """(length,) int64, the inverse of `pack_array`; BadRequest for another length."""
    if len(packed) < 2 or packed[0] != length:
        raise BadRequest("bundle: an array has a wrong length")
    return columns.unpack(packed, np.int64)


def _flatten(
    document: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in document.items():
        if isinstance(value, Mapping) and value:
            yield from _flatten(value, (*path, key))
        else:
            yield (*path, key), value


def _code(cells: Mapping[int, list[Any]], length: int) -> tuple[list[list[Any]], Packed | None]:
    values: dict[bytes, int] = {}
    stored: list[list[Any]] = []
    places = [0] * length
    for number, cell in cells.items():
        key = msgspec.msgpack.encode(cell)
        if key not in values:
            stored.append(cell)
            values[key] = len(stored)
        places[number] = values[key]
    if places == list(range(1, length + 1)):
        return stored, None
    return stored, pack_array(places)


def _put(document: Document, path: Sequence[str], cell: Sequence[Any]) -> None:
    value = cell[0] if cell else document["metadata"]["name"]
    if not path:
        raise BadRequest("bundle: a column of a table has no path")
    *parents, last = path
    for key in parents:
        document = document.setdefault(key, {})
        if not isinstance(document, dict):
            raise _clash(path)
    if last in document:
        raise _clash(path)
    # other columns may add fields to an empty object
    document[last] = {**value} if isinstance(value, dict) else value


def _clash(path: Sequence[str]) -> BadRequest:
    text = ".".join(path)[:100]
    return BadRequest(f"bundle: the column {text} of a table and another one give the same field")
