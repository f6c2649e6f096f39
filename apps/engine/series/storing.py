"""The rows of buckets: reading, adding and writing them in the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection

from apps.engine.models import SeriesBucket
from apps.engine.periods import to_datetime
from apps.engine.series import buckets, node_columns
from apps.engine.series.buckets import Bucket
from apps.engine.series.resolutions import MANY_NODES, Resolution, list_resolutions

_READ = """
    SELECT resolution, extract(epoch FROM start)::bigint, figures FROM controlplane_seriesbucket
    JOIN unnest(%s::int[], %s::timestamptz[]) AS wanted (resolution, start)
        USING (resolution, start) WHERE cluster_id = %s
"""
_WRITE = """
    INSERT INTO controlplane_seriesbucket (cluster_id, resolution, start, until, figures, nodes)
    SELECT %s, * FROM unnest(
        %s::int[], %s::timestamptz[], %s::timestamptz[], %s::bytea[], %s::bytea[])
    ON CONFLICT (cluster_id, resolution, start) DO UPDATE SET figures = excluded.figures,
        until = coalesce(excluded.until, controlplane_seriesbucket.until),
        nodes = coalesce(excluded.nodes, controlplane_seriesbucket.nodes)
"""
_RENUMBER = "UPDATE controlplane_seriesbucket SET nodes = %s WHERE id = %s"
#: Buckets that are renumbered at a time.
_AT_ONCE = 500
#: The last bucket with levels before a new one: its levels lasted until `until`.
_HOLD = """
    UPDATE controlplane_seriesbucket b SET until = %(until)s
    FROM unnest(%(resolutions)s::int[], %(starts)s::timestamptz[]) AS fresh (resolution, start)
    WHERE b.cluster_id = %(cluster)s AND b.resolution = fresh.resolution AND b.until < %(until)s
        AND b.start = (SELECT max(start) FROM controlplane_seriesbucket e
            WHERE e.cluster_id = %(cluster)s AND e.resolution = fresh.resolution
            AND e.start < fresh.start AND e.until IS NOT NULL)
"""


@dataclass(slots=True)
class Sample:
    """What one sample adds: the state at `at`, and counts by the start of the finest bucket."""

    at: datetime
    levels: Bucket
    counts: Mapping[int, Bucket]
    nodes: bytes
    number_of_nodes: int
    #: Up to this time the levels of the sample before are known to have lasted.
    held_until: datetime | None
    #: (resolution, start) -> what is added
    added: dict[tuple[int, int], Bucket] = field(default_factory=dict)


def write(cluster_id: int, sample: Sample) -> None:
    """Add a sample to the buckets of every resolution."""
    now = sample.at.timestamp()
    every = list_resolutions()
    for start, bucket in sample.counts.items():
        for resolution in every:
            if start >= now - resolution.keep:
                _plan(sample, resolution, start, bucket)
    for resolution in every:
        _plan(sample, resolution, now, sample.levels)
    current = {(each.step, each.start_of(now)) for each in every}
    _hold(cluster_id, sample, current)
    _add(cluster_id, sample, current, fine_nodes=sample.number_of_nodes <= MANY_NODES)


def renumber_nodes(cluster_id: int, new_ids: Mapping[int, int]) -> None:
    """Replace the ids of the nodes in all buckets: those of a restored cluster have new ones."""
    rows = SeriesBucket.objects.filter(cluster=cluster_id, nodes__isnull=False)
    last = 0
    while batch := list(
        rows.filter(pk__gt=last).order_by("pk").values_list("pk", "nodes")[:_AT_ONCE]
    ):
        changed = [(node_columns.renumber(bytes(nodes or b""), new_ids), pk) for pk, nodes in batch]
        with connection.cursor() as cursor:
            cursor.executemany(_RENUMBER, changed)
        last = batch[-1][0]


def _plan(sample: Sample, resolution: Resolution, moment: float, bucket: Bucket) -> None:
    key = resolution.step, resolution.start_of(moment)
    buckets.add(sample.added.setdefault(key, {}), bucket)


def _add(
    cluster_id: int, sample: Sample, current: Iterable[tuple[int, int]], *, fine_nodes: bool
) -> None:
    keys = sorted(sample.added)
    steps, starts = [step for step, _ in keys], [to_datetime(start) for _, start in keys]
    finest = min(steps)
    with connection.cursor() as cursor:
        cursor.execute(_READ, [steps, starts, cluster_id])
        stored = {(step, start): data for step, start, data in cursor.fetchall()}
        figures = []
        for key in keys:
            bucket = buckets.decode(bytes(stored[key])) if key in stored else {}
            buckets.add(bucket, sample.added[key])
            figures.append(buckets.encode(bucket))
        until = [sample.at if key in current else None for key in keys]
        nodes = [
            sample.nodes if key in current and (fine_nodes or key[0] > finest) else None
            for key in keys
        ]
        cursor.execute(_WRITE, [cluster_id, steps, starts, until, figures, nodes])


def _hold(cluster_id: int, sample: Sample, current: Iterable[tuple[int, int]]) -> None:
    if sample.held_until is None:
        return
    keys = sorted(current)
    parameters: dict[str, Any] = {
        "cluster": cluster_id,
        "until": sample.held_until,
        "resolutions": [step for step, _ in keys],
        "starts": [to_datetime(start) for _, start in keys],
    }
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, parameters)
