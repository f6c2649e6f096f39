"""``python -m schedweb.beat``: Celery's beat.

Beat sends tasks by name, so it loads neither Django's apps nor the scheduler. It counts intervals
by a clock that is never set: after the clock of the machine was set back by an hour, a schedule by
that clock would send nothing for an hour.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from celery import Celery
from celery.beat import Scheduler
from celery.schedules import schedule
from celery.signals import beat_init

from schedweb import alive, gate
from schedweb.reconnecting import SteadyBroker

# pgmq would read this variable, which many hosting platforms set, and prefer it.
os.environ.pop("DATABASE_URL", None)

_STARTED_AT, _STARTED = datetime.now(UTC), time.monotonic()


def steady_now() -> datetime:
    """The time by a clock that is never set, from the time at which this process started."""
    return _STARTED_AT + timedelta(seconds=time.monotonic() - _STARTED)


def _with_steady_clock(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "schedule": schedule(entry["schedule"], nowfun=steady_now)}


app = Celery("schedweb", fixups=(), amqp=SteadyBroker)
app.config_from_object("schedweb.settings", namespace="CELERY")
app.conf.beat_schedule = {
    name: _with_steady_clock(entry) for name, entry in app.conf.beat_schedule.items()
}


@beat_init.connect
def send_heartbeat(**signal: Any) -> None:
    """Send the first heartbeat at the start; the schedule sends the others."""
    gate.wait()
    app.send_task("apps.controlplane.tasks.beat")


class AliveScheduler(Scheduler):  # type: ignore[misc]
    """Records with each tick that beat works."""

    def tick(self, *arguments: Any, **named: Any) -> float:
        alive.touch()
        seconds: float = super().tick(*arguments, **named)
        return seconds


def main() -> None:
    # All intervals are seconds, so no state needs to survive a restart.
    app.Beat(scheduler="schedweb.beat:AliveScheduler", loglevel="WARNING", quiet=True).run()


if __name__ == "__main__":
    main()
