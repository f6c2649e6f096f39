"""Recordings of `kwokctl snapshot record`: YAML objects, then ResourcePatches with their times."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from apps.cluster import kinds, strategic_merge_patch
from apps.cluster.documents import UnreadableDocument, parse_yaml_stream
from apps.cluster.errors import BadRequest
from apps.cluster.kinds import Kind
from apps.cluster.schema import definition_of
from apps.cluster.writes import Create
from apps.studies.importers.formats import Format, Objects
from apps.studies.importers.recorded_events import (
    Body,
    Event,
    Key,
    TimedWrite,
    has_effect,
    read_event,
)
from apps.studies.importers.replaying import to_writes
from apps.studies.importers.source_files import Place, get_number, get_object, get_text, to_text

_PATCH_KIND: Final = "ResourcePatch"
_GROUP: Final = "action.kwok.x-k8s.io/"
#: Times of a recording are relative to its start: $(time-offset-nanosecond -12000000000)
_OFFSET: Final = re.compile(r"\$\(time-offset-nanosecond (-?\d{1,19})\)")
#: The start, in times of objects; decisions do not depend on it.
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


def read_objects(content: bytes, name: str) -> Objects:
    """The objects at the start of a recording; what their controllers create is left out."""
    return [
        (write.kind, dict(write.body))
        for entry in to_writes(_read_snapshot(content, name), places=True)
        for write in entry.writes
        if isinstance(write, Create)
    ]


def read_writes(content: bytes, name: str, places: bool) -> list[TimedWrite]:
    """The writes of a recording; BadRequest names document and field of what is wrong."""
    return to_writes(_read_recording(content, name), places=places)


def _read_recording(content: bytes, name: str) -> list[Event]:
    """All events, in order."""
    text = _OFFSET.sub(_to_time, to_text(content, name))
    events: list[Event] = []
    states: dict[Key, Body] = {}
    for place, document in _documents(text, name):
        event = _read(place, document, states)
        if event is None:
            continue
        events.append(event)
        if event.body is None:
            states.pop(event.key, None)
        else:
            states[event.key] = event.body
    return sorted(events, key=lambda each: each.at)


def _read_snapshot(content: bytes, name: str) -> list[Event]:
    """The objects at the start of the recording, without its patches."""
    text = _OFFSET.sub(_to_time, to_text(content, name))
    events = (
        read_event(0.0, document, place)
        for place, document in _documents(text, name)
        if not _is_patch(document)
    )
    return [event for event in events if event is not None]


def _to_time(match: re.Match[str]) -> str:
    try:
        at = _START + timedelta(microseconds=int(match[1]) // 1000)
    except OverflowError:
        return match[0]
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _documents(text: str, name: str) -> Iterator[tuple[Place, Body]]:
    try:
        for number, document in enumerate(parse_yaml_stream(text), start=1):
            place = Place(f"{name}: document {number}")
            if isinstance(document, dict):
                yield place, document
            elif document is not None:
                raise place.error("must be an object")
    except UnreadableDocument as error:
        raise BadRequest(f"{name}: {error}") from error


def _is_patch(document: Body) -> bool:
    api_version = str(document.get("apiVersion") or "")
    return document.get("kind") == _PATCH_KIND and api_version.startswith(_GROUP)


def _read(place: Place, document: Body, states: dict[Key, Body]) -> Event | None:
    if not _is_patch(document):
        return read_event(0.0, document, place)
    at = get_number(document, "durationNanosecond", place) / 1e9
    if at < 0:
        raise place.at("durationNanosecond").error("must not be negative")
    method = get_text(document, "method", place)
    if method not in ("create", "patch", "delete"):
        raise place.at("method").error(f"must be create, patch or delete, not {method!r}")
    kind = _kind_of(get_object(document, "resource", place), place.at("resource"))
    target = get_object(document, "target", place)
    name = get_text(target, "name", place.at("target"))
    if kind is None or not has_effect(kind):
        return None
    namespace = str(target.get("namespace") or "default") if kind.namespaced else ""
    if method == "delete":
        return Event(at, kind, namespace, name, None, place)
    template = get_object(document, "template", place)
    if method == "patch":
        old = states.get((kind.name, namespace, name))
        if old is None:
            raise place.at("target").error(
                f'{kind.qualified_plural} "{name}" is patched before it is created'
            )
        template = _patched(kind, old, template, place.at("template"))
    typed: dict[str, Any] = {"apiVersion": kind.api_version, "kind": kind.name, **template}
    typed["metadata"] = {**(typed.get("metadata") or {}), "name": name}
    if namespace:
        typed["metadata"]["namespace"] = namespace
    return read_event(at, typed, place.at("template"))


def _kind_of(resource: Body, place: Place) -> Kind | None:
    """The kind of a resource; None for one that scenarios do not have."""
    plural, version = get_text(resource, "resource", place), get_text(resource, "version", place)
    group = str(resource.get("group") or "")
    versions = (each for each in kinds.ALL if (each.group, each.plural) == (group, plural))
    return next((each for each in versions if each.version == version), None)


def _patched(kind: Kind, old: Body, patch: Body, place: Place) -> Body:
    """The object after a strategic merge patch."""
    try:
        definition = definition_of(kind.group, kind.version, kind.name)
        return strategic_merge_patch.merge(old, patch, definition)
    except BadRequest as error:
        raise place.error(error.message) from error


FORMAT = Format("kwok", read_objects, read_writes)
