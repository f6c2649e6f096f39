"""Runs the controllers of a cluster: reconciles changed objects and writes the results."""

from __future__ import annotations

import heapq
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

from django.db import transaction

from apps.cluster import kinds
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Cluster
from apps.cluster.quota.room import no_room, take_room
from apps.cluster.writes import Actor, Create, Write
from apps.cluster.writing import store
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import RETRY, Concerns, Controller, ReportedWrite, Requeue
from apps.controllers.events.writer import EventWriter, PendingEvent
from apps.controllers.kubelet.starting import ImmediateStarts
from apps.controllers.registry import CONTROLLERS, KUBELET
from apps.scheduler.objects import KINDS, KubeObject

log = logging.getLogger(__name__)

#: Approximate number of writes per transaction; the rest waits for the next round.
BATCH = 1000
#: A controller, by its index in the registry, and an object to reconcile.
Item = tuple[int, Ref]
#: (user, writes) -> the resulting object or the error of each
Commit = Callable[[str, Sequence[Write]], "list[dict[str, Any] | ApiError]"]
NoteWrites = Callable[[Sequence[ObjectChange]], None]
#: A write or an event that a controller has requested, and for which object.
Wanted = tuple[Item, Write | ReportedWrite | PendingEvent]


@dataclass(slots=True)
class _Timers:
    """The times at which objects are reconciled without a change; one time per object."""

    _heap: list[tuple[datetime, int, Item]] = field(default_factory=list)
    _current: dict[Item, datetime] = field(default_factory=dict)
    _serial: Iterator[int] = field(default_factory=count)

    def schedule(self, item: Item, at: datetime) -> None:
        known = self._current.get(item)
        if known is None or at < known:
            self._current[item] = at
            heapq.heappush(self._heap, (at, next(self._serial), item))

    def forget(self, item: Item) -> None:
        self._current.pop(item, None)

    def clear(self) -> None:
        self._heap.clear()
        self._current.clear()

    def pop_due(self, now: datetime) -> Iterator[Item]:
        """Remove and return the due items."""
        while (earliest := self.next()) is not None and earliest <= now:
            _, _, item = heapq.heappop(self._heap)
            del self._current[item]
            yield item

    def next(self) -> datetime | None:
        while self._heap:
            at, _, item = self._heap[0]
            if self._current.get(item) == at:
                return at
            heapq.heappop(self._heap)
        return None


@dataclass(frozen=True, slots=True)
class StoreCommit:
    """Writes to the store while the lease is held, and creates what the cluster has room for.

    Events, which expire, are always created.
    """

    cluster: Cluster
    #: extends the lease in the transaction, or raises an error if another process has taken it
    renew_lease: Callable[[], None]
    #: called with the changes of each committed transaction
    note_writes: NoteWrites
    #: the version up to which the loop knows the cluster
    version: Callable[[], int]

    def __call__(self, user: str, writes: Sequence[Write]) -> list[dict[str, Any] | ApiError]:
        creations = [place for place, each in enumerate(writes) if _takes_room(each)]
        room = take_room(self.cluster.pk, self.version(), len(creations))
        refused = set(creations[room:])
        admitted = [each for place, each in enumerate(writes) if place not in refused]
        outcomes = iter(self._write(user, admitted) if admitted else ())
        return [
            no_room(self.cluster.pk) if place in refused else next(outcomes)
            for place in range(len(writes))
        ]

    def _write(self, user: str, writes: Sequence[Write]) -> list[dict[str, Any] | ApiError]:
        journal: list[ObjectChange] = []
        actor = Actor(user)
        asked = store.ask(self.cluster, writes, actor=actor)
        with transaction.atomic():
            self.renew_lease()
            outcomes = store.write(
                self.cluster,
                asked,
                actor=actor,
                collect_refusals=True,
                wake=False,
                journal=journal,
            )
        self.note_writes(journal)
        return outcomes


def _takes_room(write: Write) -> bool:
    return isinstance(write, Create) and write.kind is not kinds.EVENT


