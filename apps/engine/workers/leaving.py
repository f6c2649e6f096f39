"""Leaves a PostgreSQL server that is shutting down and waits for its clients.

SIGTERM means a "smart" shutdown: the server refuses new clients, waits until all that are connected
have gone, and tells them nothing. A site never goes by itself, because it keeps connections that
listen and connections for later. It is noticed by asking for a new connection, as libpq's `PQping`
does: without the password, so that no session begins.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from django.db import connection
from psycopg import pq
from psycopg.conninfo import make_conninfo

log = logging.getLogger(__name__)

#: How long a server may take to answer.
_PING_SECONDS: Final = 2
#: Interval between two looks at connections that execute something.
_LOOK_SECONDS: Final = 0.2

#: Ends the site's connections without a transaction: those that execute one end it first. Their
#: number, and that of the others.
_END = """
    SELECT count(*) FILTER (WHERE state = 'idle' AND pg_terminate_backend(pid)),
        count(*) FILTER (WHERE state IS DISTINCT FROM 'idle')
    FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user
    AND application_name = current_setting('application_name')
    AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


def refuses_clients() -> bool:
    """Whether the server of this thread's connection refuses new ones: it is shutting down."""
    connection.ensure_connection()
    # psycopg connects to one host of several; a standby is as good as any other server
    server = connection.connection.info.get_parameters()
    server |= {"connect_timeout": str(_PING_SECONDS), "target_session_attrs": "any"}
    target = make_conninfo("", **server)
    return pq.PGconn.ping(target.encode()) == pq.Ping.REJECT


def leave_closing_server(stopped: threading.Event) -> bool:
    """End the site's connections if their server is shutting down; whether it is.

    Those that execute something end it first. Until they have gone, or until `stopped`, this thread
    keeps its connection: the server lets nobody in who could end the others. Of two that do so the
    one that waits is ended, so that one stays.
    """
    if not refuses_clients():
        return False
    with connection.cursor() as cursor:
        others = True
        while others and not stopped.wait(_LOOK_SECONDS):
            cursor.execute(_END)
            ended, others = cursor.fetchone()
            log.warning(
                "the database is shutting down; idle connections that were ended: %d", ended
            )
    # not back to the pool
    connection.connection.close()
    return True
