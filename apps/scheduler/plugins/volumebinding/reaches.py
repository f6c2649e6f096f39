"""The distinct node affinities of volumes, grouped by how they are evaluated."""

from __future__ import annotations

import numpy as np

from apps.scheduler.cache.interning import Interner
from apps.scheduler.framework.node_columns import Int64Array, LabelColumn
from apps.scheduler.labels import IN, Requirement
from apps.scheduler.objects import NodeSelector
from apps.scheduler.plugins.volumebinding.topology import label_requirements


class LabelReaches:
    """Reaches that require one of some values of a single label, as local volumes do."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._values: list[str] = []
        self._size = (-1, -1)
        self._pairs: tuple[Int64Array, Int64Array] = (np.empty(0, np.int64), np.empty(0, np.int64))

    def add(self, number: int, values: tuple[str, ...]) -> None:
        distinct = dict.fromkeys(values)
        self._numbers.extend([number] * len(distinct))
        self._values.extend(distinct)

    def pairs(self, column: LabelColumn) -> tuple[Int64Array, Int64Array]:
        """(pairs,) int64 each: reach, and the id of a value in it; values that no node
        has ever had are left out."""
        size = (len(self._values), len(column.values))
        if size != self._size:
            value_ids = np.array(list(map(column.find, self._values)), dtype=np.int64)
            known = value_ids >= 0
            self._pairs = (np.array(self._numbers, dtype=np.int64)[known], value_ids[known])
            self._size = size
        return self._pairs


class Reaches:
    """Node affinities to small numbers; None is the reach of volumes that can be used anywhere."""

    def __init__(self) -> None:
        self._selectors: Interner[NodeSelector | None] = Interner()
        #: label -> the reaches that require its values
        self.by_label: dict[str, LabelReaches] = {}
        #: the other reaches
        self.others: list[int] = []

    def __len__(self) -> int:
        return len(self._selectors)

    def __getitem__(self, number: int) -> NodeSelector | None:
        return self._selectors.values[number]

    def id(self, selector: NodeSelector | None) -> int:
        known = len(self._selectors)
        number = self._selectors.id(selector)
        if number == known:
            listed = _listed_values(selector)
            if listed is None:
                self.others.append(number)
            else:
                self.by_label.setdefault(listed.key, LabelReaches()).add(number, listed.values)
        return number


def _listed_values(selector: NodeSelector | None) -> Requirement | None:
    """The requirement, if the selector only requires one of some values of a label."""
    if selector is None or len(selector.node_selector_terms) != 1:
        return None
    requirements = label_requirements(selector.node_selector_terms[0])
    if requirements is None or len(requirements) != 1 or requirements[0].operator != IN:
        return None
    return requirements[0]
