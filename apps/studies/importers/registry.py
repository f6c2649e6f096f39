"""The formats that have an importer; `scenarios.language` has their names, too."""

from __future__ import annotations

from typing import Final

from apps.studies.importers import autoscaler, kwok, manifest, openb, simkube, simulator
from apps.studies.importers.formats import Format

_FORMATS: Final[tuple[Format, ...]] = (
    openb.FORMAT,
    autoscaler.FORMAT,
    simulator.FORMAT,
    kwok.FORMAT,
    simkube.FORMAT,
    manifest.FORMAT,
)
#: name -> the function that reads objects
IMPORTS: Final = {each.name: each.read_objects for each in _FORMATS if each.read_objects}
#: name -> the function that reads writes
RECORDINGS: Final = {each.name: each.read_writes for each in _FORMATS if each.read_writes}
