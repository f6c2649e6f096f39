"""Time series in memory: fast to add to, summed with NumPy, and saved as plain values.

The parts of the scheduler add to one `MetricsRegistry` in the scheduler's thread; the owner of the
scheduler saves `dump` with its other writes, and `restore`s the next scheduler from it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from itertools import islice
from time import perf_counter_ns
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.definitions import Metric

Labels = tuple[str, ...]
NANO = 1e-9
#: so many observations are added one by one: NumPy's functions take longer to start
FEW = 16
#: plugins are timed in one of so many attempts, as upstream, because there are many of them
SAMPLE = 10


class HistogramSeries(msgspec.Struct, frozen=True, array_like=True):
    """One histogram: observations per bucket (not cumulative; the last one +Inf), their sum."""

    labels: Labels
    counts: tuple[int, ...]
    sum: float


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """All series by metric name, as plain values."""

    counters: dict[str, list[tuple[Labels, float]]] = {}
    gauges: dict[str, list[tuple[Labels, float]]] = {}
    histograms: dict[str, list[HistogramSeries]] = {}


class HistogramColumns(msgspec.Struct, frozen=True, array_like=True):
    """The series of one histogram metric, as they are saved."""

    labels: list[Labels]
    #: (series, buckets + 1) int64, as in `HistogramSeries`
    counts: bytes
    #: (series,) float64
    sums: bytes

    def to_series(self) -> list[HistogramSeries]:
        counts = np.frombuffer(self.counts, dtype="<i8").reshape(len(self.labels), -1).tolist()
        sums = np.frombuffer(self.sums, dtype="<f8").tolist()
        rows = zip(self.labels, counts, sums, strict=True)
        return [HistogramSeries(labels, tuple(row), total) for labels, row, total in rows]


class SavedValues(Values, frozen=True, kw_only=True):
    """`Values` as they are saved: histograms as columns.

    `histograms` holds those that were saved before there were columns.
    """

    columns: dict[str, HistogramColumns] = {}

    def to_values(self) -> Values:
        read = {name: each.to_series() for name, each in self.columns.items()}
        return Values(
            counters=self.counters, gauges=self.gauges, histograms={**self.histograms, **read}
        )


class HistogramMark(NamedTuple):
    """The state of a histogram at some moment."""

    #: the number of series, which are in the order in which they were added
    series: int
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    observed_rows: list[int]
    observed: list[float]


class MetricsMark(NamedTuple):
    """The state of all series at some moment."""

    counters: dict[str, dict[Labels, int]]
    histograms: dict[str, HistogramMark]


class Histogram:
    """The series of one histogram metric; observations are summed when they are dumped."""

    def __init__(self, metric: Metric) -> None:
        self._bounds = np.array(metric.buckets)
        self._limits = [*metric.buckets]
        #: labels -> row of the arrays below
        self._rows: dict[Labels, int] = {}
        #: (series, buckets + 1) int64, observations in each bucket, not cumulative
        self._counts: NDArray[np.int64] = np.zeros((0, len(metric.buckets) + 1), dtype=np.int64)
        #: (series,) float64
        self._sums: NDArray[np.float64] = np.zeros(0)
        self._observed_rows: list[int] = []
        self._observed: list[float] = []
        #: the last dump, until something changes
        self._dumped: HistogramColumns | None = None

    def __bool__(self) -> bool:
        return bool(self._rows)

    def observe(self, labels: Labels, value: float) -> None:
        row = self._rows.get(labels)
        if row is None:
            row = self._rows[labels] = len(self._rows)
        self._observed_rows.append(row)
        self._observed.append(value)

    def observe_all(self, labels: Labels, values: Sequence[float]) -> None:
        self.observe(labels, values[0])
        self._observed_rows += [self._observed_rows[-1]] * (len(values) - 1)
        self._observed += values[1:]

    def dump(self) -> HistogramColumns:
        if self._dumped is None or self._observed:
            self._fold()
            counts = self._counts.astype("<i8", copy=False).tobytes()
            sums = self._sums.astype("<f8", copy=False).tobytes()
            self._dumped = HistogramColumns([*self._rows], counts, sums)
        return self._dumped

    def restore(self, series: Sequence[HistogramSeries]) -> None:
        """Continue from `series`; those whose buckets differ from the current ones are left out."""
        known = [each for each in series if len(each.counts) == len(self._bounds) + 1]
        self._rows = {each.labels: row for row, each in enumerate(known)}
        shape = len(known), len(self._bounds) + 1
        counts = [each.counts for each in known]
        self._counts = np.array(counts, dtype=np.int64).reshape(shape)
        self._sums = np.array([each.sum for each in known], dtype=np.float64)
        self._dumped = None

    def mark(self) -> HistogramMark:
        """The present state, for `take_back`."""
        observed = [*self._observed_rows], [*self._observed]
        return HistogramMark(len(self._rows), self._counts, self._sums, *observed)

    def take_back(self, before: HistogramMark, after: HistogramMark) -> None:
        """Forget what was observed between two marks; what followed them stays."""
        self._fold()
        (old_counts, old_sums), (counts, sums) = self._values_at(before), self._values_at(after)
        # new arrays: a mark may hold the present ones
        self._counts, self._sums = self._counts.copy(), self._sums.copy()
        self._counts[: len(counts)] -= counts
        self._sums[: len(sums)] -= sums
        self._counts[: len(old_counts)] += old_counts
        self._sums[: len(old_sums)] += old_sums
        self._dumped = None

    def _values_at(self, mark: HistogramMark) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        there = copy(self)
        there._rows = dict(islice(self._rows.items(), mark.series))
        there._counts, there._sums = mark.counts, mark.sums
        there._observed_rows, there._observed = mark.observed_rows, mark.observed
        there._fold()
        return there._counts, there._sums

    def _fold(self) -> None:
        width = len(self._bounds) + 1
        new = len(self._rows) - len(self._sums)
        if new:
            self._counts = np.vstack((self._counts, np.zeros((new, width), dtype=np.int64)))
            self._sums = np.concatenate((self._sums, np.zeros(new)))
        if len(self._observed) <= FEW:
            self._add_few()
        else:
            self._add_many()
        self._observed_rows, self._observed = [], []

    def _add_few(self) -> None:
        if not self._observed:
            return
        # new arrays: a mark may hold the present ones
        self._counts, self._sums = self._counts.copy(), self._sums.copy()
        sums: dict[int, float] = {}
        for row, value in zip(self._observed_rows, self._observed, strict=True):
            self._counts[row, bisect_left(self._limits, value)] += 1
            sums[row] = sums.get(row, 0.0) + value
        for row, added in sums.items():
            self._sums[row] += added

    def _add_many(self) -> None:
        width = len(self._limits) + 1
        rows, values = np.array(self._observed_rows), np.array(self._observed)
        # A bucket counts what is less than or equal to its bound.
        places = rows * width + np.searchsorted(self._bounds, values, side="left")
        # new arrays: a mark may hold the present ones
        added = np.bincount(places, minlength=self._counts.size).reshape(-1, width)
        self._counts = self._counts + added
        self._sums = self._sums + np.bincount(rows, weights=values, minlength=len(self._sums))


class MetricsRegistry:
    """All series of one scheduler."""

    def __init__(self) -> None:
        self._counters: dict[str, Counter[Labels]] = {}
        self._histograms: dict[str, Histogram] = {}
        self._gauges: dict[str, dict[Labels, float]] = {}
        for metric in definitions.ALL:
            if metric.kind == "counter":
                self._counters[metric.name] = Counter()
            elif metric.kind == "histogram":
                self._histograms[metric.name] = Histogram(metric)
        self._turn = 0
        #: whether anything was added since the last `dump`
        self.is_dirty = False

    def is_sampled(self) -> bool:
        """True for the first of every `SAMPLE` calls, for what is only measured in samples."""
        self._turn = (self._turn + 1) % SAMPLE
        return self._turn == 1

    def count(self, metric: Metric, labels: Labels = (), amount: int = 1) -> None:
        self._counters[metric.name][labels] += amount
        self.is_dirty = True

    def observe(self, metric: Metric, labels: Labels, value: float) -> None:
        """`value` in the metric's unit: seconds, or a count."""
        self._histograms[metric.name].observe(labels, value)
        self.is_dirty = True

    def observe_all(self, metric: Metric, labels: Labels, values: Sequence[float]) -> None:
        """`observe` for each of these values, of which there is at least one."""
        self._histograms[metric.name].observe_all(labels, values)
        self.is_dirty = True

    def observe_since(self, metric: Metric, labels: Labels, start: int) -> None:
        """`start` is a value of `perf_counter_ns`."""
        self.observe(metric, labels, (perf_counter_ns() - start) * NANO)

    def set(self, metric: Metric, values: Mapping[Labels, float]) -> None:
        """Set the current values of a gauge; labels that are not in `values` are removed."""
        if self._gauges.get(metric.name) != values:
            self._gauges[metric.name] = dict(values)
            self.is_dirty = True

    def dump(self) -> SavedValues:
        self.is_dirty = False
        counters, gauges = self._counters.items(), self._gauges.items()
        return SavedValues(
            counters={name: [*series.items()] for name, series in counters if series},
            gauges={name: [*series.items()] for name, series in gauges if series},
            columns={name: each.dump() for name, each in self._histograms.items() if each},
        )

    def mark(self) -> MetricsMark:
        """The present counters and histograms, for `take_back`."""
        counters = {name: dict(series) for name, series in self._counters.items() if series}
        histograms = {name: each.mark() for name, each in self._histograms.items()}
        return MetricsMark(counters, histograms)

    def take_back(self, before: MetricsMark, after: MetricsMark) -> None:
        """Forget what was counted and observed between two marks; what followed them stays."""
        for name, counted in after.counters.items():
            # without the zeros
            self._counters[name] -= Counter(counted) - Counter(before.counters.get(name, {}))
        for name, histogram in after.histograms.items():
            self._histograms[name].take_back(before.histograms[name], histogram)
        self.is_dirty = True

    def restore(self, values: Values) -> None:
        """Continue from the dump of another scheduler of this cluster."""
        for name, counters in self._counters.items():
            counters.update({tuple(labels): int(n) for labels, n in values.counters.get(name, [])})
        for name, histogram in self._histograms.items():
            histogram.restore(values.histograms.get(name, []))
