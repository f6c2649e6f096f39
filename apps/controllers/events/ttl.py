"""Deletes expired events: kube-apiserver's `--event-ttl`, by the cluster's clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.db import transaction

from apps.cluster import kinds
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Cluster, Event
from apps.cluster.writes import Actor, Delete
from apps.cluster.writing import store

#: Events per transaction.
BATCH = 1000
#: Events that expire within this time are deleted together, to wake a quiet cluster less often.
TOGETHER = timedelta(minutes=1)

_ACTOR = Actor("event-ttl")


class EventTtl:
    """Deletes the expired events of one cluster, while the caller holds its lease."""

    def __init__(
        self,
        cluster: Cluster,
        renew_lease: Callable[[], None],
        note_writes: Callable[[Sequence[ObjectChange]], None],
    ) -> None:
        """`renew_lease` extends the lease in a transaction, or raises an error if it is lost.

        `note_writes` is called with the changes of each committed transaction.
        """
        self._cluster = cluster
        self._renew_lease = renew_lease
        self._note_writes = note_writes
        #: no event expires before; None: unknown
        self._not_before: datetime | None = None

    def act(self) -> bool:
        """Delete one batch of expired events; True if there were any."""
        now = self._cluster.now()
        if not self._cluster.event_ttl_seconds or (self._not_before and now < self._not_before):
            return False
        over = Event.objects.filter(cluster=self._cluster, written_at__lte=now - self._lifetime())
        names = list(over.order_by("written_at").values_list("namespace", "name")[:BATCH])
        self._not_before = None if names else self._next_look(now)
        if names:
            writes = [Delete(kinds.EVENT, namespace, name) for namespace, name in names]
            journal: list[ObjectChange] = []
            with transaction.atomic():
                self._renew_lease()
                store.write(
                    self._cluster,
                    writes,
                    actor=_ACTOR,
                    collect_refusals=True,
                    wake=False,
                    journal=journal,
                )
            self._note_writes(journal)
        return bool(names)

    def next_due(self) -> datetime | None:
        """When the oldest event expires."""
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
