"""Events as the components of Kubernetes write them: what is said again is counted, not repeated.

kube-scheduler writes events of events.k8s.io: the second time the same is said the event gets a
`series`, and a series that nothing was added to for six minutes is over. The controllers and the
kubelet write those of core/v1: `count` and `lastTimestamp` move.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Create, Update, Write
from apps.cluster.writing.metadata import micro_timestamp, timestamp

Body = dict[str, Any]

#: Longer notes are cut, with " ..." at the end, as the events API demands.
NOTE_LIMIT: Final = 1024
#: A series ends when nothing was added to it for so long.
SERIES_ENDS: Final = timedelta(minutes=6)
#: So many events are remembered at most, for the case that they are said again.
_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class Told:
    """Something that somebody says about an object."""

    #: kind, apiVersion, name, uid, and namespace if it has one
    about: Mapping[str, str]
    reason: str
    note: str
    reporter: str
    #: With an action it is an event of events.k8s.io, else of core/v1.
    action: str = ""
    warning: bool = False
    #: Another object that had to do with it.
    related: Mapping[str, str] | None = None
    #: Whether to say it again means nothing.
    once: bool = False

    @property
    def namespace(self) -> str:
        """Where the event is kept; of an object without namespace in "default"."""
        return self.about.get("namespace") or "default"


def about_pod(namespace: str, name: str, uid: str) -> dict[str, str]:
    """A pod, as events refer to it."""
    return {"kind": "Pod", "apiVersion": "v1", "namespace": namespace, "name": name, "uid": uid}


@dataclass(slots=True)
class _Known:
    name: str
    seen: datetime


class EventWriter:
    """Makes writes of what is told about the objects of one cluster.

    What has been told is remembered when its write is committed; `begin` forgets what was not.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: OrderedDict[tuple[Any, ...], _Known] = OrderedDict()
        self._staged: dict[tuple[Any, ...], _Known] = {}

    def begin(self) -> None:
        """A new transaction begins; what the last one told counts only if it was committed."""
        self._staged.clear()

    def committed(self) -> None:
        """What was told since `begin` is in the database."""
        for key, known in self._staged.items():
            self._known[key] = known
            self._known.move_to_end(key)
        self._staged.clear()
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def refused(self, write: Write) -> None:
        """An event was not written (somebody deleted the one to be changed): begin it anew."""
        if isinstance(write, Update):
            for key, known in list(self._staged.items()):
                if known.name == write.name:
                    del self._staged[key]
                    self._known.pop(key, None)

    def write(self, told: Told, now: datetime) -> Create | Update | None:
        """The creation of an event, or the change of the one that said it before."""
        key = _key(told)
        known = self._staged.get(key) or self._known.get(key)
        if known is not None and now - known.seen <= self._lifetime(told):
            self._staged[key] = _Known(known.name, now)
            again = _series_again if told.action else _count_again
            return None if told.once else _change(told, known.name, partial(again, now))
        # like upstream's, but not from the time: a manual clock may stand still
        name = f"{told.about['name']}.{secrets.token_hex(8)}"
        self._staged[key] = _Known(name, now)
        return Create(kinds.EVENT, _body(told, name, now), told.namespace)

    def _lifetime(self, told: Told) -> timedelta:
        kept = timedelta(seconds=self._cluster.event_ttl_seconds or 10**9)
        return min(SERIES_ENDS, kept) if told.action else kept


def _key(told: Told) -> tuple[Any, ...]:
    related = told.related["uid"] if told.related else ""
    what = (told.reason, told.note, told.action, told.warning)
    return told.about["uid"], told.about["name"], *what, told.reporter, related


def _body(told: Told, name: str, now: datetime) -> Body:
    note = told.note
    body: Body = {
        "metadata": {"name": name, "namespace": told.namespace},
        "involvedObject": dict(told.about),
        "reason": told.reason,
        "message": note if len(note) <= NOTE_LIMIT else f"{note[: NOTE_LIMIT - 4]} ...",
        "type": "Warning" if told.warning else "Normal",
        "reportingComponent": told.reporter,
    }
    if told.related is not None:
        body["related"] = dict(told.related)
    if told.action:
        return body | {
            "action": told.action,
            "eventTime": micro_timestamp(now),
            "reportingInstance": told.reporter,
            "firstTimestamp": None,
            "lastTimestamp": None,
            "source": {},
        }
    return body | {
        "source": {"component": told.reporter},
        "firstTimestamp": timestamp(now),
        "lastTimestamp": timestamp(now),
        "count": 1,
        "eventTime": None,
        "reportingInstance": "",
    }


def _change(told: Told, name: str, change: Callable[[Body], Body]) -> Update:
    return Update(kinds.EVENT, told.namespace, name, change, trusted=True)


def _series_again(now: datetime, event: Body) -> Body:
    count = (event.get("series") or {}).get("count", 1) + 1
    return {**event, "series": {"count": count, "lastObservedTime": micro_timestamp(now)}}


def _count_again(now: datetime, event: Body) -> Body:
    return {**event, "count": event.get("count", 1) + 1, "lastTimestamp": timestamp(now)}
