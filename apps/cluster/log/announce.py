"""Announces that a cluster has changed: NOTIFY for readers, a wake-up for the loop.

NOTIFY takes a lock that is global to the database until its transaction commits, so the
transactions that write objects do not send it. In the web process its event loop does
(`writing.loop_announcer`), one message for all commits in the meantime. Elsewhere the thread that
has committed sends it right after; without a connection of its own, a thread of this process does.
What a killed process did not announce, readers find when they poll the log, and beat when it
queries the due clusters.

The payload is `<cluster id> <version>`, followed by ` due` if the loop has to be woken.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable, Collection, Mapping

from django.db import DatabaseError, InterfaceError, connection

CHANNEL = "schedweb"

log = logging.getLogger(__name__)

#: Called with a cluster's id, its version, and whether its loop has to be woken; False if that
#: cannot be announced any more.
Forward = Callable[[int, int, bool], bool]

#: Called with the id of a cluster that became due, after the commit.
wake_hooks: list[Callable[[int], None]] = []


class Announcer:
    """Announces commits. Its background thread starts when it is first needed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._versions: dict[int, int] = {}
        #: clusters to wake, and whether their announcement still has to say so
        self._due: dict[int, bool] = {}
        self._busy = False
        self._thread: threading.Thread | None = None
        self._forward: Forward | None = None

    def forward_to(self, forward: Forward) -> None:
        """Let `forward` send the announcements, after the responses to the clients."""
        self._forward = forward

    def announce(self, cluster_id: int, version: int, *, due: bool) -> None:
        """Announce that `cluster_id` is at `version`; with `due`, wake its loop.

        Call it after the commit. The loop's message to the broker, and all of the announcement if
        this thread has no database connection, follow in the background.
        """
        if self._forward is not None and self._forward(cluster_id, version, due):
            return
        sent = _can_notify() and _notify({cluster_id: version}, {cluster_id} if due else set())
        if sent and not due:
            return
        with self._changed:
            if not sent:
                self._versions[cluster_id] = max(version, self._versions.get(cluster_id, 0))
            if due:
                self._due.setdefault(cluster_id, not sent)
            self._start()

    def wake(self, cluster_id: int) -> None:
        """Call the hooks for a cluster that has become due; its announcement is the caller's."""
        with self._changed:
            self._due.setdefault(cluster_id, False)
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
                due, self._due = self._due, {}
                self._busy = True
            try:
                if versions:
                    _notify(versions, {key for key, unsaid in due.items() if unsaid})
                _call_wake_hooks(due)
            finally:
                connection.close()
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()


def payload(cluster_id: int, version: int, due: bool) -> str:
    """The text of a notification."""
    return f"{cluster_id} {version}{' due' if due else ''}"


def _can_notify() -> bool:
    """Whether this thread has a connection that is outside a transaction."""
    return connection.connection is not None and not connection.in_atomic_block


def _notify(versions: Mapping[int, int], due: Collection[int]) -> bool:
    """Send the notifications; False if the database is unavailable."""
    payloads = [payload(key, version, key in due) for key, version in versions.items()]
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload",
                [CHANNEL, payloads],
            )
    except (DatabaseError, InterfaceError):
        log.warning("could not announce a change", exc_info=True)
        return False
    return True


def _call_wake_hooks(due: Collection[int]) -> None:
    for cluster_id in due:
        for hook in wake_hooks:
            try:
                hook(cluster_id)
            except Exception:
                # the broker may be unavailable; beat finds the cluster by its due time
                log.warning("could not wake cluster %s", cluster_id, exc_info=True)


announcer = Announcer()
