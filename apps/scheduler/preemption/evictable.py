"""The pods that could be evicted from a node, in the order in which they are reprieved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.pod_change import BESIDES_RESOURCES, amounts_table
from apps.scheduler.framework.status import Status, error
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.budgets import Budgets
from apps.scheduler.preemption.importance import sort_by_importance

#: the result of a node's dry run: the pods to evict, or why that does not help
Outcome = Victims | Status


@dataclass(frozen=True, slots=True)
class Evictable:
    """A node's pods below some priority.

    First those whose eviction violates a budget, then the others; the most important first.
    """

    pods: tuple[PodInfo, ...]
    #: how many of them, from the first, violate a budget when they are evicted
    violating: int
    #: (pods, resources + 3) int64, the amounts of each pod: see `amounts_table`
    amounts: Int64Array
    _victims: dict[tuple[int, ...], Victims] = field(default_factory=dict)

    def outcome(self, gone: Sequence[int], node: str) -> Outcome:
        """The outcome if the pods with the indices ``gone`` (ascending) cannot be reprieved."""
        if not gone:
            return error(f'expected at least one victim pod on node "{node}"')
        # Most preemptors are similar, and so are their victims.
        known = self._victims.get(tuple(gone))
        if known is None:
            known = self._victims[tuple(gone)] = self._victims_at(gone)
        return known

    def _victims_at(self, gone: Sequence[int]) -> Victims:
        victims = [self.pods[place] for place in gone]
        violating = bisect_left(gone, self.violating)
        if 0 < self.violating < len(self.pods):
            victims = sort_by_importance(victims)
        return Victims(tuple(victims), violating)


@dataclass(frozen=True, slots=True)
class _Known:
    """The evictable pods of a row, and everything they depend on."""

    listed: list[PodInfo]
    priority: int
    budgets: int
    width: int
    evictable: Evictable


class EvictablePods:
    """The evictable pods of every row, computed again when something they depend on has changed."""

    def __init__(self, nodes: NodeColumns, budgets: Budgets) -> None:
        self._nodes = nodes
        self._budgets = budgets
        self._known: dict[int, _Known] = {}

    def of(self, rows: Iterable[int], priority: int) -> list[Evictable]:
        """The pods of lower priority on each of the rows."""
        width = len(self._nodes.requested) + BESIDES_RESOURCES
        budgets = self._budgets.version
        evictable_pods = []
        for row in rows:
            # PodInfo is immutable, so the same objects in the same order are the same pods.
            listed = list(self._nodes.info(row).pods.values())
            known = self._known.get(row)
            if (
                known is None
                or known.listed != listed
                or known.priority != priority
                or known.budgets != budgets
                or known.width != width
            ):
                evictable = self._find([pod for pod in listed if pod.priority < priority])
                known = self._known[row] = _Known(listed, priority, budgets, width, evictable)
            evictable_pods.append(known.evictable)
        return evictable_pods

    def _find(self, pods: list[PodInfo]) -> Evictable:
        pods = sort_by_importance(pods)
        violates = self._budgets.violating(pods)
        if any(violates):
            others = [pod for pod, broken in zip(pods, violates, strict=True) if not broken]
            pods = [pod for pod, broken in zip(pods, violates, strict=True) if broken] + others
        return Evictable(tuple(pods), sum(violates), amounts_table(pods, self._nodes))
