"""Looks for processes that have stopped, transactions that have stalled, and a closing database.

Every worker and every web process looks, because any of them may be the one that is gone.
"""

from __future__ import annotations

import logging
import threading

from django.db import DatabaseError, InterfaceError, connection

from apps.engine.workers.leaving import leave_closing_server
from apps.engine.workers.presence import absent_workers, free_leases
from apps.engine.workers.stalled import end_stalled_transactions

log = logging.getLogger(__name__)

#: Interval between two looks of a process.
LOOK_SECONDS = 1.0
#: Each so many looks it asks whether the database accepts clients, which costs a connection.
_LOOKS_TO_PING = 3


class Guard(threading.Thread):
    """Ends stalled transactions, frees the leases of dead workers, and leaves a closing database.

    Until `stop`.
    """

    def __init__(self) -> None:
        super().__init__(name="guard", daemon=True)
        self._stopped = threading.Event()
        self._absent: set[str] = set()
        self._looks = 0

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
        self._looks += 1
        if self._looks % _LOOKS_TO_PING == 0 and leave_closing_server(self._stopped):
            return
        end_stalled_transactions()
        absent = absent_workers()
        # one that was absent once may be connecting again
        for name in absent & self._absent:
            free_leases(name)
        self._absent = absent
