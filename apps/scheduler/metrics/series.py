"""Time series in memory: cheap to add to, folded with NumPy, and plain values for safekeeping.

The parts of the scheduler add to one `MetricsRegistry` in its own thread; whoever runs the
scheduler takes `dump` whenever it writes, and `restore`s the next scheduler with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from time import perf_counter_ns

import msgspec
import numpy as np
from numpy.typing import NDArray

from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.definitions import Metric

Labels = tuple[str, ...]
NANO = 1e-9
#: plugins are timed in one attempt of so many, as upstream does, for there are many of them
SAMPLE = 10


class HistogramSeries(msgspec.Struct, frozen=True, array_like=True):
    """One histogram: observations per bucket (not cumulated; the last one +Inf), their sum."""

    labels: Labels
    counts: tuple[int, ...]
    sum: float


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """All series by metric name, as plain values."""

    counters: dict[str, list[tuple[Labels, float]]] = {}
    gauges: dict[str, list[tuple[Labels, float]]] = {}
    histograms: dict[str, list[HistogramSeries]] = {}


class Histogram:
    """The series of one histogram metric; observations wait in lists until they are folded."""

    def __init__(self, metric: Metric) -> None:
        self._bounds = np.array(metric.buckets)
        #: labels -> row of the arrays below
        self._rows: dict[Labels, int] = {}
        #: (series, buckets + 1) int64, observations in each bucket alone
        self._counts: NDArray[np.int64] = np.zeros((0, len(metric.buckets) + 1), dtype=np.int64)
        #: (series,) float64
        self._sums: NDArray[np.float64] = np.zeros(0)
        self._observed_rows: list[int] = []
        self._observed: list[float] = []

    def observe(self, labels: Labels, value: float) -> None:
        row = self._rows.get(labels)
        if row is None:
            row = self._rows[labels] = len(self._rows)
        self._observed_rows.append(row)
        self._observed.append(value)

    def dump(self) -> list[HistogramSeries]:
        self._fold()
        rows = zip(self._rows, self._counts.tolist(), self._sums.tolist(), strict=True)
        return [HistogramSeries(labels, tuple(counts), total) for labels, counts, total in rows]

    def restore(self, series: Sequence[HistogramSeries]) -> None:
        """Go on from `series`; such as have other buckets than today's are left out."""
        known = [each for each in series if len(each.counts) == len(self._bounds) + 1]
        self._rows = {each.labels: row for row, each in enumerate(known)}
        shape = len(known), len(self._bounds) + 1
        counts = [each.counts for each in known]
        self._counts = np.array(counts, dtype=np.int64).reshape(shape)
        self._sums = np.array([each.sum for each in known], dtype=np.float64)

    def _fold(self) -> None:
        width = len(self._bounds) + 1
        new = len(self._rows) - len(self._sums)
        if new:
            self._counts = np.vstack((self._counts, np.zeros((new, width), dtype=np.int64)))
            self._sums = np.concatenate((self._sums, np.zeros(new)))
        if not self._observed:
            return
        rows, values = np.array(self._observed_rows), np.array(self._observed)
        # a bucket holds what is less than or equal to its bound
        places = rows * width + np.searchsorted(self._bounds, values, side="left")
        self._counts += np.bincount(places, minlength=self._counts.size).reshape(-1, width)
        self._sums += np.bincount(rows, weights=values, minlength=len(self._sums))
        self._observed_rows, self._observed = [], []


class MetricsRegistry:
    """Every series of one scheduler that is counted as things happen."""

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
        """True for the first of every `SAMPLE` calls: what is only measured now and then."""
        self._turn = (self._turn + 1) % SAMPLE
        return self._turn == 1

    def count(self, metric: Metric, labels: Labels = (), amount: int = 1) -> None:
        self._counters[metric.name][labels] += amount
        self.is_dirty = True

    def observe(self, metric: Metric, labels: Labels, value: float) -> None:
        """`value` in the metric's unit: seconds, or a number of things."""
        self._histograms[metric.name].observe(labels, value)
        self.is_dirty = True

    def observe_since(self, metric: Metric, labels: Labels, start: int) -> None:
        """`start` as `perf_counter_ns` gave it."""
        self.observe(metric, labels, (perf_counter_ns() - start) * NANO)

    def set(self, metric: Metric, values: Mapping[Labels, float]) -> None:
        """How things stand now; labels that are not among `values` are forgotten."""
        if self._gauges.get(metric.name) != values:
            self._gauges[metric.name] = dict(values)
            self.is_dirty = True

    def dump(self) -> Values:
        self.is_dirty = False
        return Values(
            counters={name: [*series.items()] for name, series in self._counters.items() if series},
            gauges={name: [*series.items()] for name, series in self._gauges.items() if series},
            histograms={
                name: series
                for name, histogram in self._histograms.items()
                if (series := histogram.dump())
            },
        )

    def restore(self, values: Values) -> None:
        """Go on counting from what another scheduler of this cluster dumped."""
        for name, counters in self._counters.items():
            counters.update({tuple(labels): int(n) for labels, n in values.counters.get(name, [])})
        for name, histogram in self._histograms.items():
            histogram.restore(values.histograms.get(name, []))
