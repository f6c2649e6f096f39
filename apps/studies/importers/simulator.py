"""Files of kube-scheduler-simulator: snapshots, and recordings of a cluster's changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.studies.importers.formats import Format, Objects
from apps.studies.importers.recorded_events import Body, Event, TimedWrite, read_event, without_own
from apps.studies.importers.replaying import to_writes
from apps.studies.importers.source_files import Place, get_object, get_objects, get_text, read_json

#: Fields of a snapshot, in the order of creation.
SNAPSHOT_LISTS: Final[Mapping[str, str]] = {
    "namespaces": "Namespace",
    "priorityClasses": "PriorityClass",
    "storageClasses": "StorageClass",
    "pvcs": "PersistentVolumeClaim",
    "pvs": "PersistentVolume",
    "nodes": "Node",
    "pods": "Pod",
}


def read_objects(content: bytes, name: str) -> Objects:
    """The objects of a snapshot, without those that every cluster has."""
    document = read_snapshot(content, name)
    return [(kind, body) for kind, body, _ in snapshot_objects(document, name)]


def read_writes(content: bytes, name: str, places: bool) -> list[TimedWrite]:
    """The writes of a recording."""
    return to_writes(read_recording(content, name), places=places)


def read_snapshot(content: bytes, name: str) -> Body:
    """The snapshot as it is; BadRequest if it is none."""
    document = read_json(content, Place(name))
    if not isinstance(document, dict):
        raise Place(name).error("must be an object")
    return document


def snapshot_objects(document: Body, name: str) -> Iterator[tuple[Kind, Body, Place]]:
    """The objects of a snapshot, without those that every cluster has."""
    for field, kind in SNAPSHOT_LISTS.items():
        for index, body in enumerate(get_objects(document, field, Place(name))):
            place = Place(name, f"{field}[{index}]")
            own = str((body.get("metadata") or {}).get("name", ""))
            if not own.startswith(("system-", "kube-")) and (kind, own) != ("Namespace", "default"):
                yield kinds.by_name(kind), without_own(body, place), place


def read_recording(content: bytes, name: str) -> list[Event]:
    """The events of a recording, which is JSON lines or one list, in order.

    BadRequest names line and field of what is wrong.
    """
    events = []
    start: datetime | None = None
    for place, record in _records(content, name):
        at = _time_of(record, place)
        start = at if start is None else start
        event = get_text(record, "event", place)
        if event not in ("Add", "Update", "Delete"):
            raise place.at("event").error(f"must be Add, Update or Delete, not {event!r}")
        seconds = (at - start).total_seconds()
        if seconds < 0:
            raise place.at("time").error("is before the first time of the file")
        resource = get_object(record, "resource", place)
        deleted = event == "Delete"
        recorded = read_event(seconds, resource, place.at("resource"), deleted=deleted)
        if recorded is not None:
            events.append(recorded)
    return sorted(events, key=lambda each: each.at)


def _records(content: bytes, name: str) -> Iterator[tuple[Place, Body]]:
    if content.lstrip()[:1] == b"[":
        for index, record in enumerate(read_json(content, Place(name))):
            yield from _checked(Place(name, f"[{index}]"), record)
        return
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            place = Place(f"{name}: line {number}")
            yield from _checked(place, read_json(line, place))


def _checked(place: Place, record: Any) -> Iterator[tuple[Place, Body]]:
    if not isinstance(record, dict):
        raise place.error("must be an object with time, event and resource")
    yield place, record


def _time_of(record: Body, place: Place) -> datetime:
    text = get_text(record, "time", place)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise place.at("time").error(f"{text!r} is not a time such as 2026-01-01T00:00:00Z")
    return at


FORMAT = Format("kube-scheduler-simulator", read_objects, read_writes)
