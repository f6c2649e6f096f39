"""What other threads tell a loop: versions that were announced, and pods that can go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from apps.cluster.log.announce import announcer
from apps.cluster.log.background import background_listener


class Signals:
    """Signals of one cluster; `position` returns the version up to which its loop has read."""

    def __init__(self, cluster_id: int, position: Callable[[], int]) -> None:
        self._cluster_id = cluster_id
        self._position = position
        #: set when a pod that waited can go on, or a plugin has a request
        self.progress = threading.Event()
        #: set to end the waiting for changes
        self._wake = threading.Event()
        #: the last version that was announced, and the last one before the database was read
        self.announced = 0
        self._looked_at = 0
        #: whether changes of unknown versions were announced
        self._has_unknown = False
        #: whether the loop runs; otherwise it has to be woken by a message
        self._running = False
        self._unsubscribe: Callable[[], object] | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the loop runs: progress sends no message."""
        self._running = True
        try:
            yield
        finally:
            self._running = False
            if self._unsubscribe is not None:
                self._unsubscribe()
                self._unsubscribe = None

    def note_progress(self) -> None:
        """Called from any thread: a pod that waited can go on, or a plugin has a request."""
        self.progress.set()
        self._wake.set()
        if not self._running:
            announcer.announce(self._cluster_id, self._position(), due=True)

    def end_waiting(self) -> None:
        """Called from any thread that needs the one of the loop."""
        self._wake.set()

    def subscribe(self) -> None:
        """Hear of changes until the loop ends."""
        if self._unsubscribe is None:
            self._unsubscribe = background_listener.subscribe(self._cluster_id, self._note_change)

    def _note_change(self, version: int) -> None:
        """Called by the listener's thread."""
        if version > self._position():
            self.announced = version
        elif version:
            return
        else:
            self._has_unknown = True
        self._wake.set()

    def take_unknown(self) -> bool:
        """Whether changes of unknown versions were announced, once."""
        has_unknown, self._has_unknown = self._has_unknown, False
        return has_unknown

    def begin_look(self) -> bool:
        """The database is read now; returns whether it should have changes.

        Another client of the database may have announced a version that does not exist: it causes
        one look.
        """
        self._looked_at = self.announced
        return self.announced > self._position()

    def has_any(self) -> bool:
        """Whether a change was announced that the loop has not read, or a pod can go on."""
        unread = self._position() < self.announced != self._looked_at
        return unread or self._has_unknown or self.progress.is_set()

    def clear(self) -> None:
        """From now on `wait` waits for what comes next."""
        self._wake.clear()

    def wait(self, seconds: float) -> bool:
        """Wait for a signal; False if there was none."""
        return self._wake.wait(seconds)
