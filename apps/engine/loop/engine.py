"""One cluster's scheduler, with all that reads and writes for it: what a worker keeps in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from apps.cluster.errors import Conflict
from apps.cluster.exchange import exchange
from apps.cluster.models import Cluster
from apps.controllers.cache import ControllerCache
from apps.controllers.events.ttl import EventTtl
from apps.controllers.manager import Controllers, StoreCommit
from apps.engine.ledger.records import DecisionRecord
from apps.engine.loop import restoring
from apps.engine.loop.batches import BatchCommits
from apps.engine.loop.clock import ClusterClock
from apps.engine.loop.cluster_state import ClusterState, read_state, send_look, take_in
from apps.engine.loop.confirmation import Confirmation
from apps.engine.loop.extender_objects import StoredBodies
from apps.engine.loop.informer import Informer
from apps.engine.loop.recorder import Recorder
from apps.engine.loop.scheduling import BatchScheduler
from apps.engine.loop.second_opinion import SecondOpinions
from apps.engine.loop.signals import Signals
from apps.engine.loop.timers import Timers
from apps.engine.metrics import stored
from apps.engine.models import ConfigurationRevision
from apps.engine.profiles import revisions
from apps.engine.profiles.gates import gates_of
from apps.engine.profiles.schedulers import assemble_scheduler
from apps.engine.queue import activation
from apps.engine.queue.history import QueueHistory
from apps.engine.workers.lease import ClusterLease
from apps.scheduler.attempt import Attempt
from apps.scheduler.context import SchedulingContext
from apps.scheduler.decision import Decision
from apps.scheduler.framework.status import Status
from apps.scheduler.objects import Pod
from apps.scheduler.tie_break import random_draws

#: Controllers that wait for each other take turns so often before the next batch of pods.
CONTROLLER_ROUNDS = 4
#: While more pods wait than a batch takes, controllers act only so often, and on more at once.
CONTROLLER_SECONDS = 1.0
#: Slow steps of bindings (an extender, a plugin from outside) run in so many threads at most.
BINDING_THREADS = 16
#: An engine with nothing left to do waits so long for the next change before it rests ...
WAIT_SECONDS = 2.0
#: ... and looks at its timers so often meanwhile.
LOOK_SECONDS = 0.25
#: Before it records that it has acted on all changes: the next one may follow at once.
CONFIRM_SECONDS = 0.02


class Engine:
    """Runs the loop of one cluster: look, flush, schedule a batch, record it, again.

    Lives as long as its lease's epoch. It is thrown away when anything fails between memory and
    database, and rebuilt from rows and objects, which are always the truth.
    """

    def __init__(
        self, cluster: Cluster, lease: ClusterLease, revision: ConfigurationRevision
    ) -> None:
        self.cluster = cluster
        self.lease = lease
        self.revision = revision
        self.signals = Signals(cluster.pk, lambda: self.informer.position)
        self._bindings = ThreadPoolExecutor(BINDING_THREADS, f"binding-{cluster.pk}")
        history = QueueHistory(cluster)
        self.scheduler = assemble_scheduler(
            revisions.load_configuration(revision),
            clock=ClusterClock(cluster),
            tie_break=cluster.tie_break,
            draws=random_draws(cluster.seed),
            bodies=StoredBodies(cluster.pk),
            executor=self._bindings,
            on_progress=self.signals.note_progress,
            observer=history.note,
        )
        self.informer = Informer(cluster.pk, self.scheduler.handle)
        self._build_reactions()
        of_revision = (cluster, lease, revision.revision, self.scheduler, self.informer)
        self.recorder = Recorder(*of_revision, history, self.controllers)
        self.batches = BatchScheduler(cluster, self.scheduler, self.informer, self.signals.progress)
        self._commits = BatchCommits(cluster, self.scheduler, self.informer, self.recorder)
        self.timers = Timers(cluster, self.scheduler, self.controllers, self.event_ttl)
        self._confirmation = Confirmation(*of_revision)
        #: when the controllers acted last
        self._acted_at = 0.0

    def _build_reactions(self) -> None:
        """What acts on the changes that the informer reads, besides the scheduler."""
        cluster, renew, note = self.cluster, self.lease.renew, self.informer.note_own_writes
        commit = StoreCommit(cluster, renew, note, lambda: self.informer.position)
        self.controllers = Controllers(ControllerCache(cluster, gates_of), commit)
        self.informer.observe = self.controllers.take_in
        self.opinions = SecondOpinions(cluster, self.scheduler, self.revision.revision)
        self.informer.before_change = self.opinions.take_in
        self.event_ttl = EventTtl(cluster, renew, note)

    def close(self) -> None:
        """Release threads and connections; results of binding cycles that still run are lost."""
        self._bindings.shutdown(wait=False, cancel_futures=True)
        self.scheduler.close()

    @classmethod
    def load(cls, cluster: Cluster, lease: ClusterLease) -> Engine:
        """An engine that knows the cluster and has its queue as it was last recorded.

        Raises LeaseLost if another process holds the lease.
        """
        engine = cls(cluster, lease, revisions.get_active(cluster))
        engine.scheduler.metrics.restore(stored.load(cluster.pk))
        saved = restoring.load_saved_queue(cluster)
        # an external scheduler's bindings since then are reviewed one by one
        replays = saved.entries or cluster.scheduling == Cluster.Scheduling.EXTERNAL
        pending = engine.informer.load(since=saved.version if replays else None)
        restoring.restore_queue(
            saved,
            pending,
            scheduler=engine.scheduler,
            loaded_at=engine.informer.loaded_at,
            profile_revision=engine.revision.revision,
        )
        gone = [uid for uid in saved.entries if uid not in pending]
        engine.recorder.start_with(saved.entries, gone)
        return engine

    def fits(self, state: ClusterState, lease: ClusterLease) -> bool:
        """Whether this engine may go on under `lease`, with the cluster's active revision."""
        return (
            self.lease.epoch == lease.epoch
            # of an older one, it would miss what retention has forgotten
            and self.informer.position >= state.forgotten_version
            and state.revision == self.revision.revision
        )

    def run(
        self,
        seconds: float,
        stopping: Callable[[], bool] = lambda: False,
        waits: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Work until nothing is left or `seconds` are over; True if there is more to do.

        While `waits()` is true and nothing is left, the engine waits for the next change of the
        cluster for up to WAIT_SECONDS: it schedules a pod that is created then without a message
        from the broker.

        Also ends after the current batch when the process is `stopping`. Pods that wait (for a
        Permit plugin, for a step of their binding) are not waited for: when one can go on, the
        cluster is woken. Raises LeaseLost if another process holds the lease.
        """
        with self.signals.running():
            more = self._run(seconds, stopping, waits)
        return more or self.signals.progress.is_set()

    def _run(self, seconds: float, stopping: Callable[[], bool], waits: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + seconds
        wait_until = 0.0
        while True:
            state = self._look()
            if state is None or state.paused:
                return False
            if not self.fits(state, self.lease):
                self.opinions.save(quiet=True)
                return True
            if self._work(state):
                wait_until = 0.0
            else:
                wait_until = wait_until or min(time.monotonic() + WAIT_SECONDS, deadline)
                self.signals.clear()
                if waits() and not stopping() and self._wait_for_change(wait_until):
                    continue
                has_opinions = self.opinions.save(quiet=True)
                if not has_opinions and self._rest() and not self.signals.progress.is_set():
                    return False
            if time.monotonic() > deadline or stopping():
                return True

    def _work(self, state: ClusterState) -> bool:
        """Read the changes, act on them, schedule a batch and record it; False if all is quiet."""
        self.informer.catch_up(state.version)
        has_opinions = self.opinions.save()
        acted, goes_on = self._run_controllers(state)
        if not goes_on:
            return True
        acted |= self.event_ttl.act()
        self.timers.flush()
        activations = self._activate() if state.has_activations else []
        ended = self.batches.resolve_waiting()
        batch, is_divided = self._schedule(ended, divides=not (ended or activations))
        self.batches.settle(batch)
        return (
            self._commits.record(batch, activations)
            or acted
            or has_opinions
            or is_divided
            or (not self.signals.progress.is_set() and self.timers.jump(self.informer.position))
        )

    def _schedule(
        self, ended: list[DecisionRecord], *, divides: bool
    ) -> tuple[list[DecisionRecord], bool]:
        """Schedule a batch; returns its uncommitted decisions, and whether some are committed.

        `ended` are decisions that have become final; with them a batch is not divided.
        """
        parts = self.batches.schedule(ended)
        # extenders read objects from the database meanwhile
        if divides and not (self.cluster.quotas or self.scheduler.extenders):
            return self._commits.commit_parts(parts)
        return [*ended, *chain.from_iterable(parts)], False

    def _activate(self) -> Sequence[int]:
        return activation.apply(self.cluster, self.scheduler.queue)

    def _look(self) -> ClusterState | None:
        """The state of the cluster, read with the changes that were announced.

        The commit of a batch has read it already, unless something was announced since.
        """
        has_unknown = self.signals.take_unknown()
        ahead = self.recorder.take_look()
        if ahead is not None and ahead.rows and not has_unknown:
            state = take_in(ahead, self.cluster)
            if state is not None and self.signals.announced <= state.version:
                return state
        has_changes = self.signals.begin_look()
        with exchange() as sent:
            answer = send_look(sent, self.cluster)
            if has_changes:
                self.informer.send_look(sent)
            sent.receive()
        return take_in(answer, self.cluster)

    def _wait_for_change(self, until: float) -> bool:
        """Wait for an announcement; False when the time is over.

        The cluster stays due meanwhile, so a change sends no message; and the loop looks at its
        timers every now and then.
        """
        seconds = until - time.monotonic()
        if seconds <= 0:
            return False
        self.signals.subscribe()
        if self.signals.has_any():
            return True
        if not self._confirmation.is_complete:
            if self.signals.wait(min(seconds, CONFIRM_SECONDS)):
                return True
            self._confirmation.confirm()
        self.signals.wait(min(seconds, LOOK_SECONDS))
        return True

    def stop_waiting(self) -> None:
        """End the waiting for changes, for others who need the thread."""
        self.signals.end_waiting()

    def _rest(self) -> bool:
        """Be due no more until a pod's time to wait is over, unless something has changed."""
        return self._confirmation.rest(self.timers.next())

    def _run_controllers(self, state: ClusterState) -> tuple[bool, bool]:
        """Let them settle before pods are tried: what they write is seen by the next of them.

        Returns whether they had anything to do, and whether this engine may go on.
        """
        if self.batches.is_crowded and time.monotonic() - self._acted_at < CONTROLLER_SECONDS:
            return True, True
        self._acted_at = time.monotonic()
        for rounds in range(CONTROLLER_ROUNDS):
            if not self.controllers.act():
                return rounds > 0, True
            self.informer.catch_up(self.informer.position)
            if self.informer.read_upto > state.version:
                # changes of others, before which a revision may have been activated, or a setting
                # changed
                newer = read_state(self.cluster)
                if newer is None or newer.paused or not self.fits(newer, self.lease):
                    return True, False
                state = newer
        return True, True

    def schedule_by_hand(
        self, pod: Pod, version: int, cycle: Callable[[SchedulingContext, Attempt], Status]
    ) -> Decision:
        """Try one pod of a paused cluster with another scheduling cycle, and record its decision.

        Raises Conflict if the cluster is not paused, is not at `version` any more, or if the pod
        is not in the queue; LeaseLost if another process holds the lease.
        """
        state = self._look()
        if state is None or not state.paused:
            raise Conflict("clusters", self.cluster.name, "it is not paused")
        self.informer.catch_up(state.version)
        if self.informer.position != version:
            raise Conflict("clusters", self.cluster.name, f"it has changed since version {version}")
        record = self.batches.schedule_by_hand(pod, cycle)
        if record is None:
            raise Conflict("pods", pod.metadata.name, "it is not in the queue, or is gated")
        batch = [record]
        self.batches.settle(batch)
        self._commits.record(batch)
        return record.decision
