"""The lease of a cluster's loop: at most one process schedules a cluster, also when it stalls.

A lease is a row with an epoch. Taking it over raises the epoch; every transaction that records
decisions first updates the row where holder and epoch are still its own, which locks it and
renews it, or finds nothing to update and raises `LeaseLost` before anything is written. All
times are the database's, so the clocks of the machines do not matter.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, connection

log = logging.getLogger(__name__)

#: A holder that is silent for so long may be replaced. Longer than any one batch takes.
TTL_SECONDS = 10.0

#: While nothing is recorded (an extender is slow), the lease is renewed so often all the same ...
KEEP_SECONDS = TTL_SECONDS / 3
#: ... but not longer than this: a loop that hangs shall lose it.
LONGEST_SECONDS = 60.0

#: This process, told apart from every other; also the name of its own task queue.
PROCESS = f"loop_{uuid.uuid4().hex[:16]}"


class LeaseLost(Exception):
    """Another process has taken the cluster over, or the cluster is gone."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to schedule one cluster, as long as `renew` finds the epoch unchanged."""

    cluster_id: int
    holder: str
    epoch: int

    def renew(
        self, *, consumed_version: int | None = None, profile_revision: int | None = None
    ) -> None:
        """Lock the row for this transaction and extend the lease; LeaseLost if it is gone.

        Both arguments say how far the holder has come, with which profile; None leaves that.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE controlplane_looplease SET "
                "expires_at = clock_timestamp() + make_interval(secs => %s), "
                "consumed_version = coalesce(%s, consumed_version), "
                "profile_revision = coalesce(%s, profile_revision) "
                "WHERE cluster_id = %s AND holder = %s AND epoch = %s",
                [
                    TTL_SECONDS,
                    consumed_version,
                    profile_revision,
                    self.cluster_id,
                    self.holder,
                    self.epoch,
                ],
            )
            if cursor.rowcount == 0:
                raise LeaseLost(f"cluster {self.cluster_id}, epoch {self.epoch}")

    def rest(self) -> None:
        """Let others take the cluster; who comes back first finds its engine still warm."""
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE controlplane_looplease SET expires_at = clock_timestamp() "
                "WHERE cluster_id = %s AND holder = %s AND epoch = %s",
                [self.cluster_id, self.holder, self.epoch],
            )


def let_go(cluster_id: int, holder: str = PROCESS) -> None:
    """Let others take a cluster at once; does nothing when `holder` has lost it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE controlplane_looplease SET expires_at = clock_timestamp() "
            "WHERE cluster_id = %s AND holder = %s",
            [cluster_id, holder],
        )


@contextmanager
def kept(lease: Lease) -> Iterator[None]:
    """Keep the lease in this block, also while nothing is recorded."""
    done = threading.Event()
    thread = threading.Thread(target=_keep, args=(lease, done), name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _keep(lease: Lease, done: threading.Event) -> None:
    until = time.monotonic() + LONGEST_SECONDS
    while not done.wait(KEEP_SECONDS) and time.monotonic() < until:
        try:
            lease.renew()
        except (LeaseLost, DatabaseError, InterfaceError):
            # who records next will find out
            log.warning("the lease could not be renewed", exc_info=True)
        finally:
            connection.close()


def acquire(cluster_id: int, holder: str = PROCESS) -> Lease | None:
    """Take the lease if it is free or still `holder`'s; None, at once, while it is not.

    The epoch stays the same when nobody else held it in between: what `holder` remembers of the
    cluster is then still what the database says.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE controlplane_looplease SET "
            "epoch = CASE WHEN holder = %s THEN epoch ELSE epoch + 1 END, holder = %s, "
            "expires_at = clock_timestamp() + make_interval(secs => %s) "
            # who has the row locked is about to renew it, or stands still in doing so: no waiting
            "WHERE cluster_id = (SELECT cluster_id FROM controlplane_looplease "
            "WHERE cluster_id = %s FOR NO KEY UPDATE SKIP LOCKED) "
            "AND (holder = %s OR expires_at IS NULL OR expires_at < clock_timestamp()) "
            "RETURNING epoch",
            [holder, holder, TTL_SECONDS, cluster_id, holder],
        )
        row = cursor.fetchone()
    return None if row is None else Lease(cluster_id, holder, row[0])
