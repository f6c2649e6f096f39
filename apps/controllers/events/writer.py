"""Writes events as Kubernetes components do: repeated events are counted.

kube-scheduler writes events.k8s.io events: the first repetition adds a `series`, which ends after
six minutes without another one. The controllers and the kubelet write core/v1 events: a repetition
updates `count` and `lastTimestamp`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.random_ids import random_hex, random_uuid_text
from apps.cluster.writes import Create, Update, Write
from apps.cluster.writing.metadata import micro_timestamp, timestamp

Body = dict[str, Any]

#: Longer notes are truncated, with " ..." at the end, as the events API requires.
NOTE_LIMIT: Final = 1024
#: A series ends after this time without a repetition.
SERIES_ENDS: Final = timedelta(minutes=6)
_LONGEST_NAME: Final = 253
#: Maximum number of events remembered, to recognize repetitions.
_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class PendingEvent:
    """An event to be recorded."""

    #: kind, apiVersion, name, uid, and namespace if it has one
    about: Mapping[str, str]
    reason: str
    note: str
    reporter: str
    #: With an action it is an events.k8s.io event, otherwise a core/v1 event.
    action: str = ""
    warning: bool = False
    #: A second object involved.
    related: Mapping[str, str] | None = None
    #: Whether repetitions are dropped instead of counted.
    once: bool = False

    @property
    def namespace(self) -> str:
        """The namespace of the event; "default" for cluster-scoped objects."""
        return self.about.get("namespace") or "default"


def pod_reference(namespace: str, name: str, uid: str) -> dict[str, str]:
    """The reference to a pod in events."""
    return {"kind": "Pod", "apiVersion": "v1", "namespace": namespace, "name": name, "uid": uid}


@dataclass(slots=True)
class _Occurrence:
    name: str
    seen: datetime


class EventWriter:
    """Turns events about the objects of one cluster into writes.

    An event is remembered once its write is committed; `begin` drops those that were not.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._recent: OrderedDict[tuple[Any, ...], _Occurrence] = OrderedDict()
        self._staged: dict[tuple[Any, ...], _Occurrence] = {}

    def begin(self) -> None:
        """Start a transaction; drops the events of the last one unless it was committed."""
        self._staged.clear()

    def confirm(self) -> None:
        """Confirm that the events since `begin` are committed."""
        for key, latest in self._staged.items():
            self._recent[key] = latest
            self._recent.move_to_end(key)
        self._staged.clear()
        while len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)

    def discard(self, write: Write) -> None:
        """Forget an event whose write was rejected (the event was deleted): the next one is new."""
        if isinstance(write, Update):
            for key, latest in list(self._staged.items()):
                if latest.name == write.name:
                    del self._staged[key]
                    self._recent.pop(key, None)

    def write(self, event: PendingEvent, now: datetime) -> Create | Update | None:
        """The creation of an event, or the update of the previous one; None for a dropped one."""
        key = _key(event)
        latest = self._staged.get(key) or self._recent.get(key)
        if latest is not None and now - latest.seen <= self._lifetime(event):
            self._staged[key] = _Occurrence(latest.name, now)
            repeat = _extend_series if event.action else _increment_count
            return None if event.once else _change(event, latest.name, partial(repeat, now))
        name = _name(event.about["name"])
        self._staged[key] = _Occurrence(name, now)
        return Create(kinds.EVENT, _body(event, name, now), event.namespace)

    def _lifetime(self, event: PendingEvent) -> timedelta:
        lifetime = timedelta(seconds=self._cluster.event_ttl_seconds or 10**9)
        return min(SERIES_ENDS, lifetime) if event.action else lifetime


def _name(about: str) -> str:
    """The name of a new event about an object with this name.

    Like upstream's, but random instead of the time, because a manual clock may stand still. As
    upstream, a UUID where it would be longer than a name may be.
    """
    name = f"{about}.{random_hex()}"
    return name if len(name) <= _LONGEST_NAME else random_uuid_text()


def _key(event: PendingEvent) -> tuple[Any, ...]:
    related = event.related["uid"] if event.related else ""
    what = (event.reason, event.note, event.action, event.warning)
    return event.about["uid"], event.about["name"], *what, event.reporter, related


def _body(event: PendingEvent, name: str, now: datetime) -> Body:
    note = event.note
    body: Body = {
        "metadata": {"name": name, "namespace": event.namespace},
        "involvedObject": dict(event.about),
        "reason": event.reason,
        "message": note if len(note) <= NOTE_LIMIT else f"{note[: NOTE_LIMIT - 4]} ...",
        "type": "Warning" if event.warning else "Normal",
        "reportingComponent": event.reporter,
    }
    if event.related is not None:
        body["related"] = dict(event.related)
    if event.action:
        return body | {
            "action": event.action,
            "eventTime": micro_timestamp(now),
            "reportingInstance": event.reporter,
            "firstTimestamp": None,
            "lastTimestamp": None,
            "source": {},
        }
    return body | {
        "source": {"component": event.reporter},
        "firstTimestamp": timestamp(now),
        "lastTimestamp": timestamp(now),
        "count": 1,
        "eventTime": None,
        "reportingInstance": "",
    }


def _change(event: PendingEvent, name: str, change: Callable[[Body], Body]) -> Update:
    return Update(kinds.EVENT, event.namespace, name, change, trusted=True)


def _extend_series(now: datetime, event: Body) -> Body:
    count = (event.get("series") or {}).get("count", 1) + 1
    return {**event, "series": {"count": count, "lastObservedTime": micro_timestamp(now)}}


def _increment_count(now: datetime, event: Body) -> Body:
    return {**event, "count": event.get("count", 1) + 1, "lastTimestamp": timestamp(now)}
