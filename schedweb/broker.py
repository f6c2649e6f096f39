"""The schema of the default broker: pgmq, installed in our own database, and its queues."""

from __future__ import annotations

from django.db import connection, transaction
from pgmq.install import get_embedded_install_sql, get_embedded_sql_version
from psycopg import sql

from schedweb.pgmq import LOCK, make_queue

#: The start of the schema's comment when it is ours, followed by pgmq's version.
_OURS = "pgmq for schedweb, version "


def install() -> bool:
    """Create the schema ``pgmq``, or replace an older one of ours; True when something was done.

    What waits in the queues may be lost by that: the tasks are level-triggered, and beat sends
    again what is due. A schema that is not ours (an installed extension) is left alone.
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


def declare(queue: str) -> None:
    """Make a queue before the processes that use it start, so that none has to wait for it."""
    connection.ensure_connection()
    make_queue(connection.connection, queue)


def sweep() -> int:
    """Drop the queues of worker processes that died without a farewell; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pgmq.drop_queue(queue_name)) FROM pgmq.list_queues() "
            "LEFT JOIN controlplane_heartbeat "
            "  ON name = queue_name AND at > clock_timestamp() - interval '1 minute' "
            "WHERE queue_name LIKE 'loop\\_%' AND name IS NULL "
            "AND created_at < clock_timestamp() - interval '1 minute'"
        )
        return int(cursor.fetchone()[0])
