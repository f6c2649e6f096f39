"""One cluster's scheduler with its eyes and hands: what a worker keeps warm between tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from typing import cast

import msgspec
from django.db import connection, transaction

from apps.cluster.models import Cluster
from apps.controlplane import profiles
from apps.controlplane.clock import ClusterClock
from apps.controlplane.controllers.manager import Controllers
from apps.controlplane.informer import Informer
from apps.controlplane.lease import Lease
from apps.controlplane.models import LoopLease, QueueEntry, SchedulerProfile
from apps.controlplane.recorder import Made, Recorder
from apps.scheduler.objects import Pod
from apps.scheduler.queue.records import QueueEntry as SavedEntry
from apps.scheduler.scheduler import Scheduler, TieBreak

#: A batch ends after so many decisions or so long, whichever comes first: large enough to share
#: the cost of a commit, small enough that a pod is not kept waiting for its neighbours.
BATCH_DECISIONS = 200
BATCH_SECONDS = 0.1
#: Controllers that wait for each other take turns so often before the next batch of pods.
CONTROLLER_ROUNDS = 4
#: Upstream's flush of leftovers runs so often.
FLUSH_UNSCHEDULABLE_SECONDS = 30.0


class Engine:
    """Runs the loop of one cluster: look, flush, schedule a batch, record it, again.

    Lives as long as its lease's epoch. It is thrown away when anything fails between memory and
    database, and rebuilt from rows and objects, which are always the truth.
    """

    def __init__(self, cluster: Cluster, lease: Lease, profile: SchedulerProfile) -> None:
        self.cluster = cluster
        self.lease = lease
        self.profile = profile
        self.scheduler = Scheduler(
            profiles.configuration(profile),
            clock=ClusterClock(cluster),
            tie_break=cast(TieBreak, cluster.tie_break),
            seed=cluster.seed,
        )
        self.controllers = Controllers(cluster, lease)
        self.informer = Informer(cluster.pk, self.scheduler.handle, self.controllers.take_in)
        self.recorder = Recorder(cluster, lease, profile.revision)
        #: by the cluster's clock; a new engine looks at the leftovers at once
        self._flushed_at = 0.0

    @classmethod
    def load(cls, cluster: Cluster, lease: Lease) -> Engine:
        """An engine that knows the cluster and has its queue as it was last recorded."""
        engine = cls(cluster, lease, profiles.active(cluster))
        rows = QueueEntry.objects.filter(cluster=cluster).values_list("pod_uid", "state")
        entries = {str(uid): msgspec.convert(state, SavedEntry) for uid, state in rows}

        def restore(pending: Mapping[str, Pod]) -> Container[str]:
            engine.scheduler.queue.restore(entries.values(), pending.get)
            engine.recorder.start_with(entries, [uid for uid in entries if uid not in pending])
            return entries

        engine.informer.load(restore)
        engine.take_up_profile()
        return engine

    def take_up_profile(self) -> None:
        """Under another profile than the last one, every pod that was refused gets a new try."""
        leases = LoopLease.objects.filter(cluster=self.cluster)
        if leases.exclude(profile_revision=self.profile.revision).exists():
            queue = self.scheduler.queue
            queue.activate([info.pod for info in queue.unschedulable_pods()])
            leases.update(profile_revision=self.profile.revision)

    def fits(self, cluster: Cluster, lease: Lease) -> bool:
        """Whether this engine may go on under `lease`, with the cluster's active profile."""
        return (
            self.lease.epoch == lease.epoch
            and profiles.active(cluster).revision == self.profile.revision
        )

    def run(self, seconds: float, stopping: Callable[[], bool] = lambda: False) -> bool:
        """Work until nothing is left or `seconds` are over; True if there is more to do.

        Also ends after the current batch when the process is `stopping`.
        """
        deadline = time.monotonic() + seconds
        while True:
            self.cluster.look_again()
            self.informer.catch_up()
            acted = self._run_controllers()
            self._flush()
            batch = self._schedule_batch()
            changes = self.scheduler.queue.take_changes()
            if batch or self.recorder.concerns(changes):
                self.recorder.record(self.scheduler, self.informer, batch, changes)
            elif not acted and self._rest():
                return False
            if self._stopped():
                return False
            if time.monotonic() > deadline or stopping():
                return True

    def _run_controllers(self) -> bool:
        """Let them settle before pods are tried: what they write is seen by the next of them."""
        for rounds in range(CONTROLLER_ROUNDS):
            if not self.controllers.act():
                return rounds > 0
            self.informer.catch_up()
        return True

    def _schedule_batch(self) -> list[Made]:
        batch: list[Made] = []
        until = time.monotonic() + BATCH_SECONDS
        while len(batch) < BATCH_DECISIONS and time.monotonic() < until:
            decision = self.scheduler.schedule_one()
            if decision is None:
                break
            now = self.cluster.now()
            batch.append(Made(decision, now, self.informer.position, len(batch)))
        return batch

    def _flush(self) -> None:
        queue = self.scheduler.queue
        queue.flush_backoff_completed()
        now = self.scheduler.clock.now()
        if not 0 <= now - self._flushed_at < FLUSH_UNSCHEDULABLE_SECONDS:
            queue.flush_unschedulable_leftover()
            self._flushed_at = now

    def _stopped(self) -> bool:
        """Whether the cluster was paused, deleted, or given another profile meanwhile."""
        cluster = Cluster.objects.filter(pk=self.cluster.pk, paused=False).first()
        return cluster is None or not self.fits(cluster, self.lease)

    def _rest(self) -> bool:
        """Stop being due, unless something has changed since the last look."""
        with transaction.atomic():
            self.lease.renew(consumed_version=self.informer.position)
            with connection.cursor() as cursor:
                # the clock may have been set forward since the last look, as well
                cursor.execute(
                    "UPDATE cluster_cluster SET due_at = NULL, timer_at = %s "
                    "WHERE id = %s AND resource_version = %s "
                    "AND manual_time IS NOT DISTINCT FROM %s",
                    [
                        self.controllers.next_due(),
                        self.cluster.pk,
                        self.informer.position,
                        self.cluster.manual_time,
                    ],
                )
                return bool(cursor.rowcount)
