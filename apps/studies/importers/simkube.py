"""Traces of SimKube, version 2: msgpack, or the same as JSON."""

from __future__ import annotations

import base64
import binascii
import statistics
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from apps.controllers.kubelet.annotations import SUCCEEDS_AFTER
from apps.studies.importers.formats import Format
from apps.studies.importers.lifetimes import with_lifetime
from apps.studies.importers.recorded_events import Body, Event, TimedWrite, read_event
from apps.studies.importers.replaying import to_writes
from apps.studies.importers.source_files import Place, get_number, get_objects, read_json

VERSION: Final = 2
#: (kind, namespace/name) of an owner -> the usual seconds from start to end of its pods
Lifetimes = Mapping[tuple[str, str], float]


def read_writes(content: bytes, name: str, places: bool) -> list[TimedWrite]:
    """The writes of a trace; BadRequest names the field of what is wrong."""
    return to_writes(_read_events(content, name), places=places)


def _read_events(content: bytes, name: str) -> list[Event]:
    """The events of a trace, in order."""
    place = Place(name)
    trace = _decode(content, place)
    if get_number(trace, "version", place) != VERSION:
        raise place.at("version").error(f"must be {VERSION}, not {trace['version']}")
    lifetimes = dict(_read_lifetimes(trace, place))
    events: list[Event] = []
    start: float | None = None
    for index, entry in enumerate(get_objects(trace, "events", place)):
        where = place.at("events").at(index)
        at = get_number(entry, "ts", where)
        start = at if start is None else start
        if at < start:
            raise where.at("ts").error("is before the first time of the trace")
        events += _read_entry(entry, at - start, where, lifetimes)
    return sorted(events, key=lambda each: each.at)


def _read_entry(entry: Body, at: float, place: Place, lifetimes: Lifetimes) -> Iterator[Event]:
    for field in ("applied_objs", "deleted_objs"):
        for index, body in enumerate(get_objects(entry, field, place)):
            where = place.at(field).at(index)
            event = read_event(at, body, where, deleted=field == "deleted_objs")
            if event is None:
                continue
            if event.body is not None:
                seconds = lifetimes.get((event.kind.name, f"{event.namespace}/{event.name}"))
                if seconds is not None:
                    body = with_lifetime(event.body, SUCCEEDS_AFTER, seconds)
                    event = Event(at, event.kind, event.namespace, event.name, body, where)
            yield event


def _decode(content: bytes, place: Place) -> Body:
    """The trace; text that is no JSON object is msgpack in base64."""
    if content.lstrip()[:1] == b"{":
        trace = read_json(content, place)
    else:
        trace = _decode_msgpack(content, place)
    if not isinstance(trace, dict):
        raise place.error("must be a map with version, config, events, index and pod_lifecycles")
    return trace


def _decode_msgpack(content: bytes, place: Place) -> Any:
    if content and content[0] < 0x80:
        try:
            content = base64.b64decode(content, validate=False)
        except binascii.Error as error:
            raise place.error(f"this is neither msgpack, JSON nor base64: {error}") from error
    try:
        return msgspec.msgpack.decode(content)
    except (msgspec.DecodeError, RecursionError, TypeError) as error:
        raise place.error(f"this is not msgpack: {error}") from error


def _read_lifetimes(trace: Body, place: Place) -> Iterator[tuple[tuple[str, str], float]]:
    """For each owner the median of its pods that ended."""
    place = place.at("pod_lifecycles")
    lifecycles = trace.get("pod_lifecycles") or {}
    if not isinstance(lifecycles, dict):
        raise place.error("must be a map")
    for key, by_hash in lifecycles.items():
        owner = _owner_of(key, place)
        where = place.at("/".join(owner))
        if not isinstance(by_hash, dict):
            raise where.error("must be a map from the hash of a pod to its lifecycles")
        ends = [each for entries in by_hash.values() for each in _seconds(entries, where)]
        if ends:
            yield owner, max(statistics.median(ends), 0.001)


def _owner_of(key: Any, place: Place) -> tuple[str, str]:
    """Kind and name of `("apps/v1.Deployment", "default/web")`; in JSON, that list as text."""
    if isinstance(key, str):
        try:
            key = msgspec.json.decode(key)
        except msgspec.DecodeError:
            key = None
    if not (isinstance(key, list | tuple) and len(key) == 2 and all(map(_is_text, key))):
        raise place.error("every key must be a pair of kind and name of an owner")
    return key[0].rpartition(".")[2], key[1]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _seconds(entries: Any, place: Place) -> Iterator[float]:
    """How long the pods that ended have run."""
    if not isinstance(entries, list):
        raise place.error("must have lists of lifecycles")
    for entry in entries:
        if not isinstance(entry, dict):
            raise place.error("every lifecycle must have start_ts, and end_ts if it ended")
        start = get_number(entry, "start_ts", place)
        if entry.get("end_ts") is not None:
            yield get_number(entry, "end_ts", place) - start


FORMAT = Format("simkube", read_writes=read_writes)
