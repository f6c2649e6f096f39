"""The default broker: pgmq's queues in the PostgreSQL that is there anyway.

Read by the settings; :mod:`schedweb.broker` makes the queues' schema, :mod:`schedweb.queues` is
the way there.
"""

from __future__ import annotations

from typing import Any

from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo

#: kombu's name of the transport.
TRANSPORT = "schedweb.queues:Transport"

#: Any number; whoever makes the schema or a queue takes this lock first.
LOCK = 0x7067_6D71


def transport_options(database_url: str) -> dict[str, Any]:
    """kombu's options for pgmq on the database at *database_url*."""
    # Where the URL is silent, pgmq would ask variables of the environment.
    address = {"port": "5432", "password": "none", **conninfo_to_dict(database_url)}
    return {
        "conn_string": make_conninfo("", **address),
        # The server has no extension files; `install` brings the SQL.
        "init_extension": False,
        # Wake up by NOTIFY, each message at once; never sleep inside the server.
        "use_notify": True,
        "wait_time_seconds": 0,
        "pool_size": 4,
        "pool_timeout": 5,
    }


def make_queue(connection: Connection[Any], name: str) -> None:
    """Make a queue that tells its readers of each message at once, unless it is there."""
    known = "SELECT 1 FROM pgmq.meta WHERE queue_name = %s"
    with connection.transaction():
        if connection.execute(known, [name]).fetchone() is not None:
            return
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        if connection.execute(known, [name]).fetchone() is None:
            connection.execute("SELECT pgmq.create(%s)", [name])
            connection.execute("SELECT pgmq.enable_notify_insert(%s, 0)", [name])
