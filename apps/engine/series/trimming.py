"""Retention of the series: by age, in the time of each cluster's clock."""

from __future__ import annotations

from django.db import connection

from apps.engine.series.resolutions import list_resolutions

#: Rows deleted in one statement.
STEP = 5000

#: With `= ANY(ARRAY(…))`, the rows are found by their key. The levels of the newest sample last as
#: long as nothing changes, those of others until `until`.
_EXPIRED = """
    DELETE FROM controlplane_seriesbucket WHERE id = ANY(ARRAY(
        SELECT b.id FROM cluster_cluster c JOIN controlplane_seriesbucket b
            ON b.cluster_id = c.id AND b.resolution = %s
            AND greatest(b.start, b.until)
                < coalesce(c.manual_time, clock_timestamp()) - make_interval(secs => %s)
            AND b.start < coalesce(c.manual_time, clock_timestamp()) - make_interval(secs => %s)
            AND (b.until IS NULL OR EXISTS (SELECT FROM controlplane_seriesbucket later
                WHERE later.cluster_id = b.cluster_id AND later.resolution = b.resolution
                AND later.start > b.start AND later.until IS NOT NULL))
        LIMIT %s))
"""
_UNKNOWN = "DELETE FROM controlplane_seriesbucket WHERE NOT resolution = ANY(%s)"


def trim() -> None:
    """Delete expired buckets whose levels no longer last, and those of a removed resolution."""
    resolutions = list_resolutions()
    with connection.cursor() as cursor:
        cursor.execute(_UNKNOWN, [[each.step for each in resolutions]])
        for each in resolutions:
            deleted = STEP
            while deleted == STEP:
                cursor.execute(_EXPIRED, [each.step, each.keep, each.keep, STEP])
                deleted = cursor.rowcount
