"""How much a bundle holds, before it is built: few bytes can stand for many values.

An empty list takes a byte of MessagePack and seventy of memory, a packed array a few bytes for any
length, and a table names the value of a column once for all its objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.limits import Limit
from apps.engine.ledger.codec import StoredDecision
from apps.studies.bundles.tables import Table, places_of

#: code of MessagePack -> bytes that follow it
_FIXED: Final = (
    dict.fromkeys((*range(0x80), *range(0xE0, 0x100), 0xC0, 0xC1, 0xC2, 0xC3), 0)
    | {0xA0 + length: length for length in range(32)}
    | {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
    | {0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
)
#: code -> (bytes of the length that follows, bytes besides those that it counts)
_BYTES: Final = {
    **{0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)},
    **{0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)},
}
#: code of a list or a map -> (bytes of the length that follows, values for each of its entries)
_NESTED: Final = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def check_packed(data: bytes) -> None:
    """Raise BadRequest if MessagePack names more values than a bundle may have.

    Data that ends too early is left to the decoder.
    """
    position, unread, named = 0, 1, 1
    while unread and position < len(data):
        code = data[position]
        position, unread = position + 1, unread - 1
        if (length := _FIXED.get(code)) is not None:
            position += length
        elif code in _BYTES:
            width, more = _BYTES[code]
            position += width + more + _number(data, position, width)
        else:
            entries, width = _entries(data, code, position)
            position += width
            unread, named = unread + entries, named + entries
            _check(limits.BUNDLE_VALUES, named)


def _entries(data: bytes, code: int, position: int) -> tuple[int, int]:
    """The values in a list or a map, and the bytes of their number."""
    if code in _NESTED:
        width, each = _NESTED[code]
        return each * _number(data, position, width), width
    return (code & 0x0F) * (2 if code < 0x90 else 1), 0


def _number(data: bytes, position: int, width: int) -> int:
    return int.from_bytes(data[position : position + width])


def check_columns(data: bytes) -> None:
    """The same for the columns of a ledger's row, with the entries of their arrays.

    Raises MsgspecError for what are no columns of the layout that bundles have.
    """
    check_packed(data)
    entries = 0

    def measure(_: type, item: Any) -> NDArray[Any]:
        nonlocal entries
        length = item[0] if len(item) == 2 else len(item[-1])
        entries += length
        # takes no memory
        return np.broadcast_to(np.int64(0), length)

    stored = msgspec.msgpack.decode(data, type=StoredDecision, dec_hook=measure)
    if (combined := stored.combinations) is not None:
        entries += len(combined.places) * len(combined.numbers)
    _check(limits.BUNDLE_FIELDS, entries)


def check_tables(tables: Iterable[Table]) -> None:
    """Raise BadRequest if tables have more objects, or more in them, than a bundle may have."""
    objects = fields = values = 0
    for table in tables:
        objects += table.length
        fields += table.length * len(table.paths)
        _check(limits.BUNDLE_OBJECTS, objects)
        _check(limits.BUNDLE_FIELDS, fields)
        values += _count(table)
        _check(limits.BUNDLE_FIELDS, values)


def _count(table: Table) -> int:
    """The values of all objects of a table, each as often as it occurs."""
    total = 0
    for path, values, packed in zip(table.paths, table.values, table.places, strict=True):
        sizes = [0, *(len(path) + _size(cell) for cell in values)]
        places = places_of(packed, table.length, len(values))
        total += int(np.array(sizes, dtype=np.int64)[places].sum())
    return total


def _size(value: Any) -> int:
    """The values in a value, itself included."""
    stack, size = [value], 0
    while stack:
        each = stack.pop()
        size += 1
        if isinstance(each, dict):
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)
    return size


def _check(limit: Limit, amount: int) -> None:
    if not limit.admits(amount):
        raise BadRequest(f"bundle: it has more than {limit.highest:,} {limit.of}")
