"""The formats: which file becomes objects of a cluster, and which becomes timed writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.writes import Create, Delete
from apps.controlplane.clusters import openb
from apps.controlplane.clusters.openb import TraceFile
from apps.controlplane.clusters.reading import raise_all, read_manifest
from apps.controlplane.scenarios.language.types import Import, Trace
from apps.controlplane.scenarios.recordings import kwok, simkube, simulator
from apps.controlplane.scenarios.recordings.events import Body, Event, TimedWrite, without_own
from apps.controlplane.scenarios.recordings.files import (
    Files,
    Place,
    get_objects,
    read_json,
    to_text,
)
from apps.controlplane.scenarios.recordings.replaying import to_writes

Objects = list[tuple[Kind, Body]]


def import_objects(given: Import, files: Files) -> Objects:
    """The objects of a file; BadRequest says what is wrong with it."""
    return _IMPORTS[given.format](files.read(given.file), given.file)


def read(trace: Trace, files: Files) -> list[TimedWrite]:
    """The writes of a recording, in order; BadRequest says what is wrong with it."""
    content = files.read(trace.file)
    if trace.format == "openb":
        found = _read_openb(content, trace.file)
    else:
        events = _RECORDINGS[trace.format](content, trace.file)
        found = to_writes(events, places=trace.placement == "recorded")
    scaled = [TimedWrite(each.at / trace.speed, each.writes, each.place) for each in found]
    if trace.until is not None:
        scaled = [each for each in scaled if each.at <= trace.until]
    return scaled[: trace.limit]


def _import_yaml(content: bytes, name: str) -> Objects:
    manifest = read_manifest(to_text(content, name))
    resolved = manifest.resolve(manifest.documents, {})
    raise_all(manifest.errors)
    return [(kind, body) for _, kind, body in resolved]


def _import_openb(content: bytes, name: str) -> Objects:
    nodes = openb.read_nodes(TraceFile(name, to_text(content, name)))
    return [(kinds.NODE, body) for body in nodes]


def _import_snapshotz(content: bytes, name: str) -> Objects:
    """The nodes of cluster-autoscaler's `/snapshotz`, with their pods, and those that wait."""
    place = Place(name)
    document = read_json(content, place)
    if not isinstance(document, dict) or not isinstance(document.get("NodeList"), list):
        raise place.at("NodeList").error("must be a list of objects")
    found: Objects = []
    for index, entry in enumerate(get_objects(document, "NodeList", place)):
        where = place.at("NodeList").at(index)
        found.append((kinds.NODE, without_own(entry.get("Node"), where.at("Node"))))
        for number, pod in enumerate(get_objects(entry, "Pods", where)):
            found.append((kinds.POD, without_own(pod.get("Pod"), where.at("Pods").at(number))))
    field = "UnscheduledPodsCanBeScheduled"
    for index, pod in enumerate(get_objects(document, field, place)):
        found.append((kinds.POD, without_own(pod, place.at(field).at(index))))
    return found


def _import_simulator(content: bytes, name: str) -> Objects:
    """A snapshot of kube-scheduler-simulator, without the objects that every cluster has."""
    document = simulator.read_snapshot(content, name)
    return [(kind, body) for kind, body, _ in simulator.snapshot_objects(document, name)]


def _import_kwok(content: bytes, name: str) -> Objects:
    """The objects at the start of a recording; what their controllers create is left out."""
    writes = to_writes(kwok.read_snapshot(content, name), places=True)
    return [
        (write.kind, dict(write.body))
        for entry in writes
        for write in entry.writes
        if isinstance(write, Create)
    ]


def _read_openb(content: bytes, name: str) -> list[TimedWrite]:
    """Pods at their times; each ends at its deletion, wherever it is then."""
    found: list[TimedWrite] = []
    trace = TraceFile(name, to_text(content, name))
    for created, deleted, body in openb.read_timed_pods(trace):
        found.append(TimedWrite(created, [Create(kinds.POD, body, "default")]))
        if deleted is not None:
            pod = body["metadata"]["name"]
            options = {"gracePeriodSeconds": 0}
            found.append(TimedWrite(deleted, [Delete(kinds.POD, "default", pod, options)]))
    return sorted(found, key=lambda each: each.at)


_IMPORTS: Mapping[str, Callable[[bytes, str], Objects]] = {
    "yaml": _import_yaml,
    "openb": _import_openb,
    "cluster-autoscaler": _import_snapshotz,
    "kube-scheduler-simulator": _import_simulator,
    "kwok": _import_kwok,
}
_RECORDINGS: Mapping[str, Callable[[bytes, str], list[Event]]] = {
    "kube-scheduler-simulator": simulator.read_recording,
    "kwok": kwok.read_recording,
    "simkube": simkube.read_trace,
}
