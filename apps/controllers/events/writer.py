"""Writes events as Kubernetes components do: repeated events are counted.

kube-scheduler writes events.k8s.io events: the first repetition adds a `series`, which ends after
six minutes without another one. The controllers and the kubelet write core/v1 events: a repetition
updates `count` and `lastTimestamp`, the tenth similar event and those after it are combined into
one, and of more than 25 about an object one is recorded every five minutes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
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
#: So many events about an object that differ in their notes only are recorded apart ...
_APART: Final = 9
#: ... until so much time has passed without another one.
_SIMILAR_ENDS: Final = timedelta(minutes=10)
_COMBINED: Final = "(combined from similar events): "
#: A component records so many events about an object at once, and then one each interval.
_BURST: Final = 25
_INTERVAL: Final = timedelta(minutes=5)
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
    #: Whether repetitions are dropped instead of counted.
    once: bool = False

    @property
    def namespace(self) -> str:
        """The namespace of the event; "default" for cluster-scoped objects."""
        return self.about.get("namespace") or "default"


def pod_reference(namespace: str, name: str, uid: str, version: str = "") -> dict[str, str]:
    """The reference to a pod in events; `version` is that of the pod as the reporter knew it."""
    named = {"kind": "Pod", "apiVersion": "v1", "namespace": namespace, "name": name, "uid": uid}
    return named | ({"resourceVersion": version} if version else {})


@dataclass(slots=True)
class _Occurrence:
    name: str
    seen: datetime


@dataclass(slots=True)
class _Similar:
    """Events about an object that differ in their notes only."""

    seen: datetime
    notes: OrderedDict[str, None] = field(default_factory=OrderedDict)


@dataclass(slots=True)
class _Allowance:
    """How many events about an object a component may still record."""

    since: datetime
    left: float = _BURST

    def take(self, now: datetime) -> bool:
        self.left = min(self.left + (now - self.since) / _INTERVAL, _BURST)
        self.since = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class EventWriter:
    """Turns events about the objects of one cluster into writes.

    An event is remembered once its write is committed; `begin` drops those that were not.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._recent: OrderedDict[tuple[Any, ...], _Occurrence] = OrderedDict()
        self._staged: dict[tuple[Any, ...], _Occurrence] = {}
        self._similar: OrderedDict[tuple[Any, ...], _Similar] = OrderedDict()
        self._allowances: OrderedDict[tuple[str, ...], _Allowance] = OrderedDict()

    def begin(self) -> None:
        """Start a transaction; drops the events of the last one unless it was committed."""
        self._staged.clear()

    def confirm(self) -> None:
        """Confirm that the events since `begin` are committed."""
        for key, latest in self._staged.items():
            self._recent[key] = latest
            self._recent.move_to_end(key)
        self._staged.clear()
        for known in (self._recent, self._similar, self._allowances):
            while len(known) > _REMEMBERED:
                known.popitem(last=False)

    def discard(self, write: Write) -> None:
        """Forget an event whose write was rejected (the event was deleted): the next one is new."""
        if isinstance(write, Update):
            for key, latest in list(self._staged.items()):
                if latest.name == write.name:
                    del self._staged[key]
                    self._recent.pop(key, None)

    def write(self, event: PendingEvent, now: datetime) -> Create | Update | None:
        """The creation of an event, or the update of the previous one; None for a dropped one."""
        combined = not event.action and self._is_one_of_many(event, now)
        if combined:
            event = replace(event, note=f"{_COMBINED}{event.note}")
        key = _key(event, combined=combined)
        latest = self._staged.get(key) or self._recent.get(key)
        is_known = latest is not None and now - latest.seen <= self._lifetime(event)
        if is_known and event.once:
            return None
        if not event.action and not self._may_record(event, now):
            return None
        if latest is not None and is_known:
            self._staged[key] = _Occurrence(latest.name, now)
            repeat = _extend_series if event.action else partial(_increment_count, event.note)
            return _change(event, latest.name, partial(repeat, now))
        name = _name(event.about["name"])
        self._staged[key] = _Occurrence(name, now)
        body = _body(event, name, now)
        if combined:
            # as upstream, which does not copy it
            body["reportingComponent"] = ""
        return Create(kinds.EVENT, body, event.namespace)

    def _is_one_of_many(self, event: PendingEvent, now: datetime) -> bool:
        """Whether the event is combined with similar ones before it."""
        key = _key(event, combined=True)
        similar = self._similar.get(key)
        if similar is None or now - similar.seen > _SIMILAR_ENDS:
            similar = self._similar[key] = _Similar(now)
        self._similar.move_to_end(key)
        similar.seen = now
        similar.notes[event.note] = None
        if len(similar.notes) <= _APART:
            return False
        # upstream forgets any of them
        similar.notes.popitem(last=False)
        return True

    def _may_record(self, event: PendingEvent, now: datetime) -> bool:
        key = (event.reporter, event.about["uid"], event.about["name"])
        allowance = self._allowances.setdefault(key, _Allowance(now))
        self._allowances.move_to_end(key)
        return allowance.take(now)

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


def _key(event: PendingEvent, *, combined: bool) -> tuple[Any, ...]:
    """What a repetition has in common with the event; of combined events the note differs."""
    what = (event.reason, None if combined else event.note, event.action, event.warning)
    return event.about["uid"], event.about["name"], *what, event.reporter


def _body(event: PendingEvent, name: str, now: datetime) -> Body:
    body: Body = {
        "metadata": {"name": name, "namespace": event.namespace},
        "involvedObject": dict(event.about),
        "reason": event.reason,
        "message": _shortened(event.note),
        "type": "Warning" if event.warning else "Normal",
        "reportingComponent": event.reporter,
    }
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


def _shortened(note: str) -> str:
    return note if len(note) <= NOTE_LIMIT else f"{note[: NOTE_LIMIT - 4]} ..."


def _change(event: PendingEvent, name: str, change: Callable[[Body], Body]) -> Update:
    return Update(kinds.EVENT, event.namespace, name, change, trusted=True)


def _extend_series(now: datetime, event: Body) -> Body:
    count = (event.get("series") or {}).get("count", 1) + 1
    return {**event, "series": {"count": count, "lastObservedTime": micro_timestamp(now)}}


def _increment_count(note: str, now: datetime, event: Body) -> Body:
    count = event.get("count", 1) + 1
    return {**event, "count": count, "message": _shortened(note), "lastTimestamp": timestamp(now)}
