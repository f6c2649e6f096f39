"""The warm engines of this process: one per cluster it has scheduled, reused by later tasks."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict

from django.db import DatabaseError, InterfaceError, connection

from apps.cluster.models import Cluster
from apps.engine.loop.cluster_state import ClusterState, read_state
from apps.engine.loop.engine import Engine
from apps.engine.workers import lease
from apps.engine.workers.lease import LeaseLost

log = logging.getLogger(__name__)

#: Maximum number of engines in memory. The least recently used one is evicted first.
CAPACITY = 200
#: Maximum time of one task; another task continues when there is more to do.
SLICE_SECONDS = 5.0
#: How long a task waits for another one of the same cluster in this process.
LOCK_TIMEOUT_SECONDS = 1.0


#: With more runs than this in a process, none waits for the next change of its cluster: a worker
#: has four threads, and other clusters need them.
MOST_RUNS_TO_WAIT = 2


class Engines:
    """Finds, builds and runs engines. Each engine is used by one thread at a time."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._stopping = threading.Event()
        self._locks: dict[int, threading.Lock] = {}
        self._warm: OrderedDict[int, Engine] = OrderedDict()
        #: runs under way, those that wait for a change included
        self._runs = 0

    def run(self, cluster_id: int, *, waits: bool = False) -> bool:
        """Run a cluster's loop until it is quiet or the slice is over; True if there is more to do.

        With `waits`, a quiet loop first waits for the next change for a while, as long as no other
        cluster needs the thread.

        Returns at once when another process holds the lease. A second task for the same cluster
        waits for the first one, which usually finishes soon. After a timeout it gives up its slot
        to other clusters, and beat wakes the cluster again.
        """
        lock = self._lock_of(cluster_id)
        if not lock.acquire(timeout=LOCK_TIMEOUT_SECONDS):
            return False
        try:
            cluster = self._get_cluster(cluster_id)
            state = read_state(cluster) if cluster is not None else None
            if cluster is None or state is None or state.paused:
                return False
            held = lease.acquire(cluster_id)
            if held is None:
                return False
            self._note_run(+1)
            try:
                return self._run(cluster, state, held, waits)
            finally:
                self._note_run(-1)
        finally:
            lock.release()

    def _note_run(self, change: int) -> None:
        """Count a run; with too many of them, those that only wait end."""
        with self._guard:
            self._runs += change
            crowded = self._runs > MOST_RUNS_TO_WAIT
            waiting = list(self._warm.values()) if crowded and change > 0 else []
        for engine in waiting:
            engine.stop_waiting()

    def _has_free_threads(self) -> bool:
        return self._runs <= MOST_RUNS_TO_WAIT

    def _get_cluster(self, cluster_id: int) -> Cluster | None:
        with self._guard:
            engine = self._warm.get(cluster_id)
        if engine is not None:
            return engine.cluster
        return Cluster.objects.filter(pk=cluster_id).first()

    def _run(
        self, cluster: Cluster, state: ClusterState, held: lease.ClusterLease, waits: bool
    ) -> bool:
        """Run one slice; keeps the lease if this process continues with the next one."""
        continues = False
        try:
            engine = self._get_engine(cluster, state, held)
            with lease.keep_renewed(held):
                more = engine.run(
                    SLICE_SECONDS,
                    self._stopping.is_set,
                    self._has_free_threads if waits else lambda: False,
                )
            held.note_success()
            continues = more and not self._stopping.is_set()
            return more
        except LeaseLost as lost:
            log.warning("lease lost: %s", lost)
            self._discard(cluster.pk)
            return False
        except BaseException as error:
            # the engine's memory may differ from what was committed
            self._discard(cluster.pk)
            if connection.connection is not None and connection.connection.closed:
                # the run ended because its connection did; the next statement opens another one
                connection.close()
            held.note_failure(error)
            raise
        finally:
            if not continues:
                _release(held)

    def has(self, cluster_id: int) -> bool:
        """Whether the engine of a cluster is in memory."""
        with self._guard:
            return cluster_id in self._warm

    def runs_other_clusters(self, cluster_id: int) -> bool:
        """Whether this process is running other clusters now: they share one interpreter."""
        with self._guard:
            return any(lock.locked() for key, lock in self._locks.items() if key != cluster_id)

    def stop(self) -> None:
        """Stop every run after its current batch, because this process is shutting down."""
        self._stopping.set()
        with self._guard:
            warm = list(self._warm.values())
        for engine in warm:
            engine.stop_waiting()

    def close(self) -> None:
        """Close every engine, after all runs have ended."""
        with self._guard:
            warm, self._warm = self._warm, OrderedDict()
        for engine in warm.values():
            engine.close()

    def _get_engine(
        self, cluster: Cluster, state: ClusterState, held: lease.ClusterLease
    ) -> Engine:
        with self._guard:
            engine = self._warm.get(cluster.pk)
            if engine is not None and engine.fits(state, held):
                self._warm.move_to_end(cluster.pk)
                return engine
        self._discard(cluster.pk)
        engine = Engine.load(cluster, held)
        with self._guard:
            self._warm[cluster.pk] = engine
            while len(self._warm) > CAPACITY:
                # not closed: it may be running now
                self._warm.popitem(last=False)
        return engine

    def _discard(self, cluster_id: int) -> None:
        with self._guard:
            engine = self._warm.pop(cluster_id, None)
        if engine is not None:
            engine.close()

    def _lock_of(self, cluster_id: int) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(cluster_id, threading.Lock())


def _release(held: lease.ClusterLease) -> None:
    try:
        held.release()
    except (DatabaseError, InterfaceError):
        # the database is unavailable; the lease expires
        log.warning("could not release the lease of cluster %s", held.cluster_id, exc_info=True)


engines = Engines()
