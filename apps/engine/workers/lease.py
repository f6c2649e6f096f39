"""The lease of a cluster's loop: at most one process schedules a cluster, even if it stalls.

A lease is a row with an epoch. Taking it over increments the epoch; every transaction that records
decisions first updates the row where holder and epoch are still its own. This locks and renews it,
or finds no row and raises `LeaseLost` before anything is written. All times are the database's, so
the clocks of the machines do not matter.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import DatabaseError, InterfaceError, connection
from psycopg.types.numeric import Int4, Int8

from apps.cluster.prepared import Step, execute_together
from apps.engine.workers.renewing import renew_periodically

#: A holder that does not renew for this time may be replaced. A thread of its own renews it; on a
#: machine with ten times as much to do as it can, 0.25 s late at most.
TTL_SECONDS = 4.0

#: Interval of renewals while nothing is recorded (an extender is slow) ...
KEEP_SECONDS = TTL_SECONDS / 3
#: ... which end after this time, so that a hanging loop loses the lease.
LONGEST_SECONDS = 60.0

#: The condition on `expires_at` of a lease that is held. No holder sets it as far in the future as
#: the upper limit: it did so before the clock was set back, and may have stopped since. If it still
#: runs, it loses the lease to the first process that acquires it, as after any other pause.
HELD = f"BETWEEN clock_timestamp() AND clock_timestamp() + interval '{2 * TTL_SECONDS} s'"


def process_name() -> str:
    """The unique name of this process; also the name of its task queue."""
    return _name_of(os.getpid())


@cache
def _name_of(pid: int) -> str:
    # a fork, which has another id, must have a name of its own
    return f"loop_{uuid.uuid4().hex[:16]}"


_RENEW = (
    "UPDATE controlplane_looplease SET "
    "expires_at = clock_timestamp() + make_interval(secs => $1), "
    "consumed_version = coalesce($2::bigint, consumed_version), "
    "profile_revision = coalesce($3::int, profile_revision), "
    "scheduling_cycle = coalesce($7::bigint, scheduling_cycle), "
    "move_request_cycle = coalesce($8::bigint, move_request_cycle) "
    "WHERE cluster_id = $4 AND holder = $5 AND epoch = $6 RETURNING 1"
)


class LeaseLost(Exception):
    """Another process has taken over the cluster, or the cluster was deleted."""


@dataclass(frozen=True, slots=True)
class ClusterLease:
    """The right to schedule one cluster, while `renew` finds the epoch unchanged."""

    cluster_id: int
    holder: str
    epoch: int
    #: runs in a row that failed before this one
    failures: int = 0

    def renew(self) -> None:
        """Lock the row for this transaction and extend the lease.

        Raises LeaseLost if it was taken over.
        """
        self.check(execute_together([self.renewal()]))

    def renewal(
        self,
        *,
        consumed_version: int | None = None,
        profile_revision: int | None = None,
        cycles: tuple[int, int] | None = None,
    ) -> Step:
        """`renew` as the first of several steps; `check` takes their results.

        The arguments record the progress of the holder, its revision, and the queue's scheduling
        cycle and move request cycle; None keeps the values.
        """
        scheduling, moved = cycles or (None, None)
        parameters = [
            TTL_SECONDS,
            None if consumed_version is None else Int8(consumed_version),
            None if profile_revision is None else Int4(profile_revision),
            Int8(self.cluster_id),
            self.holder,
            Int8(self.epoch),
            None if scheduling is None else Int8(scheduling),
            None if moved is None else Int8(moved),
        ]
        return Step("lease", _RENEW, parameters, "count(*)")

    def check(self, results: Mapping[str, Any]) -> None:
        """Raise LeaseLost if the lease was not renewed."""
        if not results["lease"]:
            raise LeaseLost(f"cluster {self.cluster_id}, epoch {self.epoch}")

    def note_success(self) -> None:
        """End the row of failures, if there is one."""
        if self.failures:
            with connection.cursor() as cursor:
                cursor.execute(
                    "UPDATE controlplane_looplease SET failures = 0, failure = '' "
                    "WHERE cluster_id = %s AND epoch = %s",
                    [self.cluster_id, self.epoch],
                )

    def note_failure(self, error: BaseException) -> None:
        """Count a run that ended with an error; the readiness of the cluster shows it."""
        with suppress(DatabaseError, InterfaceError), connection.cursor() as cursor:
            cursor.execute(
                "UPDATE controlplane_looplease SET failures = failures + 1, failure = %s "
                "WHERE cluster_id = %s AND epoch = %s",
                [f"{type(error).__name__}: {error}"[:500], self.cluster_id, self.epoch],
            )

    def release(self) -> None:
        """Release the lease, but remain the holder, whose engine is kept in memory."""
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE controlplane_looplease SET expires_at = clock_timestamp() "
                "WHERE cluster_id = %s AND holder = %s AND epoch = %s",
                [self.cluster_id, self.holder, self.epoch],
            )


def release(cluster_id: int, holder: str | None = None) -> None:
    """Release the lease of a cluster; does nothing if `holder`, or this process, has lost it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE controlplane_looplease SET expires_at = clock_timestamp() "
            "WHERE cluster_id = %s AND holder = %s",
            [cluster_id, holder or process_name()],
        )


def keep_renewed(lease: ClusterLease) -> AbstractContextManager[None]:
    """Keep renewing the lease in a block, also while nothing is recorded.

    The transaction that comes after a lost lease detects it.
    """

    def renew() -> bool:
        try:
            lease.renew()
        except LeaseLost:
            return False
        return True

    return renew_periodically(
        renew, name=f"cluster {lease.cluster_id}", every=KEEP_SECONDS, longest=LONGEST_SECONDS
    )


def acquire(cluster_id: int, holder: str | None = None) -> ClusterLease | None:
    """Take the lease if it is free or still `holder`'s; otherwise return None at once.

    Without `holder`, for this process.

    The epoch stays the same if nobody else held it in between: then the state that `holder` has in
    memory still equals the database.
    """
    holder = holder or process_name()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE controlplane_looplease SET "
            "epoch = CASE WHEN holder = %s THEN epoch ELSE epoch + 1 END, holder = %s, "
            "expires_at = clock_timestamp() + make_interval(secs => %s) "
            # a process that has locked the row renews it, or has stalled: do not wait
            "WHERE cluster_id = (SELECT cluster_id FROM controlplane_looplease "
            "WHERE cluster_id = %s FOR NO KEY UPDATE SKIP LOCKED) "
            f"AND (holder = %s OR (expires_at {HELD}) IS NOT TRUE) "
            "RETURNING epoch, failures",
            [holder, holder, TTL_SECONDS, cluster_id, holder],
        )
        row = cursor.fetchone()
    return None if row is None else ClusterLease(cluster_id, holder, *row)
