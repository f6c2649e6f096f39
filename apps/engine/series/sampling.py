"""Samples: the state of clusters, and what happened in them since the last sample.

A cluster without a change since its last sample is only confirmed, all of them in one statement.
The larger a cluster, the longer a sample takes, and the less often there is one. A sample is one
transaction that locks the cluster's cursor and advances it: a process that is killed has counted
everything or nothing.
"""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from django.db import connection, transaction
from django.utils.timezone import now

from apps.cluster.models import Cluster
from apps.engine.models import SeriesCursor
from apps.engine.series import levels, node_columns
from apps.engine.series.counts import add_durations, read_counts
from apps.engine.series.resolutions import list_resolutions
from apps.engine.series.storing import Sample, write

log = logging.getLogger(__name__)

#: A sample takes at most this share of the processor time of a worker until the next one.
SHARE = 0.02
#: Beat is late if a sample is not taken so many seconds after it was due.
LATE = 60.0

#: Clusters without a change: their levels lasted until now.
_CONFIRM = """
    UPDATE controlplane_seriescursor s SET sampled_at = coalesce(c.manual_time, clock_timestamp())
    FROM cluster_cluster c LEFT JOIN controlplane_schedulermetrics m ON m.cluster_id = c.id
    WHERE s.cluster_id = c.id AND s.version = c.resource_version
        AND s.metrics_xid = coalesce(m.xmin::text::bigint, 0)
"""
#: The others, unless their last sample was expensive.
_CHANGED = """
    SELECT c.id FROM cluster_cluster c
    LEFT JOIN controlplane_schedulermetrics m ON m.cluster_id = c.id
    LEFT JOIN controlplane_seriescursor s ON s.cluster_id = c.id
    WHERE s.cluster_id IS NULL OR (
        (s.version <> c.resource_version OR s.metrics_xid <> coalesce(m.xmin::text::bigint, 0))
        AND coalesce(s.next_at <= clock_timestamp(), true)
    ) ORDER BY c.id
"""
#: Its transaction shows whether the row was written since.
_METRICS = """
    SELECT xmin::text::bigint, series FROM controlplane_schedulermetrics WHERE cluster_id = %s
"""
#: Writers of the cluster are not blocked by this lock.
_KEEP = "SELECT id FROM cluster_cluster WHERE id = %s FOR KEY SHARE SKIP LOCKED"


def sample_all() -> None:
    """Sample every cluster that changed, and confirm the others."""
    with connection.cursor() as cursor:
        cursor.execute(_CONFIRM)
        cursor.execute(_CHANGED)
        changed = [number for (number,) in cursor.fetchall()]
    for number in changed:
        try:
            sample(number)
        except Exception:
            # one cluster must not keep the others from being sampled; the next run tries again
            log.warning("could not sample cluster %s", number, exc_info=True)


def sample(cluster_id: int) -> None:
    """Add one sample of a cluster, unless another process is adding one, or it was deleted."""
    with transaction.atomic():
        if not _keep(cluster_id):
            return
        cluster = Cluster.objects.get(pk=cluster_id)
        cursor = _lock(cluster)
        if cursor is not None:
            _add_sample(cluster, cursor)


def _keep(cluster_id: int) -> bool:
    """Keep the cluster from being deleted in this transaction; False if it is being deleted."""
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [cluster_id])
        return cursor.fetchone() is not None


def _lock(cluster: Cluster) -> SeriesCursor | None:
    """The cluster's cursor, locked; None if another process has locked it."""
    first = SeriesCursor(cluster=cluster, sampled_at=cluster.now())
    SeriesCursor.objects.bulk_create([first], ignore_conflicts=True)
    return SeriesCursor.objects.select_for_update(skip_locked=True).filter(cluster=cluster).first()


def _add_sample(cluster: Cluster, cursor: SeriesCursor) -> None:
    began, at, step = time.thread_time(), cluster.now(), list_resolutions()[0].step
    metrics_xid, series = _read_metrics(cluster.pk)
    counts = read_counts(cluster.pk, step, decision=cursor.decision_id, move=cursor.move_id)
    bucket = levels.read_pods(cluster)
    state = levels.read_nodes(cluster)
    levels.add_nodes(bucket, state)
    add_durations(bucket, series, bytes(cursor.baseline))
    # time passes in leaps on a manual clock, and nothing happens in between
    held_until = at if cluster.manual_time is not None or _is_due(cursor) else cursor.sampled_at
    write(
        cluster.pk,
        Sample(
            at=at,
            levels=bucket,
            counts=counts.buckets,
            nodes=node_columns.encode(state),
            number_of_nodes=len(state.ids),
            held_until=held_until if cursor.sampled_at <= at else None,
        ),
    )
    cursor.sampled_at = at
    cursor.version = -1 if counts.unfinished else cluster.resource_version
    cursor.metrics_xid, cursor.baseline = metrics_xid, series
    cursor.decision_id, cursor.move_id = counts.last_decision, counts.last_move
    pause = (time.thread_time() - began) / SHARE
    cursor.next_at = now() + timedelta(seconds=pause) if pause > step else None
    cursor.save()


def _is_due(cursor: SeriesCursor) -> bool:
    """Whether there was no sample since the last one because it was put off, not for a downtime."""
    return cursor.next_at is not None and now() < cursor.next_at + timedelta(seconds=LATE)


def _read_metrics(cluster_id: int) -> tuple[int, bytes]:
    """The transaction that wrote the cluster's metrics, and their series; 0 if there are none."""
    with connection.cursor() as cursor:
        cursor.execute(_METRICS, [cluster_id])
        row = cursor.fetchone()
    return (int(row[0]), bytes(row[1])) if row else (0, b"")
