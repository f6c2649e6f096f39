"""The parts of the form: inputs, groups of them, and lists of groups."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from django.http import QueryDict

from apps.engine.profiles.editing.document import ConfigurationText

Kind = Literal["text", "number", "switch", "choice", "lines"]

_WHOLE: Final = re.compile(r"[-+]?\d+")
_DECIMAL: Final = re.compile(r"[-+]?\d+\.\d+")
#: (path of a group, what to write there before one of its fields, as the default disappears)
Fill = tuple[str, Mapping[str, Any]]


@dataclass(slots=True, kw_only=True)
class Entry:
    """One input; its value is the text in the configuration, "" if the field is not set."""

    path: str
    label: str
    kind: Kind = "text"
    value: str = ""
    #: what applies if nothing is written
    default: str = ""
    help: str = ""
    choices: Sequence[str] = ()
    fills: Sequence[Fill] = ()
    problems: list[str] = field(default_factory=list)

    template = "dashboard/profile_form/entry.html"

    @property
    def name(self) -> str:
        return f"set:{self.path}"

    @property
    def options(self) -> list[tuple[str, str]]:
        """(value, text) of a select; the first stands for the default."""
        known = ["true", "false"] if self.kind == "switch" else list(self.choices)
        if self.value and self.value not in known:
            known.append(self.value)
        nothing = f"default: {self.default}" if self.default else "not set"
        return [("", nothing), *((each, each) for each in known)]

    @property
    def shown(self) -> str:
        """The value as `read` returns it when a browser sends it back unchanged."""
        return self._normalize(self.value)

    def read(self, posted: QueryDict) -> str:
        """The text that a user has entered."""
        return self._normalize(posted.get(self.name, self.value))

    def _normalize(self, text: str) -> str:
        # an input has one line: browsers remove line breaks from its value
        return (
            "\n".join(text.split()) if self.kind == "lines" else "".join(text.splitlines()).strip()
        )

    def write(self, document: ConfigurationText, text: str) -> None:
        """Write a text that a user has entered; an empty one removes the field."""
        if not text:
            document.remove(self.path)
            return
        for path, content in self.fills:
            if document.get(path) is None:
                document.set(path, dict(content))
        document.set(self.path, self.parse(text))

    def parse(self, text: str) -> Any:
        """A value of the field's type; invalid text stays text, which the decoder rejects."""
        if self.kind == "lines":
            return text.split()
        if self.kind == "switch" and text in ("true", "false"):
            return text == "true"
        if self.kind == "number" and _WHOLE.fullmatch(text):
            return int(text)
        if self.kind == "number" and _DECIMAL.fullmatch(text):
            return float(text)
        return text


@dataclass(slots=True, kw_only=True)
class Group:
    """Fields of one object."""

    path: str
    label: str
    help: str = ""
    #: True for an element of a list, which can be removed
    removable: bool = False
    parts: list[Part] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    template = "dashboard/profile_form/group.html"

    @property
    def is_written(self) -> bool:
        """Whether any field below has a value of its own."""
        return any(entry.value for entry in entries_of(self)) or self.removable

    @property
    def is_wrong(self) -> bool:
        return bool(self.problems) or any(part_is_wrong(part) for part in self.parts)


@dataclass(slots=True, kw_only=True)
class GroupList:
    """A list of objects, to which elements can be added."""

    path: str
    label: str
    #: of an element, for the button
    element: str
    help: str = ""
    #: what applies if nothing is written, as text and as values
    default: str = ""
    default_items: Sequence[Mapping[str, Any]] = ()
    fills: Sequence[Fill] = ()
    items: list[Group] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    template = "dashboard/profile_form/list.html"

    @property
    def is_wrong(self) -> bool:
        return bool(self.problems) or any(item.is_wrong for item in self.items)

    def add(self, document: ConfigurationText) -> None:
        """Append an empty element; after the default ones, if nothing is written."""
        for path, content in self.fills:
            if document.get(path) is None:
                document.set(path, dict(content))
        if document.get(self.path) is None:
            for item in self.default_items:
                document.append(self.path, dict(item))
        document.append(self.path, {})


Part = Entry | Group | GroupList


def part_is_wrong(part: Part) -> bool:
    """Whether a part has a problem, or a part of it."""
    return bool(part.problems) if isinstance(part, Entry) else part.is_wrong


def entries_of(part: Part) -> Iterator[Entry]:
    """All inputs in a part."""
    if isinstance(part, Entry):
        yield part
    elif isinstance(part, Group):
        for inner in part.parts:
            yield from entries_of(inner)
    else:
        for item in part.items:
            yield from entries_of(item)


def parts_of(part: Part) -> Iterator[Part]:
    """A part and all parts in it."""
    yield part
    inner: Sequence[Part] = ()
    if isinstance(part, Group):
        inner = part.parts
    elif isinstance(part, GroupList):
        inner = part.items
    for each in inner:
        yield from parts_of(each)


def to_text(value: Any) -> str:
    """A value of the document as the text of an input."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=str)
