"""Series as `prometheus_client`'s families."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.utils import INF

from apps.engine.metrics.waiting import Gauges
from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.definitions import Metric
from apps.scheduler.metrics.series import HistogramSeries, Labels, Values


class Families:
    """One family for each metric of kube-scheduler, with the series of one or more clusters.

    `names` are labels that precede the labels of each series.
    """

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self._names = names
        self._families = {metric.name: self._family(metric) for metric in definitions.ALL}

    def add(self, values: Values, gauges: Gauges, labels: Labels = ()) -> None:
        """Add a cluster's series; `labels` are its values of `names`."""
        for metric in definitions.ALL:
            family = self._families[metric.name]
            if isinstance(family, HistogramMetricFamily):
                series = values.histograms.get(metric.name) or _unlabelled_zero(metric)
                _add_histograms(family, metric, series, labels)
                continue
            # counters without labels start at zero; unobserved label values have no series
            zero: list[tuple[Labels, float]] = [] if metric.labels else [((), 0)]
            kept = values.counters if metric.kind == "counter" else values.gauges
            measured = gauges.get(metric.name) or kept.get(metric.name) or zero
            for own, value in sorted(measured):
                family.add_metric((*labels, *own), value)

    def collect(self) -> Iterable[Family]:
        return self._families.values()

    def _family(
        self, metric: Metric
    ) -> CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily:
        kinds = {
            "counter": CounterMetricFamily,
            "gauge": GaugeMetricFamily,
            "histogram": HistogramMetricFamily,
        }
        family: CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
        # as upstream, the help starts with the stability
        described = f"[{metric.stability}] {metric.help}"
        family = kinds[metric.kind](metric.name, described, labels=(*self._names, *metric.labels))
        return family


def _add_histograms(
    family: HistogramMetricFamily,
    metric: Metric,
    series: Iterable[HistogramSeries],
    labels: Labels,
) -> None:
    bounds = [_bound(bound) for bound in (*metric.buckets, INF)]
    for one in sorted(series, key=lambda one: one.labels):
        buckets = zip(bounds, accumulate(one.counts), strict=True)
        family.add_metric((*labels, *one.labels), [*buckets], sum_value=one.sum)


def _unlabelled_zero(metric: Metric) -> list[HistogramSeries]:
    zeros = (0,) * (len(metric.buckets) + 1)
    return [] if metric.labels else [HistogramSeries((), zeros, 0.0)]


def _bound(bound: float) -> str:
    """The bound as Go formats it, so that the label `le` equals upstream's."""
    return "+Inf" if bound == INF else repr(bound).removesuffix(".0")
