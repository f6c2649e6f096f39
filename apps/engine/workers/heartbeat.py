"""Heartbeats of beat and of every worker process, as rows with the database's time."""

from __future__ import annotations

from django.db import connection

from apps.engine.workers.lease import HELD

#: Interval of the heartbeats of a worker process ...
INTERVAL_SECONDS = 1.0
#: ... which counts as dead after this time without one.
STALE_SECONDS = 4.0
#: After this time its heartbeat is deleted.
DEAD_SECONDS = 60.0
#: The condition on a time that is not older. One in the future was written before the clock was set
#: back: it proves nothing, because its process may have stopped since.
RECENT = (
    f"BETWEEN clock_timestamp() - interval '{STALE_SECONDS} s' "
    "AND clock_timestamp() + interval '1 s'"
)


def touch(name: str) -> None:
    """Record a heartbeat of `name`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO controlplane_heartbeat (name, at) VALUES (%s, clock_timestamp()) "
            "ON CONFLICT (name) DO UPDATE SET at = excluded.at",
            [name],
        )


def age(name: str) -> float | None:
    """Seconds since the last heartbeat of `name`; None if there was none.

    Less than 0 if the clock was set back after it.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM clock_timestamp() - at)::float8 "
            "FROM controlplane_heartbeat WHERE name = %s",
            [name],
        )
        row = cursor.fetchone()
    return None if row is None else row[0]


def queue_of_holder(cluster_id: int) -> str | None:
    """The queue of the live worker process that last scheduled a cluster; None if it is dead."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT l.holder FROM controlplane_looplease l "
            "JOIN controlplane_heartbeat h ON h.name = l.holder "
            f"WHERE l.cluster_id = %s AND h.at {RECENT}",
            [cluster_id],
        )
        row = cursor.fetchone()
    return None if row is None else row[0]


def idle_worker() -> str | None:
    """A live worker process that holds no cluster; None if all are busy."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM controlplane_heartbeat h WHERE name LIKE 'loop\\_%' "
            f"AND at {RECENT} "
            "AND NOT EXISTS (SELECT FROM controlplane_looplease l "
            f"WHERE l.holder = h.name AND l.expires_at {HELD}) "
            "ORDER BY random() LIMIT 1"
        )
        row = cursor.fetchone()
    return None if row is None else row[0]


def expire(name: str = "", *, seconds: float = DEAD_SECONDS) -> None:
    """Treat `name`, or all processes, as if the last heartbeat was so long ago."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE controlplane_heartbeat "
            "SET at = least(at, clock_timestamp() - make_interval(secs => %s)) "
            "WHERE %s IN ('', name)",
            [seconds, name],
        )


def dead_workers() -> list[str]:
    """The worker processes without a heartbeat for a long time."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM controlplane_heartbeat WHERE name LIKE 'loop\\_%%' "
            "AND at < clock_timestamp() - make_interval(secs => %s)",
            [DEAD_SECONDS],
        )
        return [row[0] for row in cursor.fetchall()]


def delete(name: str) -> None:
    """Delete a heartbeat, after everything that depends on it."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM controlplane_heartbeat WHERE name = %s", [name])
