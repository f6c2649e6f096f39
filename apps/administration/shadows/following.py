"""Follows a real cluster: reads its changes, and writes them into its shadow in their order."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

from django.db import OperationalError, connections
from django.utils import timezone

from apps.administration.shadows.mirror import Mirror, ObjectMoved
from apps.administration.shadows.remote import Changed, Failed, Fetch, Listed, News, Remote
from apps.cluster.errors import Conflict
from apps.cluster.kinds import Kind
from apps.cluster.log.announce import announcer
from apps.cluster.models import Cluster
from apps.engine.loop.informer import WATCHED
from apps.engine.models import Shadow
from apps.engine.workers import presence
from apps.scheduler.cache.listers import Listers

#: The kinds that scheduling reads.
FOLLOWED: Final = tuple(
    kind for kind in WATCHED if kind.name in {"Node", "Pod", *Listers().by_kind}
)
#: Changes are collected for this time, so that those of different kinds are in order.
_COLLECT_SECONDS: Final = 0.02
#: Changes that are written together at most.
_MOST: Final = 2000
#: The row of the shadow says so often that the other cluster is followed.
_NOTE_SECONDS: Final = 2.0
#: Time until it starts again after the database was not there.
_PAUSE_SECONDS: Final = 2.0
#: Seconds until all kinds have answered at first; then those that have are written.
_FIRST_SECONDS: Final = 60.0


class AlreadyFollowed(Conflict):
    """Another process follows the real cluster."""

    def __init__(self, name: str) -> None:
        super().__init__("clusters", name, "another process follows the real cluster")


def follow(
    shadow: Shadow,
    connect: Callable[[], Fetch],
    *,
    stopping: Callable[[], bool],
    report: Callable[[str], None] = lambda message: None,
) -> None:
    """Follow the cluster of `shadow` until `stopping()`; `report` gets what a person should know.

    `connect` as for `Remote`. Raises AlreadyFollowed, and NotFound if the shadow is deleted.
    """
    while not stopping():
        connections.close_all()
        try:
            if not presence.announce(f"shadow_{shadow.pk}"):
                raise AlreadyFollowed(shadow.cluster.name)
            _follow_once(shadow, connect, stopping, report)
        except (OperationalError, ObjectMoved) as error:
            # the lists that follow find what was missed
            report(f"starting again: {str(error).strip()}")
            time.sleep(_PAUSE_SECONDS)


def _follow_once(
    shadow: Shadow,
    connect: Callable[[], Fetch],
    stopping: Callable[[], bool],
    report: Callable[[str], None],
) -> None:
    remote = Remote(connect, FOLLOWED)
    remote.start()
    try:
        _Following(shadow, remote, report).run(stopping)
    finally:
        remote.stop()


class _Following:
    def __init__(self, shadow: Shadow, remote: Remote, report: Callable[[str], None]) -> None:
        self._shadow = shadow
        self._remote = remote
        self._report = report
        self._mirror = Mirror(shadow.cluster, remote.kinds, shadow.context or shadow.server)
        self._faults: dict[str, str] = {}
        self._noted_at = 0.0

    def run(self, stopping: Callable[[], bool]) -> None:
        self._take_in(self._collect_first(stopping))
        self._report("all objects are written; following")
        while not stopping():
            self._take_in(self._collect())

    def _collect_first(self, stopping: Callable[[], bool]) -> list[News]:
        """The first lists, in the order in which kinds depend on each other, and what follows."""
        first: dict[str, News] = {}
        later: list[News] = []
        deadline = time.monotonic() + _FIRST_SECONDS
        while not stopping() and time.monotonic() < deadline:
            for each in self._collect():
                if each.kind.key not in first:
                    first[each.kind.key] = each
                else:
                    later.append(each)
            if len(first) == len(self._remote.kinds):
                break
        in_order = [first[k.key] for k in self._remote.kinds if k.key in first]
        return [*in_order, *later]

    def _collect(self) -> list[News]:
        """What was read; waits for the first for up to a second."""
        try:
            news = [self._remote.news.get(timeout=1.0)]
        except queue.Empty:
            return []
        deadline = time.monotonic() + _COLLECT_SECONDS
        while len(news) < _MOST:
            try:
                news.append(self._remote.news.get(timeout=max(deadline - time.monotonic(), 0.001)))
            except queue.Empty:
                break
        return news

    def _take_in(self, news: Sequence[News]) -> None:
        for part in _in_order(news):
            if isinstance(part, list):
                self._mirror.change(part)
            elif isinstance(part, Listed):
                self._mirror.replace(part)
            else:
                self._note_fault(part.kind, part.message)
        if time.monotonic() - self._noted_at > _NOTE_SECONDS:
            self._noted_at = time.monotonic()
            self._note(followed_at=timezone.now())

    def _note_fault(self, kind: Kind, message: str) -> None:
        self._faults.pop(kind.key, None)
        if message:
            self._faults[kind.key] = message
        self._report(f"{kind.qualified_plural}: {message or 'followed again'}")
        self._note(faults=self._faults)
        cluster = Cluster.objects.get(pk=self._shadow.pk)
        announcer.announce(cluster.pk, cluster.resource_version, due=False)

    def _note(self, **changes: Any) -> None:
        """Write what pages show of the shadow."""
        Shadow.objects.filter(pk=self._shadow.pk).update(**changes)


def _in_order(news: Sequence[News]) -> Iterator[Listed | Failed | list[Changed]]:
    """The news, with the changes between two others sorted by their versions."""
    changes: list[Changed] = []
    for each in news:
        if isinstance(each, Changed):
            changes.append(each)
            continue
        if changes:
            yield sorted(changes, key=attrgetter("version"))
            changes = []
        yield each
    if changes:
        yield sorted(changes, key=attrgetter("version"))
