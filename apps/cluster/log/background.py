"""Announcements for threads: a listener on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from apps.cluster.log.listen import SITE, listener

#: How long one wait lasts; it is repeated until the subscription ends.
_WAIT_SECONDS = 3600.0


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
        forward = self._forward(cluster_id, notify)
        return asyncio.run_coroutine_threadsafe(forward, self._running_loop()).cancel

    def subscribe_to_due(self, notify: Callable[[int], None]) -> Callable[[], object]:
        """Call `notify` with the id of each cluster that becomes due, until the result is called.

        Announcements can be lost: clusters that are due have to be looked for as well.
        """
        forward = self._forward_due(notify)
        return asyncio.run_coroutine_threadsafe(forward, self._running_loop()).cancel

    async def _forward_due(self, notify: Callable[[int], None]) -> None:
        async with listener().subscribe(SITE) as subscription:
            while True:
                await subscription.wait(_WAIT_SECONDS)
                for cluster_id in subscription.take_due():
                    notify(cluster_id)

    async def _forward(self, cluster_id: int, notify: Callable[[int], None]) -> None:
        async with listener().subscribe(cluster_id) as subscription:
            while True:
                version = await subscription.wait(_WAIT_SECONDS)
                if version is not None:
                    notify(version)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._guard:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=self._loop.run_forever, name="listener")
                thread.daemon = True
                thread.start()
            return self._loop


background_listener = BackgroundListener()
