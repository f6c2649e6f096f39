"""Runs a cluster's controllers: what changed is looked at, what they want is written."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.db import transaction

from apps.cluster.errors import ApiError, NotFound
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Write
from apps.cluster.writing import store
from apps.controlplane.controllers.controller import Concerns, Controller, Later, Reported
from apps.controlplane.controllers.registry import CONTROLLERS, KUBELET
from apps.controlplane.controllers.world import Ref, World
from apps.controlplane.events.writer import EventWriter, Told
from apps.controlplane.workers.lease import Lease
from apps.scheduler.objects import KubeObject

log = logging.getLogger(__name__)

#: One transaction holds about so many writes; what is beyond waits for the next turn.
BATCH = 1000
#: After a refused write (a quota, an invalid template) or an error the object is tried again.
RETRY = timedelta(seconds=10)

#: A controller, by its place in the registry, and an object it has to look at.
Item = tuple[int, Ref]
#: A write that a controller wants, and for which object.
Wanted = tuple[Item, Write | Reported]


@dataclass(slots=True)
class _Timers:
    """When which object has to be looked at though nothing changes; one moment an object."""

    _heap: list[tuple[datetime, int, Item]] = field(default_factory=list)
    _current: dict[Item, datetime] = field(default_factory=dict)
    _serial: Iterator[int] = field(default_factory=count)

    def put(self, item: Item, at: datetime) -> None:
        known = self._current.get(item)
        if known is None or at < known:
            self._current[item] = at
            heapq.heappush(self._heap, (at, next(self._serial), item))

    def forget(self, item: Item) -> None:
        self._current.pop(item, None)

    def clear(self) -> None:
        self._heap.clear()
        self._current.clear()

    def due(self, now: datetime) -> Iterator[Item]:
        """Take out what is due."""
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


class Controllers:
    """The controllers of one cluster, as long as the lease is the caller's own."""

    def __init__(
        self, cluster: Cluster, lease: Lease, controllers: Sequence[Controller] = CONTROLLERS
    ) -> None:
        self.world = World(cluster)
        self._cluster = cluster
        self._lease = lease
        self._controllers = controllers
        self._todo: dict[Item, None] = {}
        self._timers = _Timers()
        self._events = EventWriter(cluster)
        self._acting = self._settings()
        #: kind -> the controllers that are on and want to hear of it
        self._listening = self._listeners()

    def take_in(
        self,
        kind: str,
        old: KubeObject | None,
        new: KubeObject | None,
        body: dict[str, Any] | None,
    ) -> None:
        """An object was added, changed or deleted."""
        self.world.take_in(kind, old, new, body)
        self._note(kind, old, new)

    def act(self) -> bool:
        """Do one round of what is to be done; True if something was written."""
        self._follow_settings()
        now = self._cluster.now()
        self._todo.update(dict.fromkeys(self._timers.due(now)))
        wanted: dict[str, list[Wanted]] = {}
        told: dict[str, list[Told]] = {}
        written = 0
        while self._todo and written < BATCH:
            item = next(iter(self._todo))
            del self._todo[item]
            writes, said = self._look_at(item, now)
            written += len(writes)
            user = self._controllers[item[0]].user
            wanted.setdefault(user, []).extend((item, write) for write in writes)
            told.setdefault(user, []).extend(said)
        for user, asked in wanted.items():
            if asked:
                told[user] += self._write(user, asked, now)
        for user, said in told.items():
            if said:
                self._tell(user, said, now)
        return bool(written) or bool(self._todo)

    def next_due(self) -> datetime | None:
        """When something has to be done though nothing changes."""
        return self._timers.next()

    def _note(self, kind: str, old: KubeObject | None, new: KubeObject | None) -> None:
        for place, concerns in self._listening.get(kind, ()):
            for ref in concerns(self.world, old, new):
                self._todo[place, ref] = None

    def _look_at(self, item: Item, now: datetime) -> tuple[list[Write | Reported], list[Told]]:
        """What a controller wants and says of an object. Its failure must not stop the others."""
        place, ref = item
        self._timers.forget(item)
        writes: list[Write | Reported] = []
        said: list[Told] = []
        try:
            for step in self._controllers[place].reconcile(self.world, ref, now):
                if isinstance(step, Later):
                    self._timers.put(item, step.at)
                elif isinstance(step, Told):
                    said.append(step)
                else:
                    writes.append(step)
        except Exception:
            log.exception("%s failed on %s %s/%s", self._controllers[place].name, *ref)
            self._timers.put(item, now + RETRY)
            return [], []
        return writes, said

    def _write(self, user: str, asked: list[Wanted], now: datetime) -> list[Told]:
        """Write what is wanted; what is to be said of how that went."""
        writes = [each.write if isinstance(each, Reported) else each for _, each in asked]
        told = []
        with transaction.atomic():
            self._lease.renew()
            outcomes = store.write(
                self._cluster, writes, actor=Actor(user), collect_refusals=True, wake=False
            )
        for (item, step), outcome in zip(asked, outcomes, strict=True):
            # what is gone tells so by itself, in the log
            if isinstance(outcome, NotFound):
                continue
            if isinstance(outcome, ApiError):
                log.info("%s: %s", user, outcome.message)
                self._timers.put(item, now + RETRY)
                if isinstance(step, Reported) and step.failed is not None:
                    told.append(step.failed(outcome))
            elif isinstance(step, Reported):
                told.append(step.done(outcome))
        return told

    def _tell(self, user: str, said: list[Told], now: datetime) -> None:
        """Events are written behind what they tell of, so that they can name it."""
        self._events.begin()
        written = [self._events.write(told, now) for told in said]
        writes: list[Write] = [each for each in written if each is not None]
        if not writes:
            return
        with transaction.atomic():
            self._lease.renew()
            outcomes = store.write(
                self._cluster, writes, actor=Actor(user), collect_refusals=True, wake=False
            )
        for write, outcome in zip(writes, outcomes, strict=True):
            if isinstance(outcome, ApiError):
                self._events.refused(write)
        self._events.committed()

    # switching on and off

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

    def _follow_settings(self) -> None:
        """Who is switched on looks at everything, who is switched off forgets what was to do."""
        settings = self._settings()
        if settings == self._acting:
            return
        self._acting = settings
        self._listening = self._listeners()
        self._todo.clear()
        self._timers.clear()
        for kind, item in self.world.everything():
            self._note(kind, None, item)
