"""``python -m schedweb.worker [NAME]``: a Celery worker.

Equals ``celery -A schedweb.celery worker`` with the options of this project, but starts faster than
Celery's command line.
"""

from __future__ import annotations

import os
import sys

from celery.utils.nodenames import default_nodename, host_format

from schedweb import interpreter, memory
from schedweb.celery import app
from schedweb.versions import exit_with_newer_database

#: Django's checks load all views, a third of the processor time of a start; `make check` runs them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")


def main() -> None:
    memory.configure_malloc()
    memory.collect_less_often()
    interpreter.switch_soon()
    name = sys.argv[1] if len(sys.argv) > 1 else "worker"
    worker = app.Worker(
        hostname=host_format(default_nodename(f"{name}@%h")),
        loglevel="INFO",
        quiet=True,
        # Workers need no events from each other, and each event would be a message.
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    # now that the database is prepared: the worker has waited at the gate
    exit_with_newer_database()
    memory.Trimmer().start()
    worker.start()
    sys.exit(worker.exitcode)


if __name__ == "__main__":
    main()
