"""The lease of a running operation: a time that its worker renews, and the number of its attempt.

It belongs to the run, not to the process: if a run ends without recording its outcome, because the
database was unavailable, its worker lives on, but the lease expires.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, InterfaceError, connection

from apps.controlplane.models import Operation

log = logging.getLogger(__name__)

#: Interval of renewals; `heartbeat.STALE_SECONDS` without one, and another worker takes over.
RENEW_SECONDS = 2.0

_RENEW = """
    UPDATE controlplane_operation SET renewed_at = clock_timestamp()
    WHERE id = %s AND state = 'running' AND attempts = %s RETURNING 1
"""


@contextmanager
def keep_renewed(operation: Operation) -> Iterator[None]:
    """Renew the lease of a claimed operation in this block, also while it reports no progress."""
    done = threading.Event()
    thread = threading.Thread(
        target=_renew_periodically, args=(operation, done), name="operation", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _renew_periodically(operation: Operation, done: threading.Event) -> None:
    """Until the block ends, or another worker has taken over the operation."""
    renewed = True
    while renewed and not done.wait(RENEW_SECONDS):
        try:
            with connection.cursor() as cursor:
                cursor.execute(_RENEW, [operation.pk, operation.attempts])
                renewed = cursor.fetchone() is not None
        except (DatabaseError, InterfaceError):
            log.warning("could not renew the lease of operation %s", operation.pk, exc_info=True)
        finally:
            connection.close()
