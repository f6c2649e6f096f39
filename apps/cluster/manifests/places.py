"""Where in a text an object and its fields are."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import yaml

from apps.cluster.errors import ApiError, BadRequest, Invalid

#: A step of a field's path: a name, or the text in brackets.
_STEP: Final = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A part of a text that is read by itself."""

    text: str
    #: its first line in the text, from 1
    line: int = 1


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """The position of an object."""

    #: the name of the file; empty if there is only one
    file: str
    #: the document in the file, from 1
    document: int
    part: Part = field(repr=False)
    #: the document in the part, from 0
    index: int = 0
    #: the positions in the lists around it, the outermost first
    items: tuple[int, ...] = ()

    def describe(self, line: int | None = None) -> str:
        """ "pods.yaml: document 2, items[3], line 14"."""
        shown = f"document {self.document}" + "".join(f", items[{n}]" for n in self.items)
        shown += "" if line is None else f", line {line}"
        return f"{self.file}: {shown}" if self.file else shown

    def __str__(self) -> str:
        return self.describe()

    def path(self, field: str) -> list[str]:
        """The steps from the document to a field of the object."""
        items = [step for number in self.items for step in ("items", str(number))]
        return [*items, *steps_of(field)]


class ManifestError(BadRequest):
    """A document cannot be imported; the message says which one and why."""

    def __init__(
        self,
        problem: str,
        place: Place | None = None,
        kind: str = "",
        *,
        file: str = "",
        line: int | None = None,
    ) -> None:
        #: what is wrong, without where
        self.problem = problem
        self.place = place
        #: the name of the file; empty if there is only one
        self.file = place.file if place is not None else file
        self.kind = kind
        #: the line of each cause, or that of the object; None where it is not known
        self.lines: list[int | None] = [line]
        super().__init__(self._describe(None))

    def _describe(self, line: int | None) -> str:
        if self.place is None:
            return f"{self.file}: {self.problem}" if self.file else self.problem
        kind = f" ({self.kind})" if self.kind else ""
        return f"{self.place.describe(line)}{kind}: {self.problem}"

    def set_lines(self, lines: list[int | None]) -> None:
        """Say where its causes are; the first line is in the message."""
        self.lines = lines
        self.message = self._describe(lines[0])
        self.args = (self.message,)


class ManifestErrors(BadRequest):
    """Several documents cannot be imported; `errors` has one error for each."""

    def __init__(self, errors: Sequence[ManifestError]) -> None:
        causes = [
            {"field": str(each.place or ""), "message": each.message, "reason": "FieldValueInvalid"}
            for each in errors
        ]
        message = "; ".join(error.message for error in errors)
        super().__init__(message, details={"causes": causes})
        self.errors = errors


def locate(errors: Iterable[ManifestError]) -> None:
    """Give errors their lines; each part is read once."""
    by_part: defaultdict[int, list[tuple[Place, ManifestError]]] = defaultdict(list)
    for error in errors:
        if error.place is not None and error.lines == [None]:
            by_part[id(error.place.part)].append((error.place, error))
    for located in by_part.values():
        part = located[0][0].part
        nodes = dict(_compose(part.text, {place.index for place, _ in located}))
        for place, error in located:
            node = nodes.get(place.index)
            if node is not None:
                fields = _fields(error.__cause__)
                error.set_lines([_line(part, node, place, name) for name in fields])


def _fields(cause: BaseException | None) -> list[str]:
    causes = cause.causes if isinstance(cause, Invalid) else []
    return [each.field for each in causes] or [""]


def _line(part: Part, node: yaml.Node, place: Place, name: str) -> int:
    line = find_line(node, place.path(name))
    return part.line + (node.start_mark.line + 1 if line is None else line) - 1


def _compose(text: str, wanted: set[int]) -> Iterator[tuple[int, yaml.Node]]:
    """The wanted documents of a text; none of a text that is not valid."""
    try:
        for index, node in enumerate(yaml.compose_all(text, Loader=yaml.CSafeLoader)):
            if index in wanted:
                yield index, node
            if index == max(wanted):
                return
    except (yaml.YAMLError, RecursionError):
        return


def line_of(text: str, path: str) -> int | None:
    """The line (from 1) of a field in the first document, or of its nearest ancestor that exists.

    None for a text that is not valid YAML, or without the first step of the path.
    """
    nodes = dict(_compose(text, {0}))
    return find_line(nodes[0], steps_of(path)) if 0 in nodes else None


def steps_of(path: str) -> list[str]:
    """The names and positions of a field's path."""
    return [inner or name for name, inner in _STEP.findall(path)]


def find_line(node: yaml.Node, steps: Iterable[str]) -> int | None:
    """The line (from 1) of the last step that exists; None if not even the first does."""
    line = None
    for step in steps:
        followed = _follow(node, step)
        if followed is None:
            break
        node, line = followed
    return line


def _follow(node: yaml.Node, step: str) -> tuple[yaml.Node, int] | None:
    """The value at one step, and its line."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step.strip("\"'"):
                return value, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        item = node.value[int(step)]
        return item, item.start_mark.line + 1
    return None


def from_refusal(place: Place, kind: str, refusal: ApiError) -> ManifestError:
    """The error about an object that was refused."""
    error = ManifestError(refusal.message, place, kind)
    error.__cause__ = refusal
    return error
