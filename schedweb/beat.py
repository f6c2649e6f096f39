"""``python -m schedweb.beat``: Celery's beat.

Beat sends tasks by their names alone, so it loads neither Django's apps nor the scheduler.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init

from schedweb import gate

# pgmq reads this variable of many hosting platforms behind our back, and it would win.
os.environ.pop("DATABASE_URL", None)

app = Celery("schedweb", fixups=())
app.config_from_object("schedweb.settings", namespace="CELERY")


@beat_init.connect
def show_life(**signal: Any) -> None:
    """Once at the start, then by the schedule."""
    gate.wait()
    app.send_task("apps.controlplane.tasks.beat")


def main() -> None:
    # Its intervals are seconds, so there is nothing to remember over a restart.
    app.Beat(scheduler="celery.beat:Scheduler", loglevel="WARNING", quiet=True).run()


if __name__ == "__main__":
    main()
