"""Events do not stay for ever: kube-apiserver's `--event-ttl`, by the cluster's clock."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from apps.cluster import kinds
from apps.cluster.models import Cluster, Event
from apps.cluster.writes import Actor, Delete
from apps.cluster.writing import store
from apps.controlplane.workers.lease import Lease

#: So many go in one transaction.
BATCH = 1000
#: Whatever goes within so long goes together, so that a quiet cluster is not woken for each.
TOGETHER = timedelta(minutes=1)

_ACTOR = Actor("event-ttl")


class EventTtl:
    """Removes the events of one cluster whose time is over, as long as the lease is its own."""

    def __init__(self, cluster: Cluster, lease: Lease) -> None:
        self._cluster = cluster
        self._lease = lease
        #: nothing is over before; None: not known
        self._not_before: datetime | None = None

    def act(self) -> bool:
        """Remove what is over, a batch at a time; True if there was something."""
        now = self._cluster.now()
        if not self._cluster.event_ttl_seconds or (self._not_before and now < self._not_before):
            return False
        over = Event.objects.filter(cluster=self._cluster, written_at__lte=now - self._lifetime())
        names = list(over.order_by("written_at").values_list("namespace", "name")[:BATCH])
        self._not_before = None if names else self._next_look(now)
        if names:
            writes = [Delete(kinds.EVENT, namespace, name) for namespace, name in names]
            with transaction.atomic():
                self._lease.renew()
                store.write(self._cluster, writes, actor=_ACTOR, collect_refusals=True, wake=False)
        return bool(names)

    def next_due(self) -> datetime | None:
        """When the oldest event's time is over."""
        if not self._cluster.event_ttl_seconds:
            return None
        events = Event.objects.filter(cluster=self._cluster).order_by("written_at")
        oldest = events.values_list("written_at", flat=True).first()
        if oldest is None:
            return None
        end = oldest + self._lifetime()
        return max(end, self._not_before) if self._not_before is not None else end

    def _next_look(self, now: datetime) -> datetime:
        return now + min(TOGETHER, self._lifetime())

    def _lifetime(self) -> timedelta:
        return timedelta(seconds=self._cluster.event_ttl_seconds)
