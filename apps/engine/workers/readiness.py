"""Whether workers run the loops of clusters, for the readiness endpoints."""

from __future__ import annotations

from django.db import connection

from apps.engine.workers.lease import HELD

#: A due cluster waits for a worker; after this time it counts as not ready.
OVERDUE_SECONDS = 60.0

_OVERDUE = f"""
    SELECT c.name, extract(epoch FROM clock_timestamp() - c.due_at)::float8 AS seconds
    FROM cluster_cluster c JOIN controlplane_looplease l ON l.cluster_id = c.id
    WHERE NOT c.paused AND c.due_at < clock_timestamp() - make_interval(secs => %s)
    AND (l.expires_at {HELD}) IS NOT TRUE
    AND (%s::bigint IS NULL OR c.id = %s) ORDER BY seconds DESC
"""


def overdue_clusters(cluster_id: int | None = None) -> list[tuple[str, float]]:
    """(name, seconds) of clusters, or of this one, that have waited for a worker for too long.

    A cluster whose lease is held is being processed; a hanging holder loses its lease.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OVERDUE, [OVERDUE_SECONDS, cluster_id, cluster_id])
        return [(name, seconds) for name, seconds in cursor.fetchall()]


def describe_failures(cluster_id: int) -> str:
    """What fails in the loop of a cluster; "" while its runs succeed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT failures, failure FROM controlplane_looplease WHERE cluster_id = %s",
            [cluster_id],
        )
        failures, failure = cursor.fetchone() or (0, "")
    return f"the last {failures} runs of its loop failed: {failure}" if failures > 1 else ""
