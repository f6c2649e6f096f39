"""The contents of a bucket, and how samples are added to it.

A bucket has a part for the cluster, and one for each namespace and profile. Adding the same state
twice changes nothing, and adding counts to a bucket of every resolution replaces a roll-up job: no
count can be rolled up twice or be forgotten.
"""

from __future__ import annotations

from collections import Counter

import msgspec
import zstandard

from apps.controlplane.series.quantiles import Histogram

#: The name of the cluster's own part. Others are "namespace/…" and "profile/…".
CLUSTER = ""


class Part(msgspec.Struct, array_like=True):
    """The figures of one scope in one bucket."""

    #: State at the last sample; `merge_level` has the exceptions.
    levels: dict[str, float] = {}
    #: What happened in the bucket.
    counts: dict[str, float] = {}
    #: Observations in the bucket by index of the bound: `quantiles`.
    histograms: dict[str, Histogram] = {}

    def count(self, name: str, amount: float) -> None:
        self.counts[name] = self.counts.get(name, 0) + amount

    def observe(self, name: str, histogram: Histogram) -> None:
        own = Counter(self.histograms.get(name, {}))
        own.update(histogram)
        self.histograms[name] = dict(own)

    def add(self, other: Part) -> None:
        """Add a later sample."""
        for name, value in other.levels.items():
            before = self.levels.get(name)
            self.levels[name] = value if before is None else merge_level(name, before, value)
        for name, value in other.counts.items():
            self.count(name, value)
        for name, histogram in other.histograms.items():
            self.observe(name, histogram)


#: name of the part -> its figures
Bucket = dict[str, Part]

_decoder = msgspec.msgpack.Decoder(Bucket)
_compressor = zstandard.ZstdCompressor(level=6)


def merge_level(name: str, before: float, now: float) -> float:
    """The level of a bucket: peaks of queues and of the fullest node survive, else the last one."""
    if name.startswith("queue.") or name.endswith(".highest"):
        return max(before, now)
    return min(before, now) if name.endswith(".lowest") else now


def part_of(bucket: Bucket, name: str) -> Part:
    """The part with this name, which is added if it is missing."""
    return bucket.setdefault(name, Part())


def add(bucket: Bucket, sample: Bucket) -> None:
    """Add a later sample to a bucket."""
    for name, part in sample.items():
        part_of(bucket, name).add(part)


def encode(bucket: Bucket) -> bytes:
    return _compressor.compress(msgspec.msgpack.encode(bucket))


def decode(data: bytes) -> Bucket:
    return _decoder.decode(zstandard.decompress(data))
