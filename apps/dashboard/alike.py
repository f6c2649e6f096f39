"""Rows about pods that say the same are one row, which unfolds to what differs: their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from apps.cluster.admission.names import ALPHABET

#: Names that an unfolded row lists at most.
_LISTED: Final = 50
#: What controllers add to the names of their pods: Kubernetes generates it from these letters and
#: digits, for pods of a ReplicaSet after the hash of their template; StatefulSets add a number.
_ADDED: Final = re.compile(rf"(?:-[{ALPHABET}]{{6,10}})?-[{ALPHABET}]{{5}}\Z|-\d+\Z")


class Named(Protocol):
    """A row about a pod."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=Named)


@dataclass(frozen=True, slots=True)
class Alike(Generic[Row]):
    """Rows that differ only in the end of their names."""

    namespace: str
    #: what their names begin with: the name of their workload, or the whole name of a single pod
    stem: str
    rows: Sequence[Row]

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def is_single(self) -> bool:
        return len(self.rows) == 1

    @property
    def listed(self) -> Sequence[tuple[str, Row]]:
        """(what its name has after the stem, row) of the first rows."""
        return [(row.name[len(self.stem) + 1 :] or row.name, row) for row in self.rows[:_LISTED]]

    @property
    def hidden(self) -> int:
        """How many rows are not in `listed`."""
        return max(0, len(self.rows) - _LISTED)


def stem_of(name: str) -> str:
    """The name of a pod without what its controller added to it."""
    return _ADDED.sub("", name) or name


def group_alike(rows: Iterable[Row], says: Callable[[Row], Hashable]) -> list[Alike[Row]]:
    """The rows in groups, in the order of the first of each.

    Rows of one namespace are in one group if their names have the same stem and `says` returns the
    same for them.
    """
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        groups.setdefault((row.namespace, stem_of(row.name), says(row)), []).append(row)
    return [
        Alike(each[0].namespace, stem_of(each[0].name) if len(each) > 1 else each[0].name, each)
        for each in groups.values()
    ]
