"""The clock of a cluster: the system's own, or one that is set by hand.

Everything that is true *about* a cluster goes by its clock: creation times, backoff, tolerations,
grace periods, the times of decisions. What keeps the house running does not: leases, heartbeats
and timeouts use the database's clock and the monotonic one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction

from apps.cluster.errors import Cause, Invalid
from apps.cluster.models import Cluster
from apps.controlplane.workers.waking import make_due

#: The time of cluster `c` in SQL.
NOW_SQL = "coalesce(c.manual_time, clock_timestamp())"


class ClusterClock:
    """A cluster's clock as the scheduler's core wants it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._cluster.now().timestamp()


def set_manual(cluster: Cluster) -> None:
    """Let the clock stand still where it is, until it is advanced."""
    _change(cluster, lambda row: row.now())


def set_real(cluster: Cluster) -> None:
    """Let the clock go with the system's; what was advanced is taken back."""
    _change(cluster, lambda row: None)


def advance(cluster: Cluster, seconds: float) -> None:
    """Set a manual clock forward and wake what that makes due; Invalid where it cannot be."""
    if math.isnan(seconds):
        raise _invalid(cluster, "seconds", "not a number")
    if seconds < 0:
        raise _invalid(cluster, "seconds", "a clock only goes forward")

    def advanced(row: Cluster) -> datetime:
        if row.manual_time is None:
            raise _invalid(cluster, "clock", "a real clock cannot be advanced; set it to manual")
        try:
            return row.manual_time + timedelta(seconds=seconds)
        except OverflowError:
            raise _invalid(cluster, "seconds", "the calendar ends with the year 9999") from None

    _change(cluster, advanced)


def _change(cluster: Cluster, moment: Callable[[Cluster], datetime | None]) -> None:
    with transaction.atomic():
        row = Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
        cluster.manual_time = moment(row)
        Cluster.objects.filter(pk=cluster.pk).update(manual_time=cluster.manual_time)
        make_due(cluster.pk)


def _invalid(cluster: Cluster, field: str, why: str) -> Invalid:
    return Invalid("Cluster", cluster.name, [Cause("FieldValueInvalid", why, field)])
