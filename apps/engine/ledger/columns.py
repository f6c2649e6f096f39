"""Packing of integer arrays, and compression of rows, into few bytes.

An array with equal entries is stored as one number, every other one in the narrowest integer type
that holds it, little-endian. The compressed data is MessagePack: see `codec`.

Text that decisions share (plugin names, reasons) is in a dictionary: a file beside this one,
trained on upstream's workloads at 20 and 100 nodes. A blob has the number of its dictionary, so
these files must not change while blobs exist; a new dictionary gets a new number. 32769 belongs
to the first format.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import zstandard
from numpy.typing import NDArray

from apps.engine.compression import Compressor

#: Fast, and within a few percent of the densest level for columns of small integers.
_LEVEL = 3
#: Number of the dictionary that new blobs are compressed with; 0 stands for none.
_DICTIONARY = 32770
#: Integer types with their smallest and greatest values, the narrowest first.
_NARROW = tuple(
    (int(np.iinfo(code).min), int(np.iinfo(code).max), np.dtype(code), np.dtype(code).str)
    for code in ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<i8")
)

#: Fewer values than this are entered one by one: lists are converted to arrays otherwise.
_FEW = 8

T = TypeVar("T", bound=np.integer[Any])


def compress(data: bytes) -> bytes:
    """The bytes as a zstandard frame that names its dictionary."""
    return _compressor.compress(data)


def decompress(blob: bytes) -> bytes:
    """The inverse of `compress`, with the dictionary that the frame names."""
    number = zstandard.get_frame_parameters(blob).dict_id
    context = zstandard.ZstdDecompressor(dict_data=_dictionary(number) if number else None)
    return context.decompress(blob)


def pack(array: NDArray[Any]) -> list[Any]:
    """A one-dimensional integer array as values that MessagePack can encode."""
    if not len(array):
        return [0, 0]
    lowest, highest = int(np.minimum.reduce(array)), int(np.maximum.reduce(array))
    if lowest == highest:
        return [len(array), lowest]
    _, _, dtype, name = _find_narrow(lowest, highest)
    return [len(array), name, array.astype(dtype).tobytes()]


class NarrowColumn:
    """An integer array in the narrowest type that holds it, to be packed as it changes."""

    __slots__ = ("_array", "_greatest", "_least", "_name", "fits")

    def __init__(self, array: NDArray[Any]) -> None:
        """``array``: (n,), n > 0."""
        lowest, highest = int(np.minimum.reduce(array)), int(np.maximum.reduce(array))
        self._least, self._greatest, dtype, self._name = _find_narrow(lowest, highest)
        self._array = array.astype(dtype)
        #: whether the type holds all values that were entered; nothing can be packed otherwise
        self.fits = True

    def enter(self, places: list[int], values: list[int]) -> None:
        """Change the array; of several values for one place the last one stays."""
        self.fits = self.fits and self._least <= min(values) and max(values) <= self._greatest
        if not self.fits:
            return
        if len(values) < _FEW:
            for place, value in zip(places, values, strict=True):
                self._array[place] = value
        else:
            self._array[places] = values

    def pack(self, inside: NDArray[np.bool_] | None) -> list[Any]:
        """What `unpack` takes for the entries ``inside``, (n,) bool; None stands for all."""
        column = self._array if inside is None else self._array[inside]
        return [len(column), self._name, column.tobytes()]


def _find_narrow(lowest: int, highest: int) -> tuple[int, int, np.dtype[Any], str]:
    for narrow in _NARROW:
        if narrow[0] <= lowest and highest <= narrow[1]:
            return narrow
    raise OverflowError(f"{highest} does not fit into 64 bits with a sign")


def unpack(item: list[Any], dtype: type[T]) -> NDArray[T]:
    """The inverse of `pack`, as an array of `dtype`."""
    if len(item) == 2:
        length, value = item
        return np.full(length, value, dtype=dtype)
    _, narrow, data = item
    return np.frombuffer(data, dtype=narrow).astype(dtype)


@cache
def _dictionary(number: int) -> zstandard.ZstdCompressionDict:
    path = Path(__file__).with_name(f"columns-{number}.dict")
    dictionary = zstandard.ZstdCompressionDict(path.read_bytes())
    if number == _DICTIONARY:
        dictionary.precompute_compress(level=_LEVEL)
    return dictionary


_compressor = Compressor(dictionary=_dictionary(_DICTIONARY))
