"""Recordings in other formats: objects of a cluster, and writes with their times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from apps.cluster.errors import BadRequest
from apps.cluster.kinds import Kind
from apps.cluster.writes import Write
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


_IMPORTS: Mapping[str, Callable[[str, str, datetime], list[tuple[Kind, Body]]]] = {
    "yaml": _import_yaml,
}
_TRACES: Mapping[str, Callable[[str, str], list[TimedWrite]]] = {}
