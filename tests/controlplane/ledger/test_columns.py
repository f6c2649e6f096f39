"""The format of the ledger's columns."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import zstandard

from apps.controlplane.ledger import columns


@pytest.mark.parametrize(
    "values",
    [[], [7], [5, 5, 5], [0, 255], [-1, 1], [0, 70_000], [-(2**62), 2**62], list(range(5000))],
)
def test_what_is_kept_comes_back(values: list[int]) -> None:
    plain: dict[str, Any] = {"node": "n", "none": None, "list": [1, [2, "x"]]}
    blob = columns.encode(plain, {"a": np.array(values, dtype=np.int64)})
    again, arrays = columns.decode(blob)
    assert again == plain
    assert arrays["a"].tolist() == values


def test_blobs_of_before_the_dictionary_are_read() -> None:
    old = zstandard.compress(msgspec.msgpack.encode([{"node": "n"}, {"a": [3, 1]}]))
    plain, arrays = columns.decode(old)
    assert (plain, arrays["a"].tolist()) == ({"node": "n"}, [1, 1, 1])


def test_threads_encode_at_the_same_time() -> None:
    def round_trip(number: int) -> int:
        blob = columns.encode({"n": number}, {"a": np.arange(number)})
        return int(columns.decode(blob)[0]["n"])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(round_trip, range(200))) == list(range(200))


def test_the_dictionary_stays_as_it_is() -> None:
    """Blobs that were written with it cannot be read with any other."""
    content = Path(columns.__file__).with_name("columns-32769.dict").read_bytes()
    assert (
        hashlib.sha256(content).hexdigest()
        == "2634774a439b4078304a88426ebf2b063803dd03dd88fb36d61ff15aa03bc68c"
    )