class Controllers:
    """The controllers of one cluster."""

    def __init__(
        self,
        cache: ControllerCache,
        commit: Commit,
        controllers: Sequence[Controller] = CONTROLLERS,
        *,
        records_events: bool = True,
    ) -> None:
        """`commit` executes the writes of a controller, which is the user, in one transaction."""
        self.cache = cache
        self._cluster = cache.cluster
        self._commit = commit
        self._controllers = controllers
        self._records_events = records_events
        #: ordered, because taking the first entries of a plain dictionary walks over those taken
        self._queue: OrderedDict[Item, None] = OrderedDict()
        self._timers = _Timers()
        self._events = EventWriter(cache.cluster)
        self._acting = self._settings()
        #: kind -> the enabled controllers that it concerns
        self._listening = self._listeners()

    def take_in(
        self,
        kind: str,
        old: KubeObject | None,
        new: KubeObject | None,
        body: dict[str, Any] | str | None,
    ) -> None:
        """An object was added, changed or deleted; `body` may be JSON text."""
        self.cache.take_in(kind, old, new, body)
        self._enqueue(kind, old, new)

    def act(self) -> bool:
        """Run one round; True if anything was written or remains to be done."""
        self._apply_settings()
        now = self._cluster.now()
        self._queue.update(dict.fromkeys(self._timers.pop_due(now)))
        wanted: dict[str, list[Wanted]] = {}
        written = 0
        while self._queue and written < BATCH:
            item, _ = self._queue.popitem(last=False)
            steps = self._reconcile(item, now)
            written += sum(not isinstance(step, PendingEvent) for step in steps)
            user = self._controllers[item[0]].user
            wanted.setdefault(user, []).extend((item, step) for step in steps)
        reported = {user: self._write(user, requested, now) for user, requested in wanted.items()}
        for user, events in reported.items():
            if events and self._records_events:
                self._record_events(user, events, now)
        return bool(written) or bool(self._queue)

    def immediate_starts(self) -> ImmediateStarts | None:
        """Admission of pods that are about to be bound; None while the kubelet is off."""
        is_on = self._cluster.kubelet and self._acting[1]
        return ImmediateStarts(self.cache) if is_on else None

    def next_due(self) -> datetime | None:
        """The time of the next action without a change."""
        return self._timers.next()

    def _enqueue(self, kind: str, old: KubeObject | None, new: KubeObject | None) -> None:
        listening = self._listening.get(kind)
        if listening is None:
            listening = self._listening[kind] = self._listeners_of_other(kind)
        for place, concerns in listening:
            for ref in concerns(self.cache, old, new):
                self._queue[place, ref] = None

    def _reconcile(self, item: Item, now: datetime) -> list[Write | ReportedWrite | PendingEvent]:
        """Reconcile an object; returns writes and events. An error stops no other controller."""
        place, ref = item
        self._timers.forget(item)
        steps: list[Write | ReportedWrite | PendingEvent] = []
        try:
            for step in self._controllers[place].reconcile(self.cache, ref, now):
                if isinstance(step, Requeue):
                    self._timers.schedule(item, step.at)
                else:
                    steps.append(step)
        except Exception:
            log.exception("%s failed on %s %s/%s", self._controllers[place].name, *ref)
            self._timers.schedule(item, now + RETRY)
            return []
        return steps

    def _write(self, user: str, requested: list[Wanted], now: datetime) -> list[PendingEvent]:
        """Write what was requested; returns all events, in the order of the steps."""
        writes = [
            each.write if isinstance(each, ReportedWrite) else each
            for _, each in requested
            if not isinstance(each, PendingEvent)
        ]
        events: list[PendingEvent | None] = []
        outcomes = iter(self._commit(user, writes) if writes else ())
        for item, step in requested:
            if isinstance(step, PendingEvent):
                events.append(step)
                continue
            outcome = next(outcomes)
            # the deletion of the object is a change of its own
            if isinstance(outcome, NotFound):
                continue
            if isinstance(outcome, ApiError):
                if self._records_events:
                    log.info("%s: %s", user, outcome.message)
                self._timers.schedule(item, now + RETRY)
                if isinstance(step, ReportedWrite) and step.on_failure is not None:
                    events.append(step.on_failure(outcome))
            elif isinstance(step, ReportedWrite):
                events.append(step.on_success(outcome))
        return [each for each in events if each is not None]

    def _record_events(self, user: str, reported: list[PendingEvent], now: datetime) -> None:
        """Write events in a later transaction than their objects, which they refer to."""
        self._events.begin()
        written = [self._events.write(event, now) for event in reported]
        writes: list[Write] = [each for each in written if each is not None]
        if not writes:
            return
        outcomes = self._commit(user, writes)
        for write, outcome in zip(writes, outcomes, strict=True):
            if isinstance(outcome, ApiError):
                self._events.discard(write)
        self._events.confirm()

    # enabling and disabling

    def _settings(self) -> tuple[bool, bool]:
        return self._cluster.controllers, self._cluster.kubelet

    def _is_on(self, controller: Controller) -> bool:
        controllers, kubelet = self._acting
        return kubelet if controller.user == KUBELET else controllers

    def _listeners(self) -> dict[str, list[tuple[int, Concerns]]]:
        listeners: dict[str, list[tuple[int, Concerns]]] = {}
        for place, controller in enumerate(self._controllers):
            if self._is_on(controller):
                for kind, concerns in controller.concerns.items():
                    listeners.setdefault(kind, []).append((place, concerns))
        return listeners

    def _listeners_of_other(self, kind: str) -> list[tuple[int, Concerns]]:
        """The enabled controllers that a kind concerns which none of them names."""
        if kind in KINDS:
            return []
        return [
            (place, controller.others(kind))
            for place, controller in enumerate(self._controllers)
            if controller.others is not None and self._is_on(controller)
        ]

    def _apply_settings(self) -> None:
        """Apply changed settings: enabled controllers reconcile everything."""
        settings = self._settings()
        if settings == self._acting:
            return
        self._acting = settings
        self._listening = self._listeners()
        self._queue.clear()
        self._timers.clear()
        for kind, item in self.cache.all_objects():
            self._enqueue(kind, None, item)
