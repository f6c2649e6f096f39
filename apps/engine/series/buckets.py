"""The contents of a bucket, and how samples are added to it.

A bucket has a part for the cluster, and one for each namespace and profile. Adding the same state
twice changes nothing, and adding counts to a bucket of every resolution replaces a roll-up job: no
count can be rolled up twice or be forgotten.
"""

from __future__ import annotations

from collections import Counter

import msgspec
import zstandard

from apps.engine.compression import Compressor
from apps.engine.series.quantiles import Histogram

#: The name of the cluster's own part. Others are "namespace/…" and "profile/…".
CLUSTER = ""
NAMESPACE = "namespace/"
#: Namespaces with levels, by number of pods. Namespaces without pods have none.
MAX_NAMESPACES = 100


class Part(msgspec.Struct, array_like=True):
    """The figures of one scope in one bucket."""

    #: State at the last sample; `merge_level` has the exceptions.
    levels: dict[str, float] = {}
    #: What happened in the bucket.
    counts: dict[str, float] = {}
    #: Observations in the bucket by index of the bound: `quantiles`.
    histograms: dict[str, Histogram] = {}
    #: State at the last sample, where it is not in `levels`.
    last: dict[str, float] = {}

    @property
    def lasting(self) -> dict[str, float]:
        """The levels at the end of the bucket, which last until the next sample."""
        return {**self.levels, **self.last}

    def count(self, name: str, amount: float) -> None:
        self.counts[name] = self.counts.get(name, 0) + amount

    def observe(self, name: str, histogram: Histogram) -> None:
        own = Counter(self.histograms.get(name, {}))
        own.update(histogram)
        self.histograms[name] = dict(own)

    def add(self, other: Part) -> None:
        """Add a later sample."""
        if other.levels:
            self._add_levels(other.levels)
        for name, value in other.counts.items():
            self.count(name, value)
        for name, histogram in other.histograms.items():
            self.observe(name, histogram)

    def _add_levels(self, now: dict[str, float]) -> None:
        """Levels that are not among those of now are no longer known."""
        before = self.levels
        self.levels = {
            name: merge_level(name, before[name], value) if name in before else value
            for name, value in now.items()
        }
        self.last = {name: value for name, value in now.items() if self.levels[name] != value}


#: name of the part -> its figures
Bucket = dict[str, Part]

_decoder = msgspec.msgpack.Decoder(Bucket)
_compressor = Compressor(level=6)


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
    if sample.get(CLUSTER, Part()).levels:
        for name in bucket.keys() - {name for name, part in sample.items() if part.levels}:
            _end(bucket[name], namespace_is_empty=name.startswith(NAMESPACE) and has_all(sample))
    for name, part in sample.items():
        part_of(bucket, name).add(part)


def _end(part: Part, *, namespace_is_empty: bool) -> None:
    """Change a part that is missing in a later sample."""
    if namespace_is_empty:
        part.add(Part(levels=dict.fromkeys(part.levels, 0.0)))
    else:
        part.levels, part.last = {}, {}


def has_all(bucket: Bucket) -> bool:
    """Whether every namespace with pods has a part with levels."""
    parts = [part for name, part in bucket.items() if name.startswith(NAMESPACE)]
    return sum(bool(part.levels) for part in parts) < MAX_NAMESPACES


def encode(bucket: Bucket) -> bytes:
    return _compressor.compress(msgspec.msgpack.encode(bucket))


def decode(data: bytes) -> Bucket:
    return _decoder.decode(zstandard.decompress(data))
