"""Packing and compression of the ledger's columns."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest
import zstandard

from apps.engine.ledger import columns


@pytest.mark.parametrize(
    "values",
    [[], [7], [5, 5, 5], [0, 255], [-1, 1], [0, 70_000], [-(2**62), 2**62], list(range(5000))],
)
def test_a_packed_array_comes_back(values: list[int]) -> None:
    packed = msgspec.msgpack.encode(columns.pack(np.array(values, dtype=np.int64)))
    again = columns.unpack(msgspec.msgpack.decode(packed), np.int64)
    assert again.tolist() == values
    assert again.dtype == np.int64


def test_blobs_without_a_dictionary_are_read() -> None:
    assert columns.decompress(zstandard.compress(b"of the first rows")) == b"of the first rows"


def test_threads_compress_at_the_same_time() -> None:
    def round_trip(number: int) -> int:
        return len(columns.decompress(columns.compress(bytes(number))))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(round_trip, range(200))) == list(range(200))


@pytest.mark.parametrize(
    ("number", "digest"),
    [
        (32769, "2634774a439b4078304a88426ebf2b063803dd03dd88fb36d61ff15aa03bc68c"),
        (32770, "39480faea796677d92e2c234fe1ffd204bb9a6c62cab0aaf63c13a2e62161df1"),
    ],
)
def test_a_dictionary_stays_as_it_is(number: int, digest: str) -> None:
    """Blobs that were compressed with it cannot be read with any other."""
    content = Path(columns.__file__).with_name(f"columns-{number}.dict").read_bytes()
    assert hashlib.sha256(content).hexdigest() == digest
