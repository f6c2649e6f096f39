"""Records how far a loop has acted, and when it next has something to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import DataError

from apps.cluster.exchange import Exchange, exchange
from apps.cluster.models import Cluster
from apps.cluster.prepared import send_together
from apps.engine.loop.informer import Informer
from apps.engine.metrics import stored
from apps.engine.workers.lease import ClusterLease, LeaseLost
from apps.scheduler.metrics.gauges import note_state
from apps.scheduler.scheduler import Scheduler

#: While a slow step of a binding runs, the cluster is due so often: the process may be gone with
#: the step.
BINDING_LOOK_SECONDS = 5.0
#: The clock may have been set forward since the last look; and the cluster may have become due
#: again, by a user's wish or another setting.
_REST = """
    UPDATE cluster_cluster SET timer_at = $1,
        due_at = clock_timestamp() + make_interval(secs => $2)
    WHERE id = $3 AND resource_version = $4 AND manual_time IS NOT DISTINCT FROM $5
        AND due_at IS NOT DISTINCT FROM $6
    RETURNING 1
"""


class Confirmation:
    """What a loop that has nothing to do writes, as long as it holds the lease."""

    def __init__(
        self,
        cluster: Cluster,
        lease: ClusterLease,
        profile_revision: int,
        scheduler: Scheduler,
        informer: Informer,
    ) -> None:
        self._cluster = cluster
        self._lease = lease
        self._profile_revision = profile_revision
        self._scheduler = scheduler
        self._informer = informer
        #: the version up to which the lease says that the loop has acted
        self._version = -1

    @property
    def is_complete(self) -> bool:
        """Whether it is recorded that the loop has acted on all changes it has read."""
        return self._version == self._informer.position

    def confirm(self) -> None:
        """Record that the loop has acted on every change it has read, and its metrics.

        Raises LeaseLost if another process holds the lease.
        """
        with self._confirming():
            pass

    def rest(self, timer: datetime | None) -> bool:
        """Confirm, and be due no more until `timer`; False if something has changed.

        Raises LeaseLost if another process holds the lease.
        """
        look = BINDING_LOOK_SECONDS if self._scheduler.is_binding else None
        cluster = self._cluster
        values = (timer, look, cluster.pk, self._informer.position)
        with self._confirming() as sent:
            rested = sent.send(_REST, [*values, cluster.manual_time, cluster.due_at])
        return bool(rested.rows)

    @contextmanager
    def _confirming(self) -> Iterator[Exchange]:
        """The transaction that confirms, for further statements."""
        renewal = self._lease.renewal(
            consumed_version=self._informer.position, profile_revision=self._profile_revision
        )
        note_state(self._scheduler)
        metrics = self._scheduler.metrics
        try:
            with exchange() as sent:
                sent.begin()
                # may be lost in a crash of the database: the next loop confirms it again
                sent.send("SET LOCAL synchronous_commit = off")
                send_together(sent, [renewal])
                if metrics.is_dirty:
                    send_together(sent, [stored.step(self._cluster.pk, metrics)])
                yield sent
                sent.commit()
                sent.receive()
        except DataError as error:
            raise LeaseLost(f"cluster {self._cluster.pk}") from error
        self._version = self._informer.position
