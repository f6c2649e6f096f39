"""Celery's connections to a broker that was away.

kombu asks it again after 2, 4, 6 … up to 30 seconds. A worker that waits like this schedules
nothing for half a minute after the broker is back.
"""

from __future__ import annotations

from typing import Any

from celery.app.amqp import AMQP
from kombu.connection import Connection

SECONDS = 1.0


class SteadyConnection(Connection):
    """A connection that asks a broker that does not answer at a constant interval."""

    def _ensure_connection(self, *args: Any, **options: Any) -> Any:
        steady = {"interval_start": SECONDS, "interval_step": 0.0, "interval_max": SECONDS}
        return super()._ensure_connection(*args, **{**steady, **options})  # type: ignore[no-untyped-call]


class SteadyBroker(AMQP):  # type: ignore[misc]
    Connection = SteadyConnection
