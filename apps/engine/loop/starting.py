"""Runs slices of loops: for a message of the broker, or as soon as a cluster becomes due."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection

from apps.cluster.log.background import background_listener
from apps.engine.loop.engines import Engines
from apps.engine.workers import heartbeat, lease
from apps.engine.workers.waking import wake

log = logging.getLogger(__name__)

#: As many as a worker has for messages; further clusters wait, or another worker takes them.
THREADS = 4


def run_slice(engines: Engines, cluster_id: int) -> None:
    """Run a cluster's loop, and send a message for the rest if it is not quiet after a slice.

    After each slice of a busy cluster, one of several in this process moves to an idle worker.
    """
    if not engines.run(cluster_id, waits=True):
        return
    idle = heartbeat.idle_worker() if engines.runs_other_clusters(cluster_id) else None
    if idle is not None:
        lease.release(cluster_id)
    wake(cluster_id, queue=idle)


class Starter:
    """Starts the loops of this process's warm engines when their clusters become due.

    An announcement arrives within a millisecond, a message of the broker takes twenty times as
    long. A worker process has one starter, from when it sends heartbeats: writers then rely on it.
    """

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="loop")
        self._unsubscribe: Callable[[], object] = lambda: None

    def start(self) -> None:
        """Listen, until `stop`."""
        self._unsubscribe = background_listener.subscribe_to_due(self._note_due)

    def stop(self) -> None:
        """Start nothing any more, and wait for the runs under way."""
        self._unsubscribe()
        self._threads.shutdown(cancel_futures=True)

    def _note_due(self, cluster_id: int) -> None:
        """Called by the listener's thread."""
        if self._engines.has(cluster_id):
            self._threads.submit(self._run, cluster_id)

    def _run(self, cluster_id: int) -> None:
        try:
            run_slice(self._engines, cluster_id)
        except Exception:
            # the cluster stays due; beat sends it to a worker again
            log.exception("the loop of cluster %s failed", cluster_id)
        finally:
            connection.close()
