"""``python -m schedweb.beat``: Celery's beat.

Beat sends tasks by name, so it loads neither Django's apps nor the scheduler.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init

from schedweb import gate

# pgmq would read this variable, which many hosting platforms set, and prefer it.
os.environ.pop("DATABASE_URL", None)

app = Celery("schedweb", fixups=())
app.config_from_object("schedweb.settings", namespace="CELERY")


@beat_init.connect
def send_heartbeat(**signal: Any) -> None:
    """Send the first heartbeat at the start; the schedule sends the others."""
    gate.wait()
    app.send_task("apps.controlplane.tasks.beat")


def main() -> None:
    # All intervals are seconds, so no state needs to survive a restart.
    app.Beat(scheduler="celery.beat:Scheduler", loglevel="WARNING", quiet=True).run()


if __name__ == "__main__":
    main()
