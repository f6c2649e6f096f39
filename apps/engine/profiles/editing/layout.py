"""Keeps the layout of a text when a YAML library writes it anew."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from apps.scheduler.config import ConfigError
from apps.scheduler.config.reading import read


def is_json(text: str) -> bool:
    """Whether a text is a JSON object, which is written as JSON again."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def write_json(value: Any, like: str) -> str:
    """A value as JSON, indented as the text `like` is; on one line if that is on one line."""
    second = like.strip().partition("\n")[2]
    indent = second[: len(second) - len(second.lstrip())] if second else None
    written = json.dumps(value, indent=indent, ensure_ascii=False)
    return f"{written}\n" if like.endswith("\n") else written


def keep_layout(text: str, before: str, after: str) -> str:
    """`text` with the lines that differ between `before` and `after`.

    `before` is how the library writes `text` without a change, `after` with the change. Lines that
    the change does not concern stay as they are. Where lines cannot be told apart, or the result
    would mean something else, it is `after`.
    """
    if after == before:
        return text
    merged = _Layout(text, before).apply(after)
    if merged is None:
        return after
    try:
        return merged if read(merged) == read(after) else after
    except ConfigError:
        return after


class _Layout:
    """The lines of a text beside those that the library writes for it."""

    def __init__(self, text: str, before: str) -> None:
        self.own = text.splitlines(keepends=True)
        if self.own and not self.own[-1].endswith("\n"):
            self.own[-1] += "\n"
        self.before = before.splitlines(keepends=True)
        #: line of the library -> line of the text
        self.pairs: dict[int, int] = {}
        alike = [" ".join(line.split()) for line in self.before]
        own = [" ".join(line.split()) for line in self.own]
        for tag, start, end, first, last in _compare(alike, own):
            if tag == "equal" or end - start == last - first:
                self.pairs |= dict(zip(range(start, end), range(first, last), strict=True))

    def apply(self, after: str) -> str | None:
        """The text with what differs between `before` and `after`; None if it has no place."""
        edited = after.splitlines(keepends=True)
        result: list[str] = []
        taken = 0
        for tag, start, end, first, last in _compare(self.before, edited):
            if tag == "equal":
                continue
            place = self._find_place(start, end)
            if place is None or place[0] < taken:
                return None
            result += self.own[taken : place[0]]
            result += [self._indent(line, start) for line in edited[first:last]]
            taken = place[1]
        return "".join([*result, *self.own[taken:]])

    def _find_place(self, start: int, end: int) -> tuple[int, int] | None:
        """The lines of the text that these lines of the library stand for."""
        if start == end:
            if start - 1 in self.pairs:
                place = self.pairs[start - 1] + 1
                return place, place
            place = self.pairs.get(start, -1)
            return (place, place) if place >= 0 else None
        lines = [self.pairs.get(line) for line in range(start, end)]
        if lines[0] is None or lines != list(range(lines[0], lines[0] + len(lines))):
            return None
        return lines[0], lines[0] + len(lines)

    def _indent(self, line: str, near: int) -> str:
        """A line with the indentation that the text has for lines like it."""
        indent = _indentation(line)
        for each in (*range(near, -1, -1), *range(near, len(self.before))):
            if each in self.pairs and _indentation(self.before[each]) == indent:
                return " " * _indentation(self.own[self.pairs[each]]) + line[indent:]
        return line


def _compare(first: list[str], second: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, first, second, autojunk=False).get_opcodes()


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
