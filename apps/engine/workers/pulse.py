"""The thread of a worker process that writes its heartbeat."""

from __future__ import annotations

import logging
import os
import select
import threading

from django.db import DatabaseError, InterfaceError, connection

from apps.engine.workers import heartbeat, presence

log = logging.getLogger(__name__)

#: Wait before the next attempt while the database is unavailable.
RETRY_SECONDS = 0.25


class HeartbeatSender(threading.Thread):
    """Sends the heartbeats of one name, and stays connected, until `stop`.

    A lost connection is noticed at once, because others take the process for dead without it.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name="pulse", daemon=True)
        self._of = name
        self._is_shown = False
        self._stop_read, self._stop_write = os.pipe()

    def run(self) -> None:
        stopped = False
        while not stopped:
            try:
                self._beat()
            except (DatabaseError, InterfaceError):
                # the database is unavailable, also to any reader of heartbeats
                log.warning("no heartbeat for %s", self._of, exc_info=True)
                self._disconnect()
                stopped = self._wait(RETRY_SECONDS)
            else:
                stopped = self._wait(heartbeat.INTERVAL_SECONDS, connection.connection.fileno())
        self._disconnect()

    def stop(self) -> None:
        """Stop the thread and expire the heartbeat, so that nothing waits for this process.

        The row stays, because a message may be sent to its queue at this moment.
        """
        os.write(self._stop_write, b".")
        self.join()
        os.close(self._stop_read)
        os.close(self._stop_write)
        heartbeat.expire(self._of)

    def _beat(self) -> None:
        if not self._is_shown:
            self._is_shown = presence.announce(self._of)
        heartbeat.touch(self._of)

    def _disconnect(self) -> None:
        connection.close()
        self._is_shown = False

    def _wait(self, seconds: float, *connected: int) -> bool:
        """Wait, at most until the connection ends; whether the thread is to stop."""
        readable, _, _ = select.select([self._stop_read, *connected], [], [], seconds)
        return self._stop_read in readable
