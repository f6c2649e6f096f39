"""Pods that come to many nodes at once, or leave them, as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.nodes import Int64Array, NodeTable

if TYPE_CHECKING:
    from apps.scheduler.framework.types import PodInfo

#: lines of amounts after those of the resources: non-zero CPU, non-zero memory, number of pods
BESIDES_RESOURCES: Final = 3


@dataclass(frozen=True)
class PodChange:
    """The pods of k lines of a table."""

    #: (k,) int64, distinct
    lines: Int64Array
    #: (resources + 3, k) int64, what the pods of each line amount to together: see `amounts_of`
    amounts: Int64Array
    #: the pods of the i-th of the lines
    pods: Callable[[int], Sequence[PodInfo]]

    @lazy
    def place_of(self) -> dict[int, int]:
        """Line -> its place among ``lines``."""
        return {line: place for place, line in enumerate(self.lines.tolist())}

    def renumbered(self) -> PodChange:
        """The same for a table of just these lines."""
        return PodChange(np.arange(len(self.lines)), self.amounts, self.pods)

    def select(self, places: Int64Array, lines: Int64Array) -> PodChange:
        """The part at ``places``, for a table in which these lines have other numbers."""
        return PodChange(
            lines, self.amounts[:, places], lambda place: self.pods(int(places[place]))
        )


def amounts_of(pod: PodInfo, nodes: NodeTable) -> Int64Array:
    """(resources + 3,) int64: what one pod adds to its node's line of the table.

    In the order of ``NodeTable.requested``, then CPU and memory of ``nonzero_requested``, then 1
    for ``pod_count``. Resources that no node knows are left out.
    """
    amounts = np.zeros(len(nodes.requested) + BESIDES_RESOURCES, dtype=np.int64)
    for name, amount in pod.requests.items():
        line = nodes.resource_line(name)
        if line >= 0:
            amounts[line] = amount
    amounts[-BESIDES_RESOURCES:] = (*pod.nonzero_requests, 1)
    return amounts
