"""Celery's connections to a broker that was away.

kombu asks it again after 2, 4, 6 … up to 30 seconds. A worker that waits like this schedules
nothing for half a minute after the broker is back.
"""

from __future__ import annotations

from typing import Any

from celery.app.amqp import AMQP
from kombu.connection import Connection

SECONDS = 0.5


class SteadyConnection(Connection):
    """A connection that asks a broker that does not answer at a constant interval."""

    def _ensure_connection(
        self,
        errback: Any = None,
        max_retries: int | None = None,
        interval_start: float = SECONDS,
        interval_step: float = 0.0,
        interval_max: float = SECONDS,
        *arguments: Any,
        **options: Any,
    ) -> Any:
        intervals = (interval_start, interval_step, interval_max)
        return super()._ensure_connection(  # type: ignore[no-untyped-call]
            errback, max_retries, *intervals, *arguments, **options
        )


class SteadyBroker(AMQP):  # type: ignore[misc]
    Connection = SteadyConnection
