"""Looks for processes that have stopped and for transactions that have stalled.

Every worker and every web process looks, because any of them may be the one that is gone.
"""

from __future__ import annotations

import logging
import threading

from django.db import DatabaseError, InterfaceError, connection

from apps.engine.workers.presence import absent_workers, free_leases
from apps.engine.workers.stalled import end_stalled_transactions

log = logging.getLogger(__name__)

#: Interval between two looks of a process.
LOOK_SECONDS = 1.0


class Guard(threading.Thread):
    """Ends stalled transactions, and frees the leases of dead workers, until `stop`."""

    def __init__(self) -> None:
        super().__init__(name="guard", daemon=True)
        self._stopped = threading.Event()
        self._absent: set[str] = set()

    def run(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            try:
                self.look()
            except (DatabaseError, InterfaceError):
                log.warning("could not look for stalled transactions", exc_info=True)
                self._absent = set()
            finally:
                connection.close()

    def stop(self) -> None:
        """Stop the thread."""
        self._stopped.set()
        self.join()

    def look(self) -> None:
        """Look once."""
        end_stalled_transactions()
        absent = absent_workers()
        # one that was absent once may be connecting again
        for name in absent & self._absent:
            free_leases(name)
        self._absent = absent
