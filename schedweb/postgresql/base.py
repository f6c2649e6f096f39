"""The backend that `ENGINE` names; Django expects it in a module of this name.

Django's own pool asks the database whether a connection still works, a round trip for every request
before its first query.
"""

from __future__ import annotations

import select
from typing import Any

import psycopg
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool
from psycopg_pool.base import AttemptWithBackoff

# A pool without a connection asks again after 1, 2, 4 … seconds: longer than a restart takes.
AttemptWithBackoff.INITIAL_DELAY = 0.25
AttemptWithBackoff.DELAY_BACKOFF = 1.0


def check_idle(connection: psycopg.Connection[Any]) -> None:
    """Close an idle connection that the database has ended, and raise OperationalError.

    The database sends nothing else to one: whatever can be read is its end, or a reason not to use
    it. The pool replaces a connection that is closed, and would keep any other.
    """
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    if poll.poll(0):
        connection.close()
        raise psycopg.OperationalError("the database has ended an idle connection")


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection of Django, which comes from a pool if `OPTIONS` have one."""

    @property
    def pool(self) -> ConnectionPool[psycopg.Connection[Any]] | None:
        """The pool of all connections with this alias."""
        options = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not options:
            return None
        pools: dict[str, ConnectionPool[psycopg.Connection[Any]]]
        pools = self._connection_pools  # type: ignore[attr-defined]
        if self.alias not in pools:
            # of several threads, the first one sets it; the pools of the others were never opened
            pools.setdefault(
                self.alias,
                ConnectionPool(
                    kwargs={**self.get_connection_params(), "autocommit": True},
                    open=False,
                    configure=self._configure_connection,  # type: ignore[attr-defined]
                    check=check_idle,
                    **options,
                ),
            )
        return pools[self.alias]
