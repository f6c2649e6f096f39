"""What every importer of a format declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apps.cluster.kinds import Kind
from apps.studies.importers.recorded_events import Body, TimedWrite

Objects = list[tuple[Kind, Body]]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format of another system, and what its files can become.

    The functions take the content of a file and its name; BadRequest says what is wrong with it.
    """

    #: as scenarios have it in `format`
    name: str
    #: the objects of a cluster, if the format has any
    read_objects: Callable[[bytes, str], Objects] | None = None
    #: the writes of a recording, in order; with True pods are created on their recorded nodes
    read_writes: Callable[[bytes, str, bool], list[TimedWrite]] | None = None
