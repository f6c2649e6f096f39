"""Who is connected: the death of a worker process is noticed before its lease expires.

A worker process holds an advisory lock of its name on a connection of its own. PostgreSQL frees it
when the connection ends, which is at once if the process was killed. A process that is stopped or
slow keeps its connection, so its leases last as long as they say. One that lost only its connection
may lose its leases too: what it records is fenced by their epoch, as after any other takeover. The
death of a whole machine closes no connection and is noticed when the lease expires.
"""

from __future__ import annotations

import logging

from django.db import connection

from apps.engine.workers import heartbeat
from apps.engine.workers.lease import HELD
from apps.engine.workers.waking import wake

log = logging.getLogger(__name__)

#: The key of the advisory lock that belongs to a name.
KEY = "hashtextextended({name}, 7316429)"

_ABSENT = f"""
    SELECT name FROM controlplane_heartbeat
    WHERE name LIKE 'loop\\_%' AND at {heartbeat.RECENT} AND {KEY.format(name="name")} NOT IN (
        SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
"""

_RELEASE = f"""
    UPDATE controlplane_looplease SET expires_at = clock_timestamp()
    WHERE cluster_id IN (
        SELECT cluster_id FROM controlplane_looplease
        WHERE holder = %s AND expires_at {HELD} FOR NO KEY UPDATE SKIP LOCKED
    )
    RETURNING cluster_id
"""


def announce(name: str) -> bool:
    """Show that the process `name` is connected, for as long as this connection lasts.

    False if another connection still shows it, such as one that has just been lost.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_lock({KEY.format(name='%s')})", [name])
        (shown,) = cursor.fetchone()
    return bool(shown)


def absent_workers() -> set[str]:
    """The worker processes that had a heartbeat a moment ago and are not connected."""
    with connection.cursor() as cursor:
        cursor.execute(_ABSENT)
        return {name for (name,) in cursor.fetchall()}


def free_leases(name: str) -> list[int]:
    """Treat a worker process as dead: free its leases, and wake their clusters.

    Returns the ids of the clusters. A process that lives sends its next heartbeat soon, and still
    has its queue then.
    """
    heartbeat.expire(name, seconds=heartbeat.STALE_SECONDS)
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE, [name])
        freed = [cluster_id for (cluster_id,) in cursor.fetchall()]
    log.warning("worker process %s is gone; clusters that others take over: %d", name, len(freed))
    for cluster_id in freed:
        try:
            wake(cluster_id, anywhere=True)
        except Exception:
            # the broker is unavailable; beat wakes the cluster
            log.warning("could not wake cluster %s", cluster_id, exc_info=True)
    return freed
