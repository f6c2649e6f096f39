"""The clock of a cluster: the system's clock (real), or one of its own (manual).

A manual clock stands still until it is advanced, runs at a speed of its own, or is fast-forwarded:
then it jumps to the next thing that can happen. Its time is always a column, so that every
statement reads it in the same way.

Everything *in* a cluster uses its clock: creation times, backoff, tolerations, grace periods, the
times of decisions. What runs the site does not: leases, heartbeats and timeouts use the database's
clock and the monotonic clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db import connection, transaction
from django.db.models.functions import Now

from apps.cluster import limits
from apps.cluster.errors import Cause, Invalid
from apps.cluster.models import Cluster
from apps.engine.series import sampling
from apps.engine.workers.waking import make_due

#: The time of cluster `c` in SQL.
NOW_SQL = "coalesce(c.manual_time, clock_timestamp())"


class ClusterClock:
    """A cluster's clock with the interface of the scheduler's core."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._cluster.now().timestamp()


Mode = Literal["real", "manual", "speed", "fast-forward"]


def mode_of(cluster: Cluster) -> Mode:
    """How the clock of a cluster moves at present."""
    if cluster.manual_time is None:
        return "real"
    if cluster.clock_until is not None:
        return "fast-forward"
    return "manual" if cluster.clock_speed is None else "speed"


def set_manual(cluster: Cluster) -> None:
    """Stop the clock at the current time, until it is advanced."""
    _change(cluster, lambda row: _stopped(row.now()))


def set_real(cluster: Cluster) -> None:
    """Use the system's clock; manual advances are undone."""
    _change(cluster, lambda row: _stopped(None))


def set_speed(cluster: Cluster, speed: float) -> None:
    """Let the clock run from the current time, `speed` times as fast as the system's clock.

    It is moved every second; raises Invalid for a speed that is not above 0 and within its limit.
    """
    if speed == 0 or not limits.CLOCK_SPEED.admits(speed):
        raise _invalid(
            cluster, "speed", f"must be above 0 and at most {limits.CLOCK_SPEED.highest:,}"
        )
    _change(
        cluster,
        lambda row: {**_stopped(row.now()), "clock_speed": speed, "clock_moved_at": Now()},
    )


def fast_forward(cluster: Cluster, seconds: float) -> None:
    """Jump to what happens next, again and again, until so many seconds have passed.

    Raises Invalid for seconds that are not above 0, or go beyond the year 9999.
    """
    if not seconds > 0:
        raise _invalid(cluster, "seconds", "must be above 0")

    def compute(row: Cluster) -> Columns:
        now = row.now()
        return {**_stopped(now), "clock_until": _later(cluster, now, seconds)}

    _change(cluster, compute)


def advance(cluster: Cluster, seconds: float) -> None:
    """Advance a manual clock and mark the cluster as due; raises Invalid when it cannot advance."""
    if math.isnan(seconds):
        raise _invalid(cluster, "seconds", "must be a number")
    if seconds < 0:
        raise _invalid(cluster, "seconds", "must not be negative")

    def compute(row: Cluster) -> Columns:
        if row.manual_time is None:
            raise _invalid(cluster, "clock", "a real clock cannot be advanced; set it to manual")
        return {"manual_time": _later(cluster, row.manual_time, seconds)}

    _change(cluster, compute)


def move_running_clocks() -> None:
    """Move the clocks that run at a speed of their own to the present time."""
    for cluster in Cluster.objects.filter(clock_speed__isnull=False, paused=False):
        sampling.sample(cluster.pk)
        with connection.cursor() as cursor:
            cursor.execute(_MOVE, [cluster.pk])
    # the time of a pause does not count
    Cluster.objects.filter(clock_speed__isnull=False, paused=True).update(clock_moved_at=Now())


#: A speed at which the clock would leave the calendar stops it.
_MOVE = """
    UPDATE cluster_cluster SET
        manual_time = least(manual_time + (clock_timestamp() - clock_moved_at) * clock_speed,
            timestamptz '9999-12-30 UTC'),
        clock_moved_at = clock_timestamp()
    WHERE id = %s AND clock_speed IS NOT NULL
"""


def jump(cluster: Cluster, to: datetime, position: int) -> bool:
    """Set a clock that is fast-forwarded to a time, or to its end if that is earlier.

    False, and nothing is changed, if the cluster has changed since `position`, or its clock has.
    """
    assert cluster.clock_until is not None
    # what happened until now belongs to the present time of the cluster
    sampling.sample(cluster.pk)
    arrives = to >= cluster.clock_until
    unchanged = Cluster.objects.filter(
        pk=cluster.pk,
        resource_version=position,
        manual_time=cluster.manual_time,
        clock_until=cluster.clock_until,
    )
    until = None if arrives else cluster.clock_until
    at = cluster.clock_until if arrives else to
    return bool(unchanged.update(manual_time=at, clock_until=until))


#: Columns of a cluster with their values.
Columns = dict[str, Any]


def _stopped(at: datetime | None) -> Columns:
    """A clock that stands still at a time; None: that follows the system."""
    return {
        "manual_time": at,
        "clock_speed": None,
        "clock_moved_at": None,
        "clock_until": None,
    }


def _later(cluster: Cluster, at: datetime, seconds: float) -> datetime:
    try:
        return at + timedelta(seconds=seconds)
    except OverflowError:
        raise _invalid(cluster, "seconds", "must not go beyond the year 9999") from None


def _change(cluster: Cluster, compute: Callable[[Cluster], Columns]) -> None:
    # what happened until now belongs to the present time of the cluster
    sampling.sample(cluster.pk)
    with transaction.atomic():
        row = Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
        columns = compute(row)
        Cluster.objects.filter(pk=cluster.pk).update(**columns)
        cluster.refresh_from_db(fields=list(_stopped(None)))
        make_due(cluster.pk)


def _invalid(cluster: Cluster, field: str, why: str) -> Invalid:
    return Invalid("Cluster", cluster.name, [Cause("FieldValueInvalid", why, field)])
