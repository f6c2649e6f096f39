"""The differences of two texts, side by side or unified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal

Kind = Literal["same", "changed", "removed", "added", "skipped"]

#: Equal lines shown around a difference.
AROUND = 3


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the old text beside a line of the new text; number 0: no such line."""

    kind: Kind
    old_number: int = 0
    old: str = ""
    new_number: int = 0
    new: str = ""
    #: Number of equal lines that are omitted here.
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The lines, and the numbers of added and removed lines."""

    lines: Sequence[Line]
    added: int
    removed: int

    @property
    def unified(self) -> Iterator[Line]:
        """The lines as a unified diff: removed lines before added lines."""
        removed: list[Line] = []
        added: list[Line] = []
        for line in self.lines:
            if line.kind in ("same", "skipped"):
                yield from (*removed, *added, line)
                removed, added = [], []
            if line.kind in ("removed", "changed"):
                removed.append(Line("removed", line.old_number, line.old))
            if line.kind in ("added", "changed"):
                added.append(Line("added", new_number=line.new_number, new=line.new))
        yield from (*removed, *added)


def text_diff(old: str, new: str) -> TextDiff:
    """The lines that differ, with AROUND equal lines of context."""
    before, after = old.splitlines(), new.splitlines()
    lines: list[Line] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            lines += _equal_lines(before, i, i_end, j, first=i == 0, last=i_end == len(before))
        else:
            lines += _different_lines(before, i, i_end, after, j, j_end)
    return TextDiff(
        lines,
        added=sum(line.kind in ("added", "changed") for line in lines),
        removed=sum(line.kind in ("removed", "changed") for line in lines),
    )


def _equal_lines(
    before: Sequence[str], i: int, i_end: int, j: int, *, first: bool, last: bool
) -> Iterator[Line]:
    """Equal lines; a long run is shortened to its context."""
    head, tail = 0 if first else AROUND, 0 if last else AROUND
    length = i_end - i
    for place in range(length):
        if length - head - tail > 1 and head <= place < length - tail:
            if place == head:
                yield Line("skipped", skipped=length - head - tail)
            continue
        yield Line("same", i + place + 1, before[i + place], j + place + 1, before[i + place])


def _different_lines(
    before: Sequence[str], i: int, i_end: int, after: Sequence[str], j: int, j_end: int
) -> Iterator[Line]:
    for old, new in zip_longest(range(i, i_end), range(j, j_end)):
        if old is None:
            yield Line("added", new_number=new + 1, new=after[new])
        elif new is None:
            yield Line("removed", old + 1, before[old])
        else:
            yield Line("changed", old + 1, before[old], new + 1, after[new])
