"""Parameters of a statement in PostgreSQL's binary format.

The texts in an array are copied as they are: in text format each quote would be escaped and parsed
again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Any, Final

_EPOCH: Final = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
#: One dimension, whether there are nulls, the type of the items, their number, the lower bound.
_HEAD: Final = Struct("!iiiii")
_LENGTH: Final = Struct("!i")
_INT4: Final = Struct("!i")
_INT8: Final = Struct("!q")


def _text(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _time(value: datetime) -> bytes:
    return _INT8.pack((value - _EPOCH) // _MICROSECOND)


def _uuid(value: str) -> bytes:
    return bytes.fromhex(value.replace("-", ""))


def _bool(value: bool) -> bytes:
    return b"\1" if value else b"\0"


#: Type -> (its oid, the binary format of a value).
_TYPES: Final[dict[str, tuple[int, Callable[[Any], bytes]]]] = {
    "bool": (16, _bool),
    "int8": (20, _INT8.pack),
    "int4": (23, _INT4.pack),
    "text": (25, _text),
    "timestamptz": (1184, _time),
    "uuid": (2950, _uuid),
}


def encoder(type_name: str) -> Callable[[Any], bytes]:
    """The function that encodes one value of a type, which is not null."""
    return _TYPES[type_name][1]


def array(type_name: str, values: Sequence[Any]) -> bytes:
    """An array of values, none of them null."""
    oid, encode = _TYPES[type_name]
    items = [encode(value) for value in values]
    pieces = [piece for item in items for piece in (_LENGTH.pack(len(item)), item)]
    return b"".join((_HEAD.pack(1, 0, oid, len(values), 1), *pieces))
