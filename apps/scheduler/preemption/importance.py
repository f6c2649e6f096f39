"""The importance of pods, and the sums over pods of lower priority."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import itemgetter
from typing import Final

import numpy as np

from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.pod_change import BESIDES_RESOURCES, amounts_table
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption import go_sort
from apps.scheduler.preemption.go_sort import MAX_INSERTION

#: start time of a pod that has not started: later than any other
NOT_STARTED: Final = int(np.iinfo(np.int64).max)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: a pod with its importance
_Keyed = tuple[tuple[int, int], PodInfo]


def start_time(pod: PodInfo) -> int:
    """When the pod started, in microseconds since the Unix epoch, or NOT_STARTED."""
    started = pod.pod.status.start_time
    return NOT_STARTED if started is None else _microseconds(started)


def importance(pod: PodInfo) -> tuple[int, int]:
    """A sort key: the most important pods come first.

    Priority counts first, then how long the pod has been running.
    """
    return -pod.priority, start_time(pod)


def sort_by_importance(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """The pods in kube-scheduler's order, the most important first.

    kube-scheduler takes the present time for each pod that has not started, one after the other, so
    of two such pods of equal priority either is more important than the other. Up to 12 of them
    come out in reverse order; the order of more of them, and of more than 12 pods of which some are
    equally important, is that of the sort of Go.
    """
    keyed = [(importance(pod), pod) for pod in pods]
    distinct = len({key for key, _ in keyed}) == len(keyed)
    if distinct or len(keyed) <= MAX_INSERTION and not _has_unstarted_ties(keyed):
        keyed.sort(key=itemgetter(0))
    else:
        keyed = go_sort.sort(keyed, _is_more_important)
    return [pod for _, pod in keyed]


def _has_unstarted_ties(keyed: Sequence[_Keyed]) -> bool:
    priorities = [priority for (priority, start), _ in keyed if start == NOT_STARTED]
    return len(set(priorities)) < len(priorities)


def _is_more_important(first: _Keyed, second: _Keyed) -> bool:
    (key, _), (other, _) = first, second
    return key < other or (key == other and key[1] == NOT_STARTED)


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
    rows, starts, evictable = list[int](), list[int](), list[PodInfo]()
    for row in np.flatnonzero(nodes.pod_count > 0).tolist():
        lower = [pod for pod in nodes.info(row).pods.values() if pod.priority < priority]
        if lower:
            rows.append(row)
            starts.append(len(evictable))
            evictable += lower
    if rows:
        amounts[:, rows] = np.add.reduceat(amounts_table(evictable, nodes), starts, axis=0).T
    return amounts
