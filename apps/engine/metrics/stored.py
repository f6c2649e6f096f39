"""A scheduler's metrics as one row of its cluster.

The loop runs in worker processes and Prometheus scrapes web processes. The holder of a cluster's
lease writes all series, as absolute values, in the transaction of every batch: a reader never sees
an attempt without its ledger row, and a crash neither loses nor repeats counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import zstandard
from psycopg.types.numeric import Int8

from apps.cluster.models import Cluster
from apps.cluster.prepared import Step, execute_together
from apps.engine.compression import Compressor
from apps.engine.models import SchedulerMetrics as Row
from apps.scheduler.metrics.series import MetricsRegistry, SavedValues, Values

_decoder = msgspec.msgpack.Decoder(SavedValues)
#: level 1: the row is written with every batch
_compressor = Compressor(level=1)

_WRITE = (
    "INSERT INTO controlplane_schedulermetrics (cluster_id, series) VALUES ($1, $2) "
    "ON CONFLICT (cluster_id) DO UPDATE SET series = excluded.series"
)


def write(cluster_id: int, metrics: MetricsRegistry) -> None:
    """Store all series, in the caller's transaction, which holds the cluster's lease."""
    execute_together([step(cluster_id, metrics)])


def step(cluster_id: int, metrics: MetricsRegistry) -> Step:
    """The step that stores all series."""
    series = _compressor.compress(msgspec.msgpack.encode(metrics.dump()))
    return Step("metrics", _WRITE, [Int8(cluster_id), series])


def load(cluster_id: int) -> Values:
    """The last stored series; empty for a cluster whose loop never ran."""
    row = Row.objects.filter(cluster=cluster_id).first()
    return Values() if row is None else _decode(row)


def load_all() -> Iterator[tuple[Cluster, Values]]:
    """Every cluster with its series, by name."""
    for cluster in Cluster.objects.select_related("schedulermetrics").order_by("name"):
        row = getattr(cluster, "schedulermetrics", None)
        yield cluster, Values() if row is None else _decode(row)


def _decode(row: Row) -> Values:
    return _decoder.decode(zstandard.decompress(bytes(row.series))).to_values()
