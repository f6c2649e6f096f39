"""The files that a scenario names, and the errors about what they contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from apps.cluster.errors import BadRequest

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Files:
    """The files that a scenario may read: those below a folder, or none."""

    folder: Path | None = None
    #: name -> content, of files that were sent with the scenario
    sent: Mapping[str, bytes] = field(default_factory=dict)

    def read(self, name: str) -> bytes:
        """The content of a file; BadRequest if it cannot be read."""
        if name in self.sent:
            return self.sent[name]
        if self.folder is None:
            raise BadRequest(f"the file {name!r} was not sent with the scenario")
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise BadRequest(f"the file {name!r} is not below the folder of the scenario")
        try:
            return path.read_bytes()
        except OSError as error:
            raise BadRequest(f"the file {name!r} cannot be read: {error}") from error


def to_text(content: bytes, name: str) -> str:
    """The text of a file; BadRequest if it is binary."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadRequest(f"the file {name!r} cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file a value is: the file, and the path of the field."""

    file: str
    path: str = ""

    def at(self, field: str | int) -> Place:
        """A field of this value, or an item of this list."""
        if isinstance(field, int):
            return Place(self.file, f"{self.path}[{field}]")
        return Place(self.file, f"{self.path}.{field}" if self.path else field)

    def error(self, message: str) -> BadRequest:
        """ "record.jsonl: line 2.resource.kind: is required"."""
        return BadRequest(f"{self}: {message}")

    def __str__(self) -> str:
        return f"{self.file}: {self.path}" if self.path else self.file


def get_object(parent: Body, field: str, place: Place) -> Body:
    """A field that must be an object."""
    value = parent.get(field)
    if not isinstance(value, dict):
        raise place.at(field).error("must be an object" if field in parent else "is required")
    return value


def get_text(parent: Body, field: str, place: Place) -> str:
    """A field that must be a text, and not an empty one."""
    value = parent.get(field)
    if not isinstance(value, str) or not value:
        raise place.at(field).error("must be a string" if field in parent else "is required")
    return value


def get_number(parent: Body, field: str, place: Place) -> float:
    """A field that must be a number."""
    value = parent.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise place.at(field).error("must be a number" if field in parent else "is required")
    return value


def get_objects(parent: Body, field: str, place: Place) -> list[Body]:
    """A field that must be a list of objects; empty if it is missing."""
    value = parent.get(field)
    value = [] if value is None else value
    if not isinstance(value, list):
        raise place.at(field).error("must be a list of objects")
    for index, each in enumerate(value):
        if not isinstance(each, dict):
            raise place.at(field).at(index).error("must be an object")
    return value


def read_json(content: bytes, place: Place) -> Any:
    """The value of JSON text."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise place.error(f"this is not JSON: {error}") from error
