"""What happens in a cluster without a change, at its time: flushes of the queue, controllers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from apps.cluster.models import Cluster
from apps.controllers.events.ttl import EventTtl
from apps.controllers.manager import Controllers
from apps.engine.loop.clock import jump
from apps.engine.loop.next_times import FLUSH_SECONDS, next_backoff, next_flush
from apps.scheduler.scheduler import Scheduler


class Timers:
    """The timers of one cluster, by its own clock."""

    def __init__(
        self,
        cluster: Cluster,
        scheduler: Scheduler,
        controllers: Controllers,
        event_ttl: EventTtl,
    ) -> None:
        self._cluster = cluster
        self._scheduler = scheduler
        self._controllers = controllers
        self._event_ttl = event_ttl
        #: when the unschedulable pods were last flushed; at once in a new engine
        self._flushed_at = 0.0

    def flush(self) -> None:
        """Move the pods whose backoff is over, or that were unschedulable for too long."""
        queue = self._scheduler.queue
        queue.max_in_unschedulable = self._cluster.pod_max_in_unschedulable_pods_seconds
        queue.flush_backoff_completed()
        now = self._scheduler.clock.now()
        if not 0 <= now - self._flushed_at < FLUSH_SECONDS:
            queue.flush_unschedulable_leftover()
            self._flushed_at = now

    def next(self) -> datetime | None:
        """When a controller, or a pod that is held, next acts without a change."""
        deadline = self._scheduler.next_deadline()
        timers = [self._controllers.next_due(), self._event_ttl.next_due()]
        timers += [datetime.fromtimestamp(deadline, UTC)] if deadline is not None else []
        return min((at for at in timers if at is not None), default=None)

    def jump(self, position: int) -> bool:
        """Set a clock that is fast-forwarded to what happens next; False if it does not jump.

        `position` is the version up to which the loop has acted.
        """
        until = self._cluster.clock_until
        if until is None or self._scheduler.is_binding:
            return False
        queue, now = self._scheduler.queue, self._scheduler.clock.now()
        seconds = (next_backoff(queue, now), next_flush(queue, now, self._flushed_at))
        times = [datetime.fromtimestamp(at, UTC) for at in seconds if at is not None]
        times.append(self.next() or until)
        # a time that has passed, and at which nothing has happened, is looked at once a second
        soonest = self._cluster.now() + timedelta(seconds=1)
        target = max(min(times), soonest) if min(times) <= self._cluster.now() else min(times)
        return jump(self._cluster, target, position)
