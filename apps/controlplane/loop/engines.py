"""The warm engines of this process: one per cluster it has scheduled, kept between tasks."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict

from apps.cluster.models import Cluster
from apps.controlplane.loop.engine import Engine
from apps.controlplane.workers import lease
from apps.controlplane.workers.lease import LeaseLost

log = logging.getLogger(__name__)

#: Engines kept in memory. The one unused for longest makes room; it is rebuilt when needed.
CAPACITY = 200
#: A task gives its slot back after so long, even when there is more to do.
SLICE_SECONDS = 5.0
#: A task waits so long for another one of the same cluster in this process.
PATIENCE_SECONDS = 1.0


class Engines:
    """Finds, builds and runs engines; one thread at a time works with any of them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._stopping = threading.Event()
        self._locks: dict[int, threading.Lock] = {}
        self._warm: OrderedDict[int, Engine] = OrderedDict()

    def run(self, cluster_id: int) -> bool:
        """Run a cluster's loop until it is quiet or its slice is over; True if there is more.

        Returns at once when another process holds the lease. A second task for the same cluster
        waits for the first one, which is nearly done if the cluster is due; if it is not, its slot
        is worth more to others, and beat wakes the cluster again.
        """
        lock = self._lock_of(cluster_id)
        if not lock.acquire(timeout=PATIENCE_SECONDS):
            return False
        try:
            cluster = Cluster.objects.filter(pk=cluster_id, paused=False).first()
            held = lease.acquire(cluster_id) if cluster is not None else None
            if cluster is None or held is None:
                return False
            return self._run(cluster, held)
        finally:
            lock.release()

    def _run(self, cluster: Cluster, held: lease.ClusterLease) -> bool:
        """One slice; keeps the lease if this process goes on with the next one."""
        goes_on = False
        try:
            engine = self._engine(cluster, held)
            with lease.keep_renewed(held):
                more = engine.run(SLICE_SECONDS, self._stopping.is_set)
            goes_on = more and not self._stopping.is_set()
            return more
        except LeaseLost as lost:
            log.warning("lease lost: %s", lost)
            self._forget(cluster.pk)
            return False
        except BaseException:
            # what the engine remembers may differ from what was committed
            self._forget(cluster.pk)
            raise
        finally:
            if not goes_on:
                held.release()

    def has_others_at_work(self, cluster_id: int) -> bool:
        """Whether this process runs other clusters just now: they share one interpreter."""
        with self._guard:
            return any(lock.locked() for key, lock in self._locks.items() if key != cluster_id)

    def stop(self) -> None:
        """This process is going: end every run after its current batch, for another to go on."""
        self._stopping.set()

    def close(self) -> None:
        """Close every engine; the runs are over."""
        with self._guard:
            warm, self._warm = self._warm, OrderedDict()
        for engine in warm.values():
            engine.close()

    def _engine(self, cluster: Cluster, held: lease.ClusterLease) -> Engine:
        with self._guard:
            engine = self._warm.get(cluster.pk)
            if engine is not None and engine.fits(cluster, held):
                self._warm.move_to_end(cluster.pk)
                return engine
        self._forget(cluster.pk)
        engine = Engine.load(cluster, held)
        with self._guard:
            self._warm[cluster.pk] = engine
            while len(self._warm) > CAPACITY:
                # not closed: it may be at work just now
                self._warm.popitem(last=False)
        return engine

    def _forget(self, cluster_id: int) -> None:
        with self._guard:
            engine = self._warm.pop(cluster_id, None)
        if engine is not None:
            engine.close()

    def _lock_of(self, cluster_id: int) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(cluster_id, threading.Lock())


engines = Engines()
