"""The clock of a cluster: either the system's clock (real), or one that is advanced manually.

Everything *in* a cluster uses its clock: creation times, backoff, tolerations, grace periods, the
times of decisions. What runs the site does not: leases, heartbeats and timeouts use the database's
clock and the monotonic clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction

from apps.cluster.errors import Cause, Invalid
from apps.cluster.models import Cluster
from apps.controlplane.series import sampling
from apps.controlplane.workers.waking import make_due

#: The time of cluster `c` in SQL.
NOW_SQL = "coalesce(c.manual_time, clock_timestamp())"


class ClusterClock:
    """A cluster's clock with the interface of the scheduler's core."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._cluster.now().timestamp()


def set_manual(cluster: Cluster) -> None:
    """Stop the clock at the current time, until it is advanced."""
    _change(cluster, lambda row: row.now())


def set_real(cluster: Cluster) -> None:
    """Use the system's clock; manual advances are undone."""
    _change(cluster, lambda row: None)


def advance(cluster: Cluster, seconds: float) -> None:
    """Advance a manual clock and mark the cluster as due; raises Invalid when it cannot advance."""
    if math.isnan(seconds):
        raise _invalid(cluster, "seconds", "must be a number")
    if seconds < 0:
        raise _invalid(cluster, "seconds", "must not be negative")

    def compute_time(row: Cluster) -> datetime:
        if row.manual_time is None:
            raise _invalid(cluster, "clock", "a real clock cannot be advanced; set it to manual")
        try:
            return row.manual_time + timedelta(seconds=seconds)
        except OverflowError:
            raise _invalid(cluster, "seconds", "must not go beyond the year 9999") from None

    _change(cluster, compute_time)


def _change(cluster: Cluster, compute_time: Callable[[Cluster], datetime | None]) -> None:
    # what happened until now belongs to the present time of the cluster
    sampling.sample(cluster.pk)
    with transaction.atomic():
        row = Cluster.objects.select_for_update(no_key=True).get(pk=cluster.pk)
        cluster.manual_time = compute_time(row)
        Cluster.objects.filter(pk=cluster.pk).update(manual_time=cluster.manual_time)
        make_due(cluster.pk)


def _invalid(cluster: Cluster, field: str, why: str) -> Invalid:
    return Invalid("Cluster", cluster.name, [Cause("FieldValueInvalid", why, field)])
