"""What happened in a cluster since the last sample: attempts, arrivals, durations of plugins.

Attempts and arrivals are counted from the ledger and the queue's history, in the buckets of the
times they have there, so that a late sample changes no figure. Durations come from the difference
of the scheduler's own counters, and belong to the bucket of the sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import zstandard
from django.db import connection

from apps.engine.series.buckets import CLUSTER, Bucket, part_of
from apps.engine.series.quantiles import WAIT_BOUNDS, subtract
from apps.scheduler.metrics import definitions
from apps.scheduler.metrics.series import Labels, SavedValues, Values

#: Rows of the ledger, or of the queue's history, that one sample counts at most.
AT_ONCE = 50_000

#: Groups of attempts; the waiting time is known as long as the pod exists.
_ATTEMPTS = """
    WITH fresh AS MATERIALIZED (
        SELECT id, pod_uid, namespace, name, at, scheduler_name, result,
            cardinality(victims) AS victims
        FROM controlplane_schedulingdecision WHERE cluster_id = %(cluster)s AND id > %(after)s
        ORDER BY id LIMIT %(limit)s
    )
    SELECT floor(extract(epoch FROM f.at) / %(step)s)::bigint * %(step)s, f.namespace,
        f.scheduler_name, f.result, CASE WHEN p.id IS NOT NULL THEN width_bucket(
            extract(epoch FROM f.at - p.created_at)::float8, %(bounds)s::float8[]) END,
        count(*), sum(f.victims)::bigint, count(*) FILTER (WHERE f.victims > 0), max(f.id)
    FROM fresh f LEFT JOIN cluster_pod p ON f.result = 'scheduled'
        AND p.cluster_id = %(cluster)s AND p.namespace = f.namespace AND p.name = f.name
        AND p.uid = f.pod_uid
    GROUP BY 1, 2, 3, 4, 5
"""
_ARRIVALS = """
    SELECT floor(extract(epoch FROM at) / %(step)s)::bigint * %(step)s, namespace,
        count(*) FILTER (WHERE source = ''), max(id), count(*)
    FROM (SELECT id, at, namespace, source FROM controlplane_queuemove
        WHERE cluster_id = %(cluster)s AND id > %(after)s ORDER BY id LIMIT %(limit)s) fresh
    GROUP BY 1, 2
"""

_metrics = msgspec.msgpack.Decoder(SavedValues)


@dataclass(slots=True)
class Counts:
    """Counts by the start of the finest bucket, and up to which rows they were counted."""

    buckets: dict[int, Bucket] = field(default_factory=dict)
    last_decision: int = 0
    last_move: int = 0
    #: Whether rows remain for the next sample.
    unfinished: bool = False

    def at(self, start: int) -> Bucket:
        return self.buckets.setdefault(start, {})


def read_counts(cluster_id: int, step: int, *, decision: int, move: int) -> Counts:
    """Count what was recorded after these rows of the ledger and the queue's history."""
    counts = Counts(last_decision=decision, last_move=move)
    _count_attempts(counts, cluster_id, step)
    _count_arrivals(counts, cluster_id, step)
    return counts


def add_durations(bucket: Bucket, series: bytes, baseline: bytes) -> None:
    """Add the durations of plugins and attempts that the stored metrics have beyond `baseline`."""
    if not series or series == baseline:
        return
    now, before = _decode(series), _decode(baseline) if baseline else Values()
    known = {(name, labels): counts for name, labels, counts, _ in _observed(before)}
    sums = {(name, labels): total for name, labels, _, total in _observed(before)}
    for name, labels, counts, total in _observed(now):
        fresh = subtract(counts, known.get((name, labels)))
        if not fresh:
            continue
        seconds = max(0.0, total - sums.get((name, labels), 0.0))
        if name == definitions.PLUGIN_DURATION.name:
            plugin, point, _ = labels
            part_of(bucket, CLUSTER).observe(f"plugin/{plugin}/{point}", fresh)
            part_of(bucket, CLUSTER).count(f"seconds/{plugin}/{point}", seconds)
        else:
            for part in (CLUSTER, f"profile/{labels[1]}"):
                part_of(bucket, part).observe("attempt", fresh)


def _count_attempts(counts: Counts, cluster_id: int, step: int) -> None:
    parameters = _parameters(cluster_id, counts.last_decision, step)
    parameters["bounds"] = list(WAIT_BOUNDS)
    seen = 0
    with connection.cursor() as cursor:
        cursor.execute(_ATTEMPTS, parameters)
        for row in cursor.fetchall():
            start, namespace, profile, result, wait, attempts, victims, preempting, last = row
            seen += attempts
            counts.last_decision = max(counts.last_decision, last)
            for name in (CLUSTER, f"namespace/{namespace}", f"profile/{profile}"):
                part = part_of(counts.at(start), name)
                part.count(f"attempts.{result}", attempts)
                if preempting:
                    part.count("preemptions", preempting)
                    part.count("victims", victims)
                if wait is not None:
                    part.observe("wait", {wait: attempts})
    counts.unfinished |= seen == AT_ONCE


def _count_arrivals(counts: Counts, cluster_id: int, step: int) -> None:
    seen = 0
    with connection.cursor() as cursor:
        cursor.execute(_ARRIVALS, _parameters(cluster_id, counts.last_move, step))
        for start, namespace, arrivals, last, moves in cursor.fetchall():
            seen += moves
            counts.last_move = max(counts.last_move, last)
            if arrivals:
                for name in (CLUSTER, f"namespace/{namespace}"):
                    part_of(counts.at(start), name).count("arrivals", arrivals)
    counts.unfinished |= seen == AT_ONCE


def _parameters(cluster_id: int, after: int, step: int) -> dict[str, Any]:
    return {"cluster": cluster_id, "after": after, "limit": AT_ONCE, "step": step}


def _decode(series: bytes) -> Values:
    return _metrics.decode(zstandard.decompress(series)).to_values()


def _observed(values: Values) -> Iterator[tuple[str, Labels, tuple[int, ...], float]]:
    for metric in (definitions.PLUGIN_DURATION, definitions.ATTEMPT_DURATION):
        for series in values.histograms.get(metric.name, []):
            yield metric.name, tuple(series.labels), series.counts, series.sum
