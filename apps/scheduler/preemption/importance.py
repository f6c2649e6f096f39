"""The importance of pods, and the sums over pods of lower priority."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import numpy as np

from apps.scheduler.framework.nodes import Int64Array, NodeColumns
from apps.scheduler.framework.pod_change import BESIDES_RESOURCES, amounts_of
from apps.scheduler.framework.types import PodInfo

#: start time of a pod that has not started: later than any other
NOT_STARTED: Final = int(np.iinfo(np.int64).max)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def start_time(pod: PodInfo) -> int:
    """When the pod started, in microseconds since the Unix epoch, or NOT_STARTED."""
    started = pod.pod.status.start_time
    return NOT_STARTED if started is None else _microseconds(started)


def importance(pod: PodInfo) -> tuple[int, int]:
    """A sort key: the most important pods come first.

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


def lowest_priority(nodes: NodeColumns) -> Int64Array:
    """(n,) int64: the lowest priority of the pods on each row; the greatest int64 without pods.

    Local, as NodeColumns.memo requires.
    """
    lowest = np.full(len(nodes), np.iinfo(np.int64).max)
    for row in np.flatnonzero(nodes.pod_count > 0).tolist():
        lowest[row] = min(pod.priority for pod in nodes.info(row).pods.values())
    return lowest


def amounts_below(priority: int, nodes: NodeColumns) -> Int64Array:
    """(resources + 3, n) int64: the sums over the pods of lower priority on each row.

    In the order of framework.pod_change.amounts_of. Local, as NodeColumns.memo requires.
    """
    amounts = np.zeros((len(nodes.requested) + BESIDES_RESOURCES, len(nodes)), dtype=np.int64)
    for row in np.flatnonzero(nodes.pod_count > 0).tolist():
        pods = [pod for pod in nodes.info(row).pods.values() if pod.priority < priority]
        for pod in pods:
            amounts[:, row] += amounts_of(pod, nodes)
    return amounts
