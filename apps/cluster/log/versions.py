"""Versions of a cluster by time."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import connection

#: A change has the time at which its transaction started, so times of neighbours may be out of
#: order by the duration of a transaction.
_DISORDER = timedelta(minutes=10)

#: Halves the range of versions until it ends before the first change at or after the time. A probe
#: reads the next older change, because retention leaves gaps.
_BISECT = """
    WITH RECURSIVE search(low, high) AS (
        SELECT 0::bigint, %(top)s::bigint
        UNION ALL
        SELECT CASE WHEN later THEN low ELSE middle END,
            CASE WHEN later THEN probe.version - 1 ELSE high END
        FROM (SELECT low, high, (low + high + 1) / 2 AS middle FROM search WHERE low < high) range
        LEFT JOIN LATERAL (
            SELECT version, at >= %(moment)s AS later FROM cluster_history
            WHERE cluster_id = %(cluster)s AND version > low AND version <= middle
            ORDER BY version DESC LIMIT 1
        ) probe ON true
    )
    SELECT low FROM search WHERE low >= high LIMIT 1
"""


def version_before(cluster_id: int, moment: datetime, *, top: int) -> int:
    """The last version up to `top` that was written before `moment`, by the cluster's clock.

    0 if there is none. Takes one statement with as many probes as `top` has bits. The clock of a
    cluster must not have been set back in between.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BISECT, {"cluster": cluster_id, "moment": moment, "top": top})
        row = cursor.fetchone()
    return int(row[0]) if row is not None else 0


def versions_between(
    cluster_id: int, since: datetime | None, until: datetime | None, *, top: int
) -> tuple[int, int]:
    """The first and last version, up to `top`, that may have been written in this period.

    The range is slightly too large, so select changes by their time as well.
    """
    first, last = 1, top
    if until is not None:
        last = version_before(cluster_id, until + _DISORDER, top=top)
    if since is not None:
        first = version_before(cluster_id, since - _DISORDER, top=last) + 1
    return first, last
