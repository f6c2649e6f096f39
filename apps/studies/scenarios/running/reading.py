"""Reads the files that a scenario names, by the formats that it gives for them."""

from __future__ import annotations

from apps.studies.importers.formats import Objects
from apps.studies.importers.recorded_events import TimedWrite
from apps.studies.importers.registry import IMPORTS, RECORDINGS
from apps.studies.importers.source_files import Files
from apps.studies.scenarios.language.types import Import, Trace


def import_objects(given: Import, files: Files) -> Objects:
    """The objects of a file; BadRequest says what is wrong with it."""
    return IMPORTS[given.format](files.read(given.file), given.file)


def read(trace: Trace, files: Files) -> list[TimedWrite]:
    """The writes of a recording, in order; BadRequest says what is wrong with it."""
    content = files.read(trace.file)
    writes = RECORDINGS[trace.format](content, trace.file, trace.placement == "recorded")
    scaled = [TimedWrite(each.at / trace.speed, each.writes, each.place) for each in writes]
    if trace.until is not None:
        scaled = [each for each in scaled if each.at <= trace.until]
    return scaled[: trace.limit]
