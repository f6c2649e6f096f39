"""Pods of a node by importance: the last of them are the first to go."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import numpy as np

from apps.scheduler.framework.nodes import Int64Array, NodeTable
from apps.scheduler.framework.pod_change import BESIDES_RESOURCES, amounts_of
from apps.scheduler.framework.types import PodInfo

#: the start of a pod that has not started: after that of every other
NOT_STARTED: Final = int(np.iinfo(np.int64).max)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def start_time(pod: PodInfo) -> int:
    """When the pod started, in microseconds since the Unix epoch; NOT_STARTED if it has not."""
    started = pod.pod.status.start_time
    return NOT_STARTED if started is None else _microseconds(started)


def importance(pod: PodInfo) -> tuple[int, int]:
    """Pods in ascending order of this are in descending order of importance.

    Priority counts first, then how long the pod has been running.
    """
    return -pod.priority, start_time(pod)


@lru_cache(maxsize=1 << 16)
def _microseconds(time: str) -> int:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return NOT_STARTED
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class RankedPods:
    """A node's pods, the most important first; equally important ones as the node lists them."""

    pods: tuple[PodInfo, ...]
    #: (pods, resources + 3) int64, what each amounts to: see framework.pod_change.amounts_of
    amounts: Int64Array
    _negated_priorities: tuple[int, ...]

    def first_below(self, priority: int) -> int:
        """Place of the first pod of lower priority: all after it have lower priority, too."""
        return bisect_right(self._negated_priorities, -priority)

    def fits(self, nodes: NodeTable) -> bool:
        """Whether the table still has the resources it had."""
        return bool(self.amounts.shape[1] == len(nodes.requested) + BESIDES_RESOURCES)


class NodePods:
    """The ranked pods of every row, ranked again when a row's pods are others than before."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._known: dict[int, tuple[list[PodInfo], RankedPods]] = {}

    def of(self, row: int) -> RankedPods:
        # PodInfo is immutable, so the same objects in the same order are the same pods.
        listed = list(self._nodes.info(row).pods.values())
        known = self._known.get(row)
        if known is not None and known[0] == listed and known[1].fits(self._nodes):
            return known[1]
        ranked = rank(listed, self._nodes)
        self._known[row] = (listed, ranked)
        return ranked


def rank(pods: Sequence[PodInfo], nodes: NodeTable) -> RankedPods:
    """Sort the pods, and put what they amount to into columns."""
    ranked = tuple(sorted(pods, key=importance))
    amounts = np.zeros((len(ranked), len(nodes.requested) + BESIDES_RESOURCES), dtype=np.int64)
    for place, pod in enumerate(ranked):
        amounts[place] = amounts_of(pod, nodes)
    return RankedPods(ranked, amounts, tuple(-pod.priority for pod in ranked))


def lowest_priority(nodes: NodeTable) -> Int64Array:
    """(n,) int64: the lowest priority of the pods on each line; the greatest int64 without pods.

    Local, so that NodeTable.memo may keep it.
    """
    lowest = np.full(len(nodes), np.iinfo(np.int64).max)
    for line in np.flatnonzero(nodes.pod_count > 0).tolist():
        lowest[line] = min(pod.priority for pod in nodes.info(line).pods.values())
    return lowest


def amounts_below(priority: int, nodes: NodeTable) -> Int64Array:
    """(resources + 3, n) int64: what the pods of lower priority on each line amount to together.

    In the order of framework.pod_change.amounts_of. Local, so that NodeTable.memo may keep it.
    """
    amounts = np.zeros((len(nodes.requested) + BESIDES_RESOURCES, len(nodes)), dtype=np.int64)
    for line in np.flatnonzero(nodes.pod_count > 0).tolist():
        pods = [pod for pod in nodes.info(line).pods.values() if pod.priority < priority]
        for pod in pods:
            amounts[:, line] += amounts_of(pod, nodes)
    return amounts
