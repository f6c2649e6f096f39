"""One cluster's scheduler with its eyes and hands: what a worker keeps warm between tasks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain

from django.db import DataError

from apps.cluster.errors import Conflict
from apps.cluster.exchange import Exchange, exchange
from apps.cluster.log.announce import announcer
from apps.cluster.log.background import background_listener
from apps.cluster.models import Cluster
from apps.cluster.prepared import send_together
from apps.controllers.cache import ControllerCache
from apps.controllers.events.ttl import EventTtl
from apps.controllers.manager import Controllers, StoreCommit
from apps.engine.ledger.records import DecisionRecord, Draws, Expected, SeenState
from apps.engine.loop import restoring
from apps.engine.loop.batches import split
from apps.engine.loop.clock import ClusterClock, jump
from apps.engine.loop.cluster_state import ClusterState, send_look, take_in
from apps.engine.loop.decision_log import collect_inputs, has_scores
from apps.engine.loop.extender_objects import StoredBodies
from apps.engine.loop.informer import Informer
from apps.engine.loop.next_times import FLUSH_SECONDS, next_backoff, next_flush
from apps.engine.loop.recorder import Recorder
from apps.engine.loop.second_opinion import SecondOpinions
from apps.engine.metrics import stored
from apps.engine.models import ConfigurationRevision
from apps.engine.profiles import revisions
from apps.engine.profiles.gates import gates_of
from apps.engine.profiles.schedulers import assemble_scheduler
from apps.engine.queue import activation
from apps.engine.queue.history import Deferred, QueueHistory
from apps.engine.workers.lease import ClusterLease, LeaseLost
from apps.scheduler.attempt import Attempt
from apps.scheduler.context import SchedulingContext
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Intent
from apps.scheduler.framework.status import Status
from apps.scheduler.metrics.gauges import note_state
from apps.scheduler.objects import Pod
from apps.scheduler.queue.records import QueueChanges
from apps.scheduler.tie_break import random_draws

#: A batch ends after so many decisions or so long, whichever comes first: large enough to share
#: the cost of a commit, small enough that a pod is not kept waiting for its neighbours.
BATCH_DECISIONS = 200
BATCH_SECONDS = 0.1
#: The same while more pods wait than the last batch took: they wait for each other anyway.
CROWDED_DECISIONS = 500
CROWDED_SECONDS = 0.5
#: Such a batch is committed in parts, and the next part is scheduled meanwhile.
PART_DECISIONS = 100
#: Controllers that wait for each other take turns so often before the next batch of pods.
CONTROLLER_ROUNDS = 4
#: While more pods wait than a batch takes, controllers act only so often, and on more at once.
CONTROLLER_SECONDS = 1.0
#: Slow steps of bindings (an extender, a plugin from outside) run in so many threads at most.
BINDING_THREADS = 16
#: A batch waits so long for those that are nearly done.
SETTLE_SECONDS = 0.005
#: An engine with nothing left to do waits so long for the next change before it rests ...
WAIT_SECONDS = 2.0
#: ... and looks at its timers so often meanwhile.
LOOK_SECONDS = 0.25
#: Before it records that it has acted on all changes: the next one may follow at once.
CONFIRM_SECONDS = 0.02
#: While one of them runs, the cluster is looked at so often: the process may be gone with it.
BINDING_LOOK_SECONDS = 5.0


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
        self._bindings = ThreadPoolExecutor(BINDING_THREADS, f"binding-{cluster.pk}")
        self.history = QueueHistory(cluster)
        self.scheduler = assemble_scheduler(
            revisions.load_configuration(revision),
            clock=ClusterClock(cluster),
            tie_break=cluster.tie_break,
            draws=random_draws(cluster.seed),
            bodies=StoredBodies(cluster.pk),
            executor=self._bindings,
            on_progress=self._note_progress,
            observer=self.history.note,
        )
        self.informer = Informer(cluster.pk, self.scheduler.handle)
        commit = StoreCommit(
            cluster,
            lease.renew,
            self.informer.note_own_writes,
            lambda: self.informer.position,
        )
        self.controllers = Controllers(ControllerCache(cluster, gates_of), commit)
        self.informer.observe = self.controllers.take_in
        self.opinions = SecondOpinions(cluster, self.scheduler, revision.revision)
        self.informer.before_binding = self.opinions.review
        self.event_ttl = EventTtl(cluster, lease.renew, self.informer.note_own_writes)
        self.recorder = Recorder(
            cluster,
            lease,
            revision.revision,
            self.history,
            self.controllers,
            announces_nodes=self.scheduler.gates.enabled("NominatedNodeNameForExpectation"),
        )
        #: by the cluster's clock; a new engine flushes the unschedulable pods at once
        self._flushed_at = 0.0
        #: whether the last batch left pods in the queue; when the controllers acted last
        self._crowded = False
        self._acted_at = 0.0
        #: decisions that are not final yet, by the pod's uid
        self._under_way: dict[str, DecisionRecord] = {}
        #: set when a pod that waited can go on; and whether the loop runs, otherwise it is woken
        self._progress = threading.Event()
        self._running = False
        #: set by announcements of changes, and to end the waiting for them
        self._news = threading.Event()
        #: the last version that was announced, the one before the last look, and whether changes of
        #: unknown versions were announced
        self._announced = 0
        self._answered = 0
        self._missed_news = False
        self._unsubscribe: Callable[[], object] | None = None
        #: the version up to which the lease says that the loop has acted
        self._confirmed_version = -1
        #: the version after which decisions are counted, and the number of the next one
        self._counted_after = 0
        self._sequence = 0

    def close(self) -> None:
        """Release threads and connections; results of binding cycles that still run are lost."""
        self._bindings.shutdown(wait=False, cancel_futures=True)
        self.scheduler.close()

    @classmethod
    def load(cls, cluster: Cluster, lease: ClusterLease) -> Engine:
        """An engine that knows the cluster and has its queue as it was last recorded."""
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
        cluster is woken.
        """
        self._running = True
        try:
            more = self._run(seconds, stopping, waits)
        finally:
            self._running = False
            if self._unsubscribe is not None:
                self._unsubscribe()
                self._unsubscribe = None
        return more or self._progress.is_set()

    def _run(self, seconds: float, stopping: Callable[[], bool], waits: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + seconds
        wait_until = 0.0
        while True:
            state = self._look()
            if state is None or state.paused:
                return False
            if not self.fits(state, self.lease):
                return True
            self.informer.catch_up(state.version)
            self.opinions.save()
            acted = self._run_controllers() | self.event_ttl.act()
            self._flush()
            activations = (
                activation.apply(self.cluster, self.scheduler.queue)
                if state.has_activations
                else []
            )
            ended = self._resolve_waiting()
            parts = self._schedule_batch(ended)
            is_divided = False
            # extenders read objects from the database meanwhile
            if ended or activations or self.cluster.quotas or self.scheduler.extenders:
                batch = [*ended, *chain.from_iterable(parts)]
            else:
                batch, is_divided = self._commit_parts(parts)
            self._settle(batch)
            changes = self.scheduler.queue.take_changes()
            intents = self.scheduler.take_intents()
            if batch or intents or activations or self.recorder.concerns(self.scheduler, changes):
                self._record(batch, changes, intents, activations)
                wait_until = 0.0
            elif acted or is_divided or self._jump():
                wait_until = 0.0
            else:
                wait_until = wait_until or min(time.monotonic() + WAIT_SECONDS, deadline)
                self._news.clear()
                if waits() and not stopping() and self._wait_for_change(wait_until):
                    continue
                if self._rest() and not self._progress.is_set():
                    return False
            if time.monotonic() > deadline or stopping():
                return True

    def _look(self) -> ClusterState | None:
        """The state of the cluster, read with the changes that were announced.

        The commit of a batch has read it already, unless something was announced since.
        """
        missed, self._missed_news = self._missed_news, False
        ahead = self.recorder.take_look()
        if ahead is not None and ahead.rows and not missed:
            state = take_in(ahead, self.cluster)
            if state is not None and self._announced <= state.version:
                return state
        # another client of the database may have announced a version that does not exist
        self._answered = self._announced
        with exchange() as sent:
            answer = send_look(sent, self.cluster)
            if self._announced > self.informer.position:
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
        if self._unsubscribe is None:
            self._unsubscribe = background_listener.subscribe(self.cluster.pk, self._note_change)
        if self._has_news():
            return True
        if self._confirmed_version != self.informer.position:
            if self._news.wait(min(seconds, CONFIRM_SECONDS)):
                return True
            self._confirm()
        self._news.wait(min(seconds, LOOK_SECONDS))
        return True

    def _has_news(self) -> bool:
        """Whether a change was announced that the loop has not read, or a pod can go on."""
        unread = self.informer.position < self._announced != self._answered
        return unread or self._missed_news or self._progress.is_set()

    def _note_change(self, version: int) -> None:
        """Called by the listener's thread."""
        if version > self.informer.position:
            self._announced = version
        elif version:
            return
        else:
            self._missed_news = True
        self._news.set()

    def stop_waiting(self) -> None:
        """End the waiting for changes, for others who need the thread."""
        self._news.set()

    def _run_controllers(self) -> bool:
        """Let them settle before pods are tried: what they write is seen by the next of them."""
        if self._crowded and time.monotonic() - self._acted_at < CONTROLLER_SECONDS:
            return False
        self._acted_at = time.monotonic()
        for rounds in range(CONTROLLER_ROUNDS):
            if not self.controllers.act():
                return rounds > 0
            self.informer.catch_up(self.informer.position)
        return True

    def _note_progress(self) -> None:
        """Called from any thread: a pod that waited can go on, or a plugin has a request."""
        self._progress.set()
        self._news.set()
        if not self._running:
            announcer.announce(self.cluster.pk, self.informer.position, due=True)

    def _resolve_waiting(self) -> list[DecisionRecord]:
        self._progress.clear()
        now = self.cluster.now()
        return [
            replace(self._under_way.pop(decision.pod_uid), at=now)
            for decision in self.scheduler.resolve_waiting()
        ]

    def _settle(self, batch: list[DecisionRecord]) -> None:
        """Let steps end that take hardly any time, before it is written that their pods wait."""
        until = time.monotonic() + SETTLE_SECONDS
        while batch and self.scheduler.is_binding:
            if not self._progress.wait(max(0.0, until - time.monotonic())):
                break
            known = {record.decision.pod_uid for record in batch}
            batch += [r for r in self._resolve_waiting() if r.decision.pod_uid not in known]

    def _schedule_batch(self, ended: list[DecisionRecord]) -> Iterator[list[DecisionRecord]]:
        """Schedule a batch in parts, at least one; only a crowded batch has more.

        `ended`: what was resolved just now; nothing of it is written yet.
        """
        if self.cluster.scheduling == Cluster.Scheduling.EXTERNAL:
            # a client binds the pods; they stay in the queue until it does
            self._crowded = False
            yield []
            return
        most, seconds, size = BATCH_DECISIONS, BATCH_SECONDS, BATCH_DECISIONS
        if self._crowded:
            most, seconds, size = CROWDED_DECISIONS, CROWDED_SECONDS, PART_DECISIONS
        until = late = time.monotonic() + seconds
        if self._crowded:
            # what is less than a part is committed while nothing is scheduled
            late += seconds
        self._crowded = True
        seen = self._seen_state(ended)
        draws = Draws(self.cluster.tie_break, self.cluster.seed)
        with_inputs = has_scores()
        part: list[DecisionRecord] = []
        placed: set[str] = set()
        while (
            most > 0 and time.monotonic() < (late if part else until)
        ) or self.scheduler.is_within_group:
            decision = self.scheduler.schedule_one()
            if decision is None:
                self._crowded = False
                break
            beside = _beside_group(seen, decision, placed, self.informer.position)
            record = self._describe(decision, beside, draws, with_inputs)
            part.append(record)
            if record.took_node:
                placed.add(decision.pod_uid)
            if not decision.result.is_final:
                self._under_way[decision.pod_uid] = record
                held = _expect(record)
                seen = replace(seen, expected=(*seen.expected, held))
            most -= 1
            if most > 0 and len(part) >= size and not self.scheduler.is_within_group:
                yield part
                part = []
        yield part

    def _describe(
        self, decision: Decision, seen: SeenState, draws: Draws, with_inputs: bool
    ) -> DecisionRecord:
        return DecisionRecord(
            decision=decision,
            at=self.cluster.now(),
            cluster_version=self.informer.position,
            sequence=self._next_sequence(),
            request_id=self.informer.request_ids.get(decision.pod_uid, ""),
            seen=seen,
            draws=draws,
            took_node=decision.result is Result.SCHEDULED,
            score_inputs=collect_inputs(self.scheduler, decision) if with_inputs else (),
        )

    def schedule_by_hand(
        self, pod: Pod, version: int, cycle: Callable[[SchedulingContext, Attempt], Status]
    ) -> Decision:
        """Try one pod of a paused cluster with another scheduling cycle, and record its decision.

        Raises Conflict if the cluster is not paused, is not at `version` any more, or if the pod
        is not in the queue.
        """
        state = self._look()
        if state is None or not state.paused:
            raise Conflict("clusters", self.cluster.name, "it is not paused")
        self.informer.catch_up(state.version)
        if self.informer.position != version:
            raise Conflict("clusters", self.cluster.name, f"it has changed since version {version}")
        seen, draws = self._seen_state([]), Draws(self.cluster.tie_break, self.cluster.seed)
        decision = self.scheduler.schedule_by_hand(pod, cycle)
        if decision is None:
            raise Conflict("pods", pod.metadata.name, "it is not in the queue, or is gated")
        batch = [self._describe(decision, seen, draws, has_scores())]
        if not decision.result.is_final:
            self._under_way[decision.pod_uid] = batch[0]
        self._settle(batch)
        intents = self.scheduler.take_intents()
        self._record(batch, self.scheduler.queue.take_changes(), intents, ())
        return decision

    def _commit_parts(
        self, parts: Iterator[list[DecisionRecord]]
    ) -> tuple[list[DecisionRecord], bool]:
        """Commit each part while the next one is scheduled; returns the last one, not committed.

        Also whether there were others. All of them see what they would see as one batch.
        """
        last, is_divided = next(parts), False
        with ExitStack() as committing:
            while len(last) >= PART_DECISIONS:
                is_divided = True
                self._commit_part(last, committing)
                last = next(parts, [])
            # nothing is scheduled before the next look
            self.informer.apply_placements()
        return last, is_divided

    def _commit_part(self, part: Sequence[DecisionRecord], committing: ExitStack) -> None:
        """Start to commit a part, which `committing` ends, as far as nothing but bindings is left.

        The part before is committed at last, after the rows of this one have been encoded.
        """
        *mixed, last = split(part)
        rows = None if mixed else self.recorder.encode(last)
        committing.close()
        changes = self._record_each(mixed, part, self.scheduler.queue.take_changes())
        finish = self.recorder.begin(self.scheduler, self.informer, last, changes, rows)
        if finish is None:
            self.recorder.record(self.scheduler, self.informer, last, changes)
        else:
            committing.callback(finish)

    def _record(
        self,
        batch: Sequence[DecisionRecord],
        changes: QueueChanges,
        intents: Sequence[Intent],
        activations: Sequence[int],
    ) -> None:
        """Record a batch in one transaction, or in a few if only some pods need the general way."""
        *parts, last = [batch] if self.cluster.quotas else split(batch)
        rest = self._record_each(parts, batch, changes)
        self.recorder.record(self.scheduler, self.informer, last, rest, intents, activations)

    def _record_each(
        self,
        parts: Sequence[Sequence[DecisionRecord]],
        batch: Sequence[DecisionRecord],
        changes: QueueChanges,
    ) -> QueueChanges:
        """Record all parts of a batch but its last one; returns the changes of the queue for it."""
        later = {record.decision.pod_uid for record in batch}
        for part in parts:
            later -= {record.decision.pod_uid for record in part}
            changes, others = changes.divide(later)
            self.recorder.record(
                self.scheduler, self.informer, part, others, deferred=Deferred(later)
            )
        return changes

    def _seen_state(self, ended: list[DecisionRecord]) -> SeenState:
        """What the next decision sees besides the objects."""
        known = {
            record.decision.pod_uid: _expect(record)
            for record in (*self._under_way.values(), *ended)
        }
        expected = tuple(
            known.get(uid) or Expected(uid, node, self.informer.position)
            for uid, node in self.scheduler.assumed_pods()
        )
        decisions = (record.decision for record in ended)
        released = tuple(d.pod_uid for d in decisions if d.result is not Result.SCHEDULED)
        return SeenState(self.informer.loaded_at, expected, released)

    def _next_sequence(self) -> int:
        """How many decisions were made before this one that saw the same version."""
        if self._counted_after != self.informer.position:
            self._counted_after, self._sequence = self.informer.position, 0
        self._sequence += 1
        return self._sequence - 1

    def _flush(self) -> None:
        queue = self.scheduler.queue
        queue.max_in_unschedulable = self.cluster.pod_max_in_unschedulable_pods_seconds
        queue.flush_backoff_completed()
        now = self.scheduler.clock.now()
        if not 0 <= now - self._flushed_at < FLUSH_SECONDS:
            queue.flush_unschedulable_leftover()
            self._flushed_at = now

    def _confirm(self) -> None:
        """Record that the loop has acted on every change it has read, and its metrics."""
        with self._confirming():
            pass

    @contextmanager
    def _confirming(self) -> Iterator[Exchange]:
        """The transaction that confirms, for further statements."""
        renewal = self.lease.renewal(
            consumed_version=self.informer.position, profile_revision=self.revision.revision
        )
        note_state(self.scheduler)
        metrics = self.scheduler.metrics
        try:
            with exchange() as sent:
                sent.begin()
                # may be lost in a crash of the database: the next loop confirms it again
                sent.send("SET LOCAL synchronous_commit = off")
                send_together(sent, [renewal])
                if metrics.is_dirty:
                    send_together(sent, [stored.step(self.cluster.pk, metrics)])
                yield sent
                sent.commit()
                sent.receive()
        except DataError as error:
            raise LeaseLost(f"cluster {self.cluster.pk}") from error
        self._confirmed_version = self.informer.position

    def _jump(self) -> bool:
        """Set a clock that is fast-forwarded to what happens next; False if it does not jump."""
        until = self.cluster.clock_until
        if until is None or self.scheduler.is_binding or self._progress.is_set():
            return False
        queue, now = self.scheduler.queue, self.scheduler.clock.now()
        seconds = (next_backoff(queue, now), next_flush(queue, now, self._flushed_at))
        times = [datetime.fromtimestamp(at, UTC) for at in seconds if at is not None]
        times += [until] if (timer := self._next_timer()) is None else [timer]
        # a time that has passed, and at which nothing has happened, is looked at once a second
        soonest = self.cluster.now() + timedelta(seconds=1)
        target = max(min(times), soonest) if min(times) <= self.cluster.now() else min(times)
        return jump(self.cluster, target, self.informer.position)

    def _next_timer(self) -> datetime | None:
        """When a controller, or a pod that is held, next acts without a change."""
        deadline = self.scheduler.next_deadline()
        timers = [self.controllers.next_due(), self.event_ttl.next_due()]
        timers += [datetime.fromtimestamp(deadline, UTC)] if deadline is not None else []
        return min((at for at in timers if at is not None), default=None)

    def _rest(self) -> bool:
        """Be due no more until a pod's time to wait is over, unless something has changed."""
        timer = self._next_timer()
        look = BINDING_LOOK_SECONDS if self.scheduler.is_binding else None
        cluster = self.cluster
        values = (timer, look, cluster.pk, self.informer.position)
        with self._confirming() as sent:
            rested = sent.send(_REST, [*values, cluster.manual_time, cluster.due_at])
        return bool(rested.rows)


#: The clock may have been set forward since the last look; and the cluster may have become due
#: again, by a user's wish or another setting.
_REST = """
    UPDATE cluster_cluster SET timer_at = $1,
        due_at = clock_timestamp() + make_interval(secs => $2)
    WHERE id = $3 AND resource_version = $4 AND manual_time IS NOT DISTINCT FROM $5
        AND due_at IS NOT DISTINCT FROM $6
    RETURNING 1
"""


def _expect(record: DecisionRecord) -> Expected:
    """The pod of a decision that gave it a node."""
    decision = record.decision
    return Expected(
        decision.pod_uid, decision.node, record.cluster_version, record.sequence, decision.claims
    )


def _beside_group(
    seen: SeenState, decision: Decision, placed: Collection[str], version: int
) -> SeenState:
    """The state with the members of the pod's group that were tried before it, on their nodes.

    Those in `placed` are known from their own decisions.
    """
    others = [each for each in decision.beside if each[0] not in placed]
    if not others:
        return seen
    expected = (Expected(uid, node, version, claims=claims) for uid, node, claims in others)
    return replace(seen, expected=(*seen.expected, *expected))
