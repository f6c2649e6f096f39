"""The controllers of a cluster in memory: those of stored clusters, with other writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from apps.cluster.errors import ApiError
from apps.cluster.kinds import Kind
from apps.cluster.writes import Write
from apps.controllers import accounts, namespaces, roles
from apps.controllers.cache import ControllerCache
from apps.controllers.controller import Controller
from apps.controllers.endpoints import endpoints, slices
from apps.controllers.events.writer import EventWriter, PendingEvent
from apps.controllers.manager import Controllers
from apps.controllers.registry import CONTROLLERS
from apps.scheduler.features import FeatureGates
from apps.studies.scenarios.memory.memory_objects import MemoryObjects

Body = dict[str, Any]

#: They read the database: all kinds of a namespace, the site's authority, roles, addresses of pods.
#: What the last two write has no effect on scheduling.
_LEFT_OUT: Final = (
    namespaces.CONTROLLER,
    accounts.CONTROLLER,
    roles.CONTROLLER,
    slices.CONTROLLER,
    endpoints.CONTROLLER,
)
ACTING: Final[tuple[Controller, ...]] = tuple(each for each in CONTROLLERS if each not in _LEFT_OUT)


class MemoryCache(ControllerCache):
    """The controllers' cache, with what stored clusters look up in the database."""

    def __init__(self, objects: MemoryObjects, gates: FeatureGates) -> None:
        super().__init__(objects.cluster, lambda cluster: gates)
        self._memory = objects

    def has_existed(self, uid: str, *, deleted: bool = False) -> bool:
        return uid in (self._memory.deleted if deleted else self._memory.known)

    def find_stored(self, kind: Kind, namespace: str, name: str) -> Body | None:
        return self._memory.find(kind, namespace, name)

    def list_stored(self, kind: Kind, namespace: str) -> list[Body]:
        bodies = self._memory.list_all(kind)
        return [body for body in bodies if body["metadata"].get("namespace", "") == namespace]


def build_controllers(objects: MemoryObjects, gates: FeatureGates) -> Controllers:
    """The controllers of a cluster in memory; they record no events."""

    def commit(user: str, writes: Sequence[Write]) -> list[Body | ApiError]:
        return objects.write(writes, user, collect_refusals=True)

    cache = MemoryCache(objects, gates)
    return Controllers(cache, commit, ACTING, records_events=False)


class NoEvents(EventWriter):
    """Drops all events."""

    def write(self, event: PendingEvent, now: datetime) -> None:
        return None
