"""Announces that a cluster has changed: NOTIFY for readers, a wake-up for the loop.

NOTIFY takes a lock that is global to the database until its transaction commits, so the
transactions that write objects do not send it: one thread per process sends it right after, one
message for all commits in the meantime. What a killed process did not announce, readers find when
they poll the log, and beat when it queries the due clusters.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError, connection

CHANNEL = "schedweb"

log = logging.getLogger(__name__)

#: Called with the id of a cluster that became due, after the commit.
wake_hooks: list[Callable[[int], None]] = []


class Announcer:
    """A background thread that announces commits; the first commit starts it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._versions: dict[int, int] = {}
        self._due: set[int] = set()
        self._busy = False
        self._thread: threading.Thread | None = None

    def announce(self, cluster_id: int, version: int, *, due: bool) -> None:
        """Announce soon that `cluster_id` is at `version`; with `due`, wake its loop."""
        with self._changed:
            self._versions[cluster_id] = max(version, self._versions.get(cluster_id, 0))
            if due:
                self._due.add(cluster_id)
            self._start()

    def wake(self, cluster_id: int) -> None:
        """Wake the loop of a cluster soon; who calls it announces the change."""
        with self._changed:
            self._due.add(cluster_id)
            self._start()

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="announcer", daemon=True)
            self._thread.start()
            atexit.register(self.flush, 5.0)
        self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until all commits so far are announced; False on timeout."""
        with self._changed:
            return self._changed.wait_for(
                lambda: not (self._versions or self._due or self._busy), timeout
            )

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._versions or self._due))
                versions, self._versions = self._versions, {}
                due, self._due = self._due, set()
                self._busy = True
            try:
                self._announce(versions, due)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def _announce(self, versions: dict[int, int], due: set[int]) -> None:
        for cluster_id in due:
            for hook in wake_hooks:
                try:
                    hook(cluster_id)
                except Exception:
                    # the broker may be unavailable; beat finds the cluster by its due time
                    log.warning("could not wake cluster %s", cluster_id, exc_info=True)
        if versions:
            self._notify(versions)
        else:
            # what a hook has used
            connection.close()

    def _notify(self, versions: dict[int, int]) -> None:
        try:
            with connection.cursor() as cursor:
                cursor.executemany(
                    "SELECT pg_notify(%s, %s)",
                    [(CHANNEL, f"{key} {version}") for key, version in versions.items()],
                )
        except (DatabaseError, InterfaceError):
            log.warning("could not announce a change", exc_info=True)
        finally:
            connection.close()


announcer = Announcer()
