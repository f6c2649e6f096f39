"""Announcements for threads: a listener on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from apps.cluster.log.listen import SITE, OnChange, listener


class BackgroundListener:
    """Calls functions when clusters change; the thread starts with the first subscription."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def subscribe(self, cluster_id: int, notify: Callable[[int], None]) -> Callable[[], object]:
        """Call `notify` with each announced version of a cluster, until the result is called.

        A version of 0 is unknown: the subscriber looks at the log. `notify` is called on the
        listener's thread and returns at once.
        """
        forward = self._hold(cluster_id, lambda version, due: notify(version))
        return asyncio.run_coroutine_threadsafe(forward, self._running_loop()).cancel

    def subscribe_to_due(self, notify: Callable[[int], None]) -> Callable[[], object]:
        """Call `notify` with the id of each cluster that becomes due, until the result is called.

        Announcements can be lost: clusters that are due have to be looked for as well.
        """

        def forward(version: int, due: int | None) -> None:
            if due is not None:
                notify(due)

        holding = self._hold(SITE, forward)
        return asyncio.run_coroutine_threadsafe(holding, self._running_loop()).cancel

    async def _hold(self, cluster_id: int, on_change: OnChange) -> None:
        async with listener().subscribe(cluster_id, on_change):
            await asyncio.get_running_loop().create_future()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._guard:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=self._loop.run_forever, name="listener")
                thread.daemon = True
                thread.start()
            return self._loop


background_listener = BackgroundListener()
