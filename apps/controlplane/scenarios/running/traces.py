"""Recordings in other formats: objects of a cluster, and writes with their times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from apps.cluster import kinds
from apps.cluster.errors import BadRequest
from apps.cluster.kinds import Kind
from apps.cluster.writes import Create, Delete, Write
from apps.controlplane.clusters import openb
from apps.controlplane.clusters.openb import TraceFile
from apps.controlplane.clusters.reading import raise_all, read_manifest
from apps.controlplane.scenarios.language.types import Import, Trace

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Files:
    """The files that a scenario may read: those below a folder, or none."""

    folder: Path | None = None
    #: name -> content, of files that were sent with the scenario
    sent: Mapping[str, str] = field(default_factory=dict)

    def read(self, name: str) -> str:
        """The text of a file; BadRequest if it cannot be read."""
        if name in self.sent:
            return self.sent[name]
        if self.folder is None:
            raise BadRequest(f"the file {name!r} was not sent with the scenario")
        try:
            return (self.folder / name).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise BadRequest(f"the file {name!r} cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class TimedWrite:
    """Writes at a time, in seconds since the start of the workload."""

    at: float
    writes: list[Write]


def import_objects(given: Import, files: Files, now: datetime) -> list[tuple[Kind, Body]]:
    """The objects of a file; BadRequest says what is wrong with it."""
    return _IMPORTS[given.format](files.read(given.file), given.file, now)


def read(trace: Trace, files: Files) -> list[TimedWrite]:
    """The writes of a recording, in order; BadRequest says what is wrong with it."""
    found = _TRACES[trace.format](files.read(trace.file), trace.file)
    scaled = [TimedWrite(each.at / trace.speed, each.writes) for each in found]
    if trace.until is not None:
        scaled = [each for each in scaled if each.at <= trace.until]
    return scaled[: trace.limit]


def _import_yaml(text: str, name: str, now: datetime) -> list[tuple[Kind, Body]]:
    manifest = read_manifest(text)
    resolved = manifest.resolve(manifest.documents, {})
    raise_all(manifest.errors)
    return [(kind, body) for _, kind, body in resolved]


def _import_openb(text: str, name: str, now: datetime) -> list[tuple[Kind, Body]]:
    return [(kinds.NODE, body) for body in openb.read_nodes(TraceFile(name, text))]


def _import_snapshot(text: str, name: str, now: datetime) -> list[tuple[Kind, Body]]:
    """The nodes of cluster-autoscaler's `/snapshotz`, with their pods, and those that wait."""
    document = _read_json(text, name)
    found: list[tuple[Kind, Body]] = []
    for entry in _listed(document, "NodeList", name):
        found.append((kinds.NODE, _kept(entry.get("Node"), name)))
        found += [(kinds.POD, _kept(pod.get("Pod"), name)) for pod in entry.get("Pods") or ()]
    waiting = document.get("UnscheduledPodsCanBeScheduled") or ()
    found += [(kinds.POD, _kept(pod, name)) for pod in waiting]
    return found


def _import_simulator(text: str, name: str, now: datetime) -> list[tuple[Kind, Body]]:
    """A snapshot of kube-scheduler-simulator, without the objects that every cluster has."""
    document = _read_json(text, name)
    found: list[tuple[Kind, Body]] = []
    for list_name, kind in _SIMULATOR.items():
        for body in _listed(document, list_name, name) if document.get(list_name) else ():
            own = str((body.get("metadata") or {}).get("name", ""))
            if not own.startswith(("system-", "kube-")) and (kind, own) != ("Namespace", "default"):
                found.append((kinds.by_name(kind), _kept(body, name)))
    return found


#: Fields of a snapshot of kube-scheduler-simulator, in the order of creation.
_SIMULATOR: Mapping[str, str] = {
    "namespaces": "Namespace",
    "priorityClasses": "PriorityClass",
    "storageClasses": "StorageClass",
    "pvcs": "PersistentVolumeClaim",
    "pvs": "PersistentVolume",
    "nodes": "Node",
    "pods": "Pod",
}
#: Fields of metadata that the cluster sets itself.
_OWN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")


def _read_json(text: str, name: str) -> Body:
    try:
        document = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise BadRequest(f"{name}: this is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadRequest(f"{name}: must be an object")
    return document


def _listed(document: Body, field: str, name: str) -> list[Body]:
    found = document.get(field)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise BadRequest(f"{name}: {field}: must be a list of objects")
    return found


def _kept(body: Any, name: str) -> Body:
    """An object without what belongs to the cluster it was read from; its owners stay behind."""
    if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
        raise BadRequest(f"{name}: an object has no metadata")
    left = {*_OWN, "ownerReferences"}
    metadata = {key: value for key, value in body["metadata"].items() if key not in left}
    return {**body, "metadata": metadata}


def _read_openb(text: str, name: str) -> list[TimedWrite]:
    """Pods at their times; each ends at its deletion, wherever it is then."""
    found: list[TimedWrite] = []
    for created, deleted, body in openb.read_timed_pods(TraceFile(name, text)):
        found.append(TimedWrite(created, [Create(kinds.POD, body, "default")]))
        if deleted is not None:
            pod = body["metadata"]["name"]
            options = {"gracePeriodSeconds": 0}
            found.append(TimedWrite(deleted, [Delete(kinds.POD, "default", pod, options)]))
    return sorted(found, key=lambda each: each.at)


_IMPORTS: Mapping[str, Callable[[str, str, datetime], list[tuple[Kind, Body]]]] = {
    "yaml": _import_yaml,
    "openb": _import_openb,
    "cluster-autoscaler": _import_snapshot,
    "kube-scheduler-simulator": _import_simulator,
}
_TRACES: Mapping[str, Callable[[str, str], list[TimedWrite]]] = {"openb": _read_openb}
