"""Arrays of integers and plain data as few bytes: the format of the ledger's `columns`.

zstandard over MessagePack. An array whose entries are all equal is one number; every other one
is kept in the narrowest integer type that holds it, little-endian.

What all decisions have in common (names of keys, plugins, reasons) is in a dictionary: a file
beside this one, trained on upstream's workloads at 20 and 100 nodes. A blob names its dictionary's
number, so the file must stay as it is for as long as there are blobs; a better one gets a number of
its own.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

#: Fast, and within a few percent of the densest level for columns of small integers.
_LEVEL = 3
#: Number of the dictionary that new blobs are made with; 0 stands for none.
_DICTIONARY = 32769
_NARROW = tuple(np.dtype(code) for code in ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<i8"))


def encode(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """One blob of plain data (what MessagePack can say) and one-dimensional integer arrays."""
    packed = {name: _pack(array) for name, array in arrays.items()}
    return _contexts.compressor.compress(msgspec.msgpack.encode([plain, packed]))


def decode(blob: bytes) -> tuple[dict[str, Any], dict[str, NDArray[np.int64]]]:
    """The inverse of `encode`; arrays come back as int64."""
    number = zstandard.get_frame_parameters(blob).dict_id
    context = zstandard.ZstdDecompressor(dict_data=_dictionary(number) if number else None)
    plain, packed = msgspec.msgpack.decode(context.decompress(blob))
    return plain, {name: _unpack(item) for name, item in packed.items()}


@cache
def _dictionary(number: int) -> zstandard.ZstdCompressionDict:
    path = Path(__file__).with_name(f"columns-{number}.dict")
    found = zstandard.ZstdCompressionDict(path.read_bytes())
    if number == _DICTIONARY:
        found.precompute_compress(level=_LEVEL)
    return found


class _Contexts(threading.local):
    """A context is for one thread, and dear to make."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(dict_data=_dictionary(_DICTIONARY))


_contexts = _Contexts()


def _pack(array: NDArray[Any]) -> list[Any]:
    if not len(array):
        return [0, 0]
    lowest, highest = int(array.min()), int(array.max())
    if lowest == highest:
        return [len(array), lowest]
    narrow = next(
        dtype
        for dtype in _NARROW
        if np.iinfo(dtype).min <= lowest and highest <= np.iinfo(dtype).max
    )
    return [len(array), narrow.str, array.astype(narrow).tobytes()]


def _unpack(item: list[Any]) -> NDArray[np.int64]:
    if len(item) == 2:
        length, value = item
        return np.full(length, value, dtype=np.int64)
    _, dtype, data = item
    return np.frombuffer(data, dtype=dtype).astype(np.int64)
