"""The schema of the default broker, pgmq, in our own database, and its queues."""

from __future__ import annotations

from django.db import connection, transaction
from pgmq.install import get_embedded_install_sql, get_embedded_sql_version
from psycopg import sql

from schedweb.pgmq import LOCK, create_queue

#: Prefix of the schema's comment if we created it, followed by pgmq's version.
_OURS = "pgmq for schedweb, version "


def install() -> bool:
    """Create the schema ``pgmq``, or replace an older one of ours; True if anything changed.

    Queued messages may be lost: the tasks are level-triggered, and beat sends due tasks again. A
    schema that we did not create (an installed extension) is not changed.
    """
    comment = _OURS + get_embedded_sql_version()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        cursor.execute(
            "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'pgmq'"
        )
        row = cursor.fetchone()
        if row is not None:
            present = row[0] or ""
            if present == comment or not present.startswith(_OURS):
                return False
            cursor.execute("DROP SCHEMA pgmq CASCADE")
        cursor.execute(get_embedded_install_sql())
        cursor.execute(sql.SQL("COMMENT ON SCHEMA pgmq IS {}").format(comment))
    return True


def declare_queue(queue: str) -> None:
    """Create a queue before the processes that use it start, so that none waits for it."""
    connection.ensure_connection()
    create_queue(connection.connection, queue)


def drop_orphaned_queues() -> int:
    """Drop the queues of worker processes that did not shut down properly; returns their number."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pgmq.drop_queue(queue_name)) FROM pgmq.list_queues() "
            "LEFT JOIN controlplane_heartbeat "
            "  ON name = queue_name AND at > clock_timestamp() - interval '1 minute' "
            "WHERE queue_name LIKE 'loop\\_%' AND name IS NULL "
            "AND created_at < clock_timestamp() - interval '1 minute'"
        )
        return int(cursor.fetchone()[0])
