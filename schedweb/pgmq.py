"""How to reach the default broker: pgmq's queues in the PostgreSQL that is there anyway.

Read by the settings; :mod:`schedweb.broker` makes the queues' schema.
"""

from __future__ import annotations

from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo


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
        "notify_throttle_interval_ms": 0,
        "wait_time_seconds": 0,
        "pool_size": 4,
    }
