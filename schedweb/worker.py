"""``python -m schedweb.worker [NAME]``: a Celery worker.

The same as ``celery -A schedweb.celery worker`` with the options that fit this house, without
the time that Celery's command line takes to load.
"""

from __future__ import annotations

import sys

from celery.utils.nodenames import default_nodename, host_format

from schedweb.celery import app


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "worker"
    worker = app.Worker(
        hostname=host_format(default_nodename(f"{name}@%h")),
        loglevel="INFO",
        quiet=True,
        # What workers tell one another is of no use here, and each such word is a message.
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    sys.exit(worker.exitcode)


if __name__ == "__main__":
    main()
