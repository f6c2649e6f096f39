"""Signs of life, as rows on the database's clock: of beat, and of every worker process."""

from __future__ import annotations

import logging
import threading

from django.db import DatabaseError, InterfaceError, connection

log = logging.getLogger(__name__)

#: A worker process says so often that it is there ...
INTERVAL_SECONDS = 2.0
#: ... and after so long a silence it is taken for dead.
STALE_SECONDS = 10.0
#: After this long one it is forgotten.
DEAD_SECONDS = 60.0


def touch(name: str) -> None:
    """Say that `name` is alive now."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO controlplane_heartbeat (name, at) VALUES (%s, clock_timestamp()) "
            "ON CONFLICT (name) DO UPDATE SET at = excluded.at",
            [name],
        )


def age(name: str) -> float | None:
    """Seconds since `name` was last seen; None if never."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM clock_timestamp() - at)::float8 "
            "FROM controlplane_heartbeat WHERE name = %s",
            [name],
        )
        row = cursor.fetchone()
    return None if row is None else row[0]


def queue_of_holder(cluster_id: int) -> str | None:
    """The queue of the live worker process that last scheduled a cluster; None if it is gone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT l.holder FROM controlplane_looplease l "
            "JOIN controlplane_heartbeat h ON h.name = l.holder "
            "WHERE l.cluster_id = %s AND h.at > clock_timestamp() - make_interval(secs => %s)",
            [cluster_id, STALE_SECONDS],
        )
        row = cursor.fetchone()
    return None if row is None else row[0]


def idle_worker() -> str | None:
    """A live worker process that holds no cluster just now; None while all are at work."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM controlplane_heartbeat h WHERE name LIKE 'loop\\_%%' "
            "AND at > clock_timestamp() - make_interval(secs => %s) "
            "AND NOT EXISTS (SELECT FROM controlplane_looplease l "
            "WHERE l.holder = h.name AND l.expires_at > clock_timestamp()) "
            "ORDER BY random() LIMIT 1",
            [STALE_SECONDS],
        )
        row = cursor.fetchone()
    return None if row is None else row[0]


def distrust(name: str = "") -> None:
    """Take `name`, or everybody, for dead who does not show life from now on."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE controlplane_heartbeat "
            "SET at = least(at, clock_timestamp() - make_interval(secs => %s)) "
            "WHERE %s IN ('', name)",
            [DEAD_SECONDS, name],
        )


def dead() -> list[str]:
    """The worker processes of which nothing was heard for a long time."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name FROM controlplane_heartbeat WHERE name LIKE 'loop\\_%%' "
            "AND at < clock_timestamp() - make_interval(secs => %s)",
            [DEAD_SECONDS],
        )
        return [row[0] for row in cursor.fetchall()]


def forget(name: str) -> None:
    """Remove a heartbeat, after all that is known by it."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM controlplane_heartbeat WHERE name = %s", [name])


class Pulse(threading.Thread):
    """Keeps one name's heartbeat going until `stop`, which takes it back."""

    def __init__(self, name: str) -> None:
        super().__init__(name="pulse", daemon=True)
        self._of = name
        self._stopped = threading.Event()

    def run(self) -> None:
        while True:
            try:
                touch(self._of)
            except (DatabaseError, InterfaceError):
                # the database is away; so is whoever would read this
                log.warning("no heartbeat for %s", self._of, exc_info=True)
            finally:
                connection.close()
            if self._stopped.wait(INTERVAL_SECONDS):
                break

    def stop(self) -> None:
        """End the thread and take the heartbeat back: nobody shall wait for this process.

        Its name stays, since somebody may just now send something to its queue.
        """
        self._stopped.set()
        self.join()
        distrust(self._of)
