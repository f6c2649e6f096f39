"""A cluster in memory: scheduler and controllers act until nothing is left to do at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from apps.cluster import limits
from apps.cluster.errors import ApiError, BadRequest, NotFound, Timeout
from apps.cluster.models import Cluster
from apps.cluster.validation.gates import API_GATES
from apps.cluster.writes import Write
from apps.engine.ledger.records import DecisionRecord
from apps.engine.loop.informer import WATCHED
from apps.engine.loop.intended_writes import IntendedWrites
from apps.engine.loop.next_times import FLUSH_SECONDS, next_backoff, next_flush
from apps.engine.profiles.schedulers import assemble_scheduler
from apps.scheduler.clock import VirtualClock, to_microseconds
from apps.scheduler.config import Configuration
from apps.scheduler.decision import Decision, Result
from apps.scheduler.objects import Pod
from apps.scheduler.tie_break import TieBreak, random_draws
from apps.studies.scenarios.memory.controllers import NoEvents, build_controllers
from apps.studies.scenarios.memory.memory_objects import MemoryChange, MemoryObjects

Body = dict[str, Any]

_WATCHED: Final = frozenset(kind.name for kind in WATCHED)
#: Controllers that still act after so many rounds at one time would never stop.
_MOST_ROUNDS: Final = 10_000
#: Decisions before controllers act again.
_BATCH: Final = 200
USER: Final = "scenario"


class MemoryCluster:
    """One cluster without a database. Everything follows from its inputs and the seed."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        start: datetime,
        seed: int,
        tie_break: TieBreak = "random",
        controllers: bool = True,
    ) -> None:
        self.row = Cluster(name="scenario", seed=seed, tie_break=tie_break, controllers=controllers)
        self.row.api_gates = [name for name in API_GATES if configuration.gates.enabled(name)]
        self._start = self.row.manual_time = start
        #: seconds since the start, in whole microseconds
        self.elapsed = 0.0
        self.clock = VirtualClock(start.timestamp())
        self.objects = MemoryObjects(self.row, seed)
        self.controllers = build_controllers(self.objects, configuration.gates)
        self.scheduler = assemble_scheduler(
            configuration, clock=self.clock, tie_break=tie_break, draws=random_draws(seed)
        )
        self.scheduler.queue.max_in_unschedulable = self.row.pod_max_in_unschedulable_pods_seconds
        #: called with every change, and with every decision
        self.on_change: Callable[[MemoryChange], None] = lambda change: None
        self.on_decision: Callable[[Decision], None] = lambda decision: None
        self._intended = IntendedWrites(self, NoEvents(self.row))
        self._flushed_at = self.clock.now()
        self._flush_at: float | None = None
        #: bindings, deletions and changes of nodes; and the number at each pod's last attempt
        self._progress = 0
        self._tried: dict[str, int] = {}

    def close(self) -> None:
        self.scheduler.close()

    def node_labels(self, name: str) -> dict[str, str]:
        """The labels of a node; empty if it does not exist."""
        node = self.controllers.cache.node(name)
        return {} if node is None else dict(node.metadata.labels)

    def write(self, writes: Sequence[Write], user: str = USER) -> list[Body | ApiError]:
        """Execute writes; raises the ApiError of the first that is refused."""
        try:
            return self.objects.write(writes, user)
        finally:
            self._spread_changes()

    def write_if_present(self, write: Write) -> None:
        """Execute a write of an object that may have been deleted in the meantime."""
        with suppress(NotFound):
            self.write([write])

    def settle(self) -> None:
        """Let everything act that can act at the present time.

        Raises Timeout if that does not end, BadRequest for more pods than a run may create.
        """
        rounds = 0
        while self._act():
            rounds += 1
            at = self.elapsed
            if rounds > _MOST_ROUNDS:
                raise Timeout(f"the cluster does not come to rest at {at:g} seconds")
            if not limits.SCENARIO_PODS.admits(self.objects.pods_created):
                most = limits.SCENARIO_PODS.highest
                raise BadRequest(
                    f"a run creates at most {most:,} pods, and there are more at {at:g} seconds"
                )

    def next_time(self) -> float | None:
        """When something happens next without a change from outside, in seconds since the start.

        None for never.
        """
        times = [
            self.scheduler.next_deadline(),
            next_backoff(self.scheduler.queue, self.clock.now()),
            self._next_flush(),
        ]
        ends = [at - self._start.timestamp() for at in times if at is not None]
        timer = self.controllers.next_due()
        if timer is not None:
            ends.append((timer - self._start) / timedelta(seconds=1))
        return min(ends, default=None)

    def jump(self, elapsed: float) -> None:
        """Set the seconds since the start; a time that has passed leaves the clock as it is."""
        self.elapsed = max(self.elapsed, to_microseconds(elapsed))
        now = self._start + timedelta(microseconds=round(self.elapsed * 1e6))
        self.row.manual_time = now
        self.clock.at = now.timestamp()

    @property
    def waits_in_vain(self) -> bool:
        """Whether no pod in the queue can have another result without a change."""
        contents = self.scheduler.queue.contents
        waiting = [*contents.active_pods(), *contents.backoff_pods()]
        waiting += contents.unschedulable_pods()
        return all(self._tried.get(info.uid) == self._progress for info in waiting) and (
            self.scheduler.next_deadline() is None and self.controllers.next_due() is None
        )

    def _act(self) -> bool:
        acted = self.controllers.act()
        self._spread_changes()
        if acted:
            return True
        self._flush()
        decisions = self.scheduler.resolve_waiting()
        while len(decisions) < _BATCH or self.scheduler.is_within_group:
            decision = self.scheduler.schedule_one()
            if decision is None:
                break
            decisions.append(decision)
            self._take(decision)
        for intent in self.scheduler.take_intents():
            self._execute(list(self._intended.of_intent(intent, self.row.now())))
        return bool(decisions)

    def _take(self, decision: Decision) -> None:
        """Write what a decision requests, as the loop of a stored cluster does."""
        record = DecisionRecord(
            decision=decision,
            at=self.row.now(),
            cluster_version=self.objects.version,
            sequence=0,
        )
        self._tried[decision.pod_uid] = self._progress
        writes = list(self._intended.of_decision(record))
        if decision.result is Result.SCHEDULED:
            self.scheduler.bound(decision)
        self.on_decision(decision)
        self._execute(writes)

    def _execute(self, writes: Sequence[Write]) -> None:
        self.objects.write(writes, "kube-scheduler", collect_refusals=True)
        self._spread_changes()

    def _spread_changes(self) -> None:
        """Report the changes to scheduler and controllers, in order."""
        changes = self.objects.changes
        while changes:
            change = changes.popleft()
            if change.kind in _WATCHED:
                self.scheduler.handle(change.kind, change.old, change.new)
                body = None if change.new is None else change.body
                self.controllers.take_in(change.kind, change.old, change.new, body)
            self._note_progress(change)
            self.on_change(change)

    def _note_progress(self, change: MemoryChange) -> None:
        # the status of a pod that waits helps no other pod
        if isinstance(change.new, Pod) and not change.new.spec.node_name:
            return
        self._progress += 1

    def _flush(self) -> None:
        queue = self.scheduler.queue
        queue.flush_backoff_completed()
        now = self.clock.now()
        if now - self._flushed_at >= FLUSH_SECONDS:
            queue.flush_unschedulable_leftover()
            self._flushed_at = now

    def _next_flush(self) -> float | None:
        """The next flush of the queue that finds a pod.

        It is computed anew only when it is over: pods that arrive meanwhile are flushed later.
        """
        now = self.clock.now()
        if self._flush_at is None or self._flush_at <= now:
            self._flush_at = next_flush(self.scheduler.queue, now, self._flushed_at)
        return self._flush_at


def parse_start(text: str) -> datetime:
    """The time at which a run starts; the same for every run that names none."""
    return datetime.fromisoformat(text or "2026-01-01T00:00:00Z").astimezone(UTC)
