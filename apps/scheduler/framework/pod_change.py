"""Pods that are added to many nodes at once, or removed from them, as columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns

if TYPE_CHECKING:
    from apps.scheduler.framework.types import PodInfo

#: entries of amounts after those of the resources: non-zero CPU, non-zero memory, number of pods
BESIDES_RESOURCES: Final = 3
#: the index of the number of pods, the last entry of amounts
PODS: Final = -1


@dataclass(frozen=True)
class PodChange:
    """Pods on k rows of a table."""

    #: (k,) int64, distinct
    rows: Int64Array
    #: (resources + 3, k) int64, the sums over the pods of each row: see `amounts_of`
    amounts: Int64Array
    #: the pods of the i-th of the rows
    pods: Callable[[int], Sequence[PodInfo]]

    @lazy
    def place_of(self) -> dict[int, int]:
        """Row -> its index in ``rows``."""
        return {row: place for place, row in enumerate(self.rows.tolist())}

    def renumber(self) -> PodChange:
        """The same for a table of just these rows."""
        return PodChange(np.arange(len(self.rows)), self.amounts, self.pods)

    def select(self, places: Int64Array, rows: Int64Array) -> PodChange:
        """The part at the indices ``places``, for a table in which their rows are ``rows``."""
        return PodChange(rows, self.amounts[:, places], lambda place: self.pods(int(places[place])))


def amounts_of(pod: PodInfo, nodes: NodeColumns) -> Int64Array:
    """(resources + 3,) int64: what one pod adds to its node's row of the table.

    In the order of ``NodeColumns.requested``, then CPU and memory of ``nonzero_requested``, then 1
    for ``pod_count``. Resources that no node has are left out.
    """
    amounts = np.zeros(len(nodes.requested) + BESIDES_RESOURCES, dtype=np.int64)
    for name, amount in pod.requests.items():
        resource_index = nodes.resource_index(name)
        if resource_index >= 0:
            amounts[resource_index] = amount
    amounts[-BESIDES_RESOURCES:] = (*pod.nonzero_requests, 1)
    return amounts


def amounts_table(pods: Iterable[PodInfo], nodes: NodeColumns) -> Int64Array:
    """(pods, resources + 3) int64: `amounts_of` for each pod, built once for equal pods."""
    numbers: dict[Hashable, int] = {}
    distinct: list[Int64Array] = []
    places: list[int] = []
    for pod in pods:
        key = (pod.nonzero_requests, *pod.requests.items())
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = len(distinct)
            distinct.append(amounts_of(pod, nodes))
        places.append(number)
    if not distinct:
        return np.zeros((0, len(nodes.requested) + BESIDES_RESOURCES), dtype=np.int64)
    return np.stack(distinct).take(places, axis=0)
