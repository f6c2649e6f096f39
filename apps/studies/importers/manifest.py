"""What kubectl writes of a cluster: manifests, lists, dumps, in files and archives."""

from __future__ import annotations

from apps.cluster import kinds
from apps.cluster.manifests.reading import raise_all, read_manifest
from apps.cluster.manifests.text_files import File, read_files
from apps.cluster.writes import Create
from apps.studies.importers.formats import Format, Objects
from apps.studies.importers.recorded_events import Event, read_event
from apps.studies.importers.replaying import to_writes
from apps.studies.importers.source_files import Place


def read_objects(content: bytes, name: str) -> Objects:
    """The objects; what their controllers create is left out, as in recordings."""
    manifest = read_manifest(*read_files([File(name, content)]))
    resolved = manifest.resolve(manifest.documents, {})
    raise_all(manifest.errors)
    events: list[Event] = []
    others: Objects = []
    for place, kind, body in resolved:
        event = read_event(0.0, body, Place(str(place)))
        if event is not None:
            events.append(event)
        elif kind is not kinds.EVENT:
            others.append((kind, body))
    created = [
        (write.kind, dict(write.body))
        for entry in to_writes(events, places=True)
        for write in entry.writes
        if isinstance(write, Create)
    ]
    return [*created, *others]


FORMAT = Format("yaml", read_objects)
