"""The default broker: pgmq's queues in the site's PostgreSQL.

Read by the settings; :mod:`schedweb.broker` creates the schema, :mod:`schedweb.queues` is the
transport.
"""

from __future__ import annotations

from typing import Any

from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

#: The name of the site's connections in `pg_stat_activity`, unless its URL has another one.
APPLICATION = "schedweb"

#: The pools of connections ask a database that is away again and again, and give up after this
#: time; the next one who needs a connection lets them begin anew.
RECONNECT_SECONDS = 2

#: kombu's name of the transport.
TRANSPORT = "schedweb.queues:PgmqTransport"

#: Any number; locked before the schema or a queue is created.
LOCK = 0x7067_6D71


def transport_options(database_url: str) -> dict[str, Any]:
    """kombu's options for pgmq on the database at *database_url*."""
    address = {"application_name": APPLICATION, **conninfo_to_dict(database_url)}
    return {
        "conn_string": make_conninfo("", **address),
        # The server has no extension files; `install` brings the SQL.
        "init_extension": False,
        # Wake up by NOTIFY for each message; never sleep inside the server.
        "use_notify": True,
        "wait_time_seconds": 0,
        "pool_size": 4,
        "pool_timeout": 5,
    }


def create_queue(connection: Connection[Any], name: str) -> None:
    """Create a queue that notifies its readers of each message, unless it exists."""
    known = "SELECT 1 FROM pgmq.meta WHERE queue_name = %s"
    with connection.transaction():
        if connection.execute(known, [name]).fetchone() is not None:
            return
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        if connection.execute(known, [name]).fetchone() is None:
            connection.execute("SELECT pgmq.create(%s)", [name])
            connection.execute("SELECT pgmq.enable_notify_insert(%s, 0)", [name])
