"""Parameters of prepared statements in PostgreSQL's binary format: values, and arrays of them.

Text arrays would be escaped, value by value; a JSON document is parsed for each row, and its bytes
travel as base64.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from itertools import repeat
from struct import Struct
from typing import Any, Final

from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEADER = Struct("!iiiii").pack
_LENGTH = Struct("!i").pack
_INT4 = Struct("!ii").pack
_INT8 = Struct("!iq").pack
#: without the length
_PLAIN_INT4 = Struct("!i").pack
_PLAIN_INT8 = Struct("!q").pack
_NULL = _LENGTH(-1)
#: before the 16 bytes of a uuid
_UUID = _LENGTH(16)
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class BinaryArray(bytes):
    """A one-dimensional array in PostgreSQL's binary format."""


class Int4Array(BinaryArray):
    """integer[]"""


class Int8Array(BinaryArray):
    """bigint[]"""


class BoolArray(BinaryArray):
    """boolean[]"""


class TextArray(BinaryArray):
    """text[]"""


class JsonArray(TextArray):
    """text[] of JSON documents."""


class NestedArray(TextArray):
    """text[] of array literals, as unnest would flatten arrays in an array."""


class UuidArray(BinaryArray):
    """uuid[]"""


class TimeArray(BinaryArray):
    """timestamptz[]"""


class BytesArray(BinaryArray):
    """bytea[]"""


def int4s(values: Sequence[int]) -> Int4Array:
    """Raises struct.error for a number that does not fit into 32 bits."""
    return Int4Array(_header(23, len(values)) + b"".join(map(_INT4, repeat(4), values)))


def int8s(values: Sequence[int | None]) -> Int8Array:
    """None is null."""
    items = [_NULL if value is None else _INT8(8, value) for value in values]
    return Int8Array(_header(20, len(values)) + b"".join(items))


def bools(values: Sequence[bool]) -> BoolArray:
    """Truth values, none of them null."""
    items = [_pack_bytes(_encode_bool(value)) for value in values]
    return BoolArray(_header(16, len(values)) + b"".join(items))


def texts(values: Sequence[str | bytes | None]) -> TextArray:
    """The strings, in UTF-8; None is null."""
    if len(values) == 1:
        # of a pod that is alone in its batch
        (value,) = values
        return TextArray(_ONE_TEXT + (_NULL if value is None else _pack_bytes(_encode_text(value))))
    # most columns have few distinct values
    encoded = {
        value: _NULL if value is None else _pack_bytes(_encode_text(value)) for value in set(values)
    }
    return TextArray(_header(25, len(values)) + b"".join([encoded[value] for value in values]))


def documents(values: Sequence[bytes]) -> JsonArray:
    """JSON documents, as UTF-8."""
    return JsonArray(_header(25, len(values)) + _join(values))


def blobs(values: Sequence[bytes]) -> BytesArray:
    """The bytes as they are."""
    return BytesArray(_header(17, len(values)) + _join(values))


def uuids(values: Sequence[str]) -> UuidArray:
    """32 hexadecimal digits each, with or without dashes; raises ValueError for others."""
    data = b"".join([_UUID + _encode_uuid(value) for value in values])
    if len(data) != 20 * len(values):
        raise ValueError(f"not all of these are uuids: {values}")
    return UuidArray(_header(2950, len(values)) + data)


def times(values: Sequence[datetime | None]) -> TimeArray:
    """Times with a zone; None is null."""
    items = [_NULL if value is None else _pack_bytes(_encode_time(value)) for value in values]
    return TimeArray(_header(1184, len(values)) + b"".join(items))


def nested(values: Sequence[Collection[str]]) -> NestedArray:
    """An array of strings for each row."""
    return NestedArray(texts([_literal(value) if value else "{}" for value in values]))


def encoder(type_name: str) -> Callable[[Any], bytes]:
    """The function that encodes one value of a type, which is not null."""
    return _ENCODERS[type_name][0]


def array(type_name: str, values: Sequence[Any]) -> BinaryArray:
    """An array of values of a type."""
    return _ENCODERS[type_name][1](values)


def _literal(values: Collection[str]) -> str:
    quoted = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return "{" + ",".join(f'"{value}"' for value in quoted) + "}"


def _encode_bool(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def _encode_text(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _encode_time(value: datetime) -> bytes:
    return _PLAIN_INT8((value - _EPOCH) // _MICROSECOND)


def _encode_uuid(value: str) -> bytes:
    return bytes.fromhex(value.replace("-", ""))


#: Type -> (how a value of a column of this type is encoded, and how an array of them is).
_ENCODERS: Final[dict[str, tuple[Callable[[Any], bytes], Callable[[Any], BinaryArray]]]] = {
    "bool": (_encode_bool, bools),
    "int4": (_PLAIN_INT4, int4s),
    "int8": (_PLAIN_INT8, int8s),
    "text": (_encode_text, texts),
    "timestamptz": (_encode_time, times),
    "uuid": (_encode_uuid, uuids),
}


def _pack_bytes(value: bytes) -> bytes:
    return _LENGTH(len(value)) + value


def _header(element: int, length: int) -> bytes:
    # one dimension, perhaps nulls, the type of the elements, their number, numbered from 1
    return _HEADER(1, 1, element, length, 1)


#: before the one item of a text[]
_ONE_TEXT = _header(25, 1)


def _join(items: Sequence[bytes]) -> bytes:
    return b"".join(map(_pack_bytes, items))


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: BinaryArray) -> BinaryArray:
        return obj


class _Int4ArrayDumper(_ArrayDumper):
    oid = 1007


class _Int8ArrayDumper(_ArrayDumper):
    oid = 1016


class _BoolArrayDumper(_ArrayDumper):
    oid = 1000


class _TextArrayDumper(_ArrayDumper):
    oid = 1009


class _UuidArrayDumper(_ArrayDumper):
    oid = 2951


class _TimeArrayDumper(_ArrayDumper):
    oid = 1185


class _BytesArrayDumper(_ArrayDumper):
    oid = 1001


#: The dumpers that a cursor needs for these parameters.
DUMPERS: dict[type[BinaryArray], type[Dumper]] = {
    Int4Array: _Int4ArrayDumper,
    Int8Array: _Int8ArrayDumper,
    BoolArray: _BoolArrayDumper,
    TextArray: _TextArrayDumper,
    NestedArray: _TextArrayDumper,
    JsonArray: _TextArrayDumper,
    UuidArray: _UuidArrayDumper,
    TimeArray: _TimeArrayDumper,
    BytesArray: _BytesArrayDumper,
}
