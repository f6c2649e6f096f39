"""Reads a scenario; errors name the file, the line and the field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import yaml

from apps.cluster import limits
from apps.cluster.documents import UnreadableDocument, parse_yaml
from apps.cluster.errors import BadRequest
from apps.studies.scenarios.language.types import Expectation, Operation, Scenario, Workload
from apps.studies.scenarios.language.values import Distribution, Seconds

#: ("workloads", 0, "at")
Path = tuple[str | int, ...]

_LISTS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "workloads": Workload,
    "operations": Operation,
    "expectations": Expectation,
}
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")
#: The types of the decoder, in words.
_TYPES: Final[Mapping[str, str]] = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
#: At most so many errors are listed.
_MOST_ERRORS: Final = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a field of a scenario."""

    path: Path
    message: str
    line: int = 0

    @property
    def field(self) -> str:
        """The path as text: workloads[0].at."""
        parts = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.path)
        return "".join(parts).lstrip(".")

    def describe(self, file: str) -> str:
        """ "file:line: field: message"."""
        where = f"{file}:{self.line}: " if self.line else f"{file}: "
        return where + (f"{self.field}: " if self.path else "") + self.message


class ScenarioError(BadRequest):
    """A scenario cannot be run; the message has a line for each problem."""

    def __init__(self, problems: Sequence[Problem], file: str) -> None:
        self.problems = list(problems)[:_MOST_ERRORS]
        super().__init__("\n".join(problem.describe(file) for problem in self.problems))


@dataclass(slots=True)
class Source:
    """The text of a scenario: its name, and the line of each field."""

    text: str
    file: str = "scenario.yaml"
    _lines: dict[Path, int] = field(default_factory=dict)

    def line_of(self, path: Path) -> int:
        """The line of the field, or of the nearest object around it."""
        if not self._lines:
            self._lines = dict(_lines_of(yaml.compose(self.text, Loader=yaml.CSafeLoader), ()))
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def error(self, problems: Sequence[tuple[Path, str]]) -> ScenarioError:
        """The error about these fields."""
        listed = problems[:_MOST_ERRORS]
        located = [Problem(path, message, self.line_of(path)) for path, message in listed]
        return ScenarioError(located, self.file)


def read_scenario(source: Source) -> Scenario:
    """The scenario of a text; raises ScenarioError with everything that has the wrong form."""
    size = len(source.text.encode())
    if not limits.SCENARIO_BYTES.admits(size):
        most = limits.SCENARIO_BYTES.highest
        message = f"the scenario has {size:,} bytes, at most {most:,} are read"
        raise ScenarioError([Problem((), message)], source.file)
    try:
        value = parse_yaml(source.text)
    except UnreadableDocument as error:
        raise ScenarioError([Problem((), str(error))], source.file) from error
    if not isinstance(value, dict):
        raise source.error([((), "must be an object with name, cluster and workloads")])
    problems: list[tuple[Path, str]] = []
    parsed = {**value}
    for name, entry in _LISTS.items():
        if isinstance(value.get(name), list):
            if not limits.SCENARIO_ENTRIES.admits(len(value[name])):
                raise source.error([((name,), describe_excess(value[name]))])
            parsed[name] = _read_items(name, value[name], entry, problems)
    try:
        scenario = msgspec.convert(
            {**parsed, **dict.fromkeys(_LISTS, [])}, Scenario, dec_hook=_hook
        )
    except msgspec.ValidationError as error:
        problems.insert(0, _locate((), error))
        raise source.error(problems) from error
    problems += [((name,), "must be a list") for name in _LISTS if not _is_list(value.get(name))]
    if problems:
        raise source.error(problems)
    return msgspec.structs.replace(
        scenario, **{name: parsed[name] for name in _LISTS if name in parsed and parsed[name]}
    )


def describe_excess(entries: Sized) -> str:
    """What is wrong with a part of a scenario that has too many entries."""
    most = limits.SCENARIO_ENTRIES.highest
    return f"has {len(entries):,} entries, at most {most:,} are read"


def _is_list(value: Any) -> bool:
    return value is None or isinstance(value, list)


def _read_items(
    name: str, items: list[Any], entry: type[msgspec.Struct], problems: list[tuple[Path, str]]
) -> list[Any]:
    """Each item for itself, so that every wrong one is listed."""
    entries = []
    for index, item in enumerate(items):
        try:
            entries.append(msgspec.convert(item, entry, dec_hook=_hook))
        except msgspec.ValidationError as error:
            problems.append(_locate((name, index), error))
    return entries


def _hook(wanted: type[Any], value: Any) -> Any:
    if wanted is Seconds:
        return Seconds.parse(value)
    if wanted is Distribution:
        return Distribution.parse(value)
    raise NotImplementedError(wanted)


def _locate(start: Path, error: msgspec.ValidationError) -> tuple[Path, str]:
    """The path and the message of a decoder's error."""
    message, _, where = str(error).partition(" - at `$")
    steps = tuple(
        int(number) if number else name
        for name, number in _STEP.findall(where.rstrip("`"))
        if name or number
    )
    unknown = re.fullmatch(r"Object contains unknown field `(.+)`", message)
    if unknown is not None:
        return (*start, *steps, unknown[1]), "unknown field"
    missing = re.fullmatch(r"Object missing required field `(.+)`", message)
    if missing is not None:
        return (*start, *steps), f"the field {missing[1]} is required"
    types = re.fullmatch(r"Expected `(.+)`, got `(.+)`", message)
    if types is not None:
        wanted = [_TYPES.get(each, each) for each in types[1].split(" | ") if each != "null"]
        return (
            *start,
            *steps,
        ), f"must be {' or '.join(wanted)}, not {_TYPES.get(types[2], types[2])}"
    return (*start, *steps), message[:1].lower() + message[1:]


def _lines_of(node: yaml.Node | None, path: Path) -> Iterator[tuple[Path, int]]:
    """The line of each field."""
    if node is None:
        return
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield (*path, key.value), key.start_mark.line + 1
            yield from _lines_of(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*path, index), value.start_mark.line + 1
            yield from _lines_of(value, (*path, index))
