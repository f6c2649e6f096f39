"""The pods that could be taken off a node, in the order in which they are given back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.nodes import Int64Array, NodeColumns
from apps.scheduler.framework.pod_change import BESIDES_RESOURCES, amounts_of
from apps.scheduler.framework.status import Status, error
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.budgets import Budgets
from apps.scheduler.preemption.importance import importance

#: what a node's dry run comes to: whom to evict, or why that does not help
Outcome = Victims | Status


@dataclass(frozen=True, slots=True)
class Evictable:
    """A node's pods below some priority.

    The most important come first, but before all others those whose eviction breaks a budget, and
    equally important ones as the node lists them.
    """

    pods: tuple[PodInfo, ...]
    #: the eviction of the first so many breaks a budget
    violating: int
    #: (pods, resources + 3) int64, what each amounts to: see `amounts_of`
    amounts: Int64Array
    _victims: dict[tuple[int, ...], Victims] = field(default_factory=dict)

    def outcome(self, gone: Sequence[int], node: str) -> Outcome:
        """The pods at the places ``gone`` (ascending) of the node could not be given back."""
        if not gone:
            return error(f'expected at least one victim pod on node "{node}"')
        # Preemptors are mostly alike, and so are their victims.
        known = self._victims.get(tuple(gone))
        if known is None:
            known = self._victims[tuple(gone)] = self._victims_at(gone)
        return known

    def _victims_at(self, gone: Sequence[int]) -> Victims:
        victims = [self.pods[place] for place in gone]
        violating = bisect_left(gone, self.violating)
        if violating:
            victims.sort(key=importance)
        return Victims(tuple(victims), violating)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was found for a row, and everything it depends on."""

    listed: list[PodInfo]
    priority: int
    budgets: int
    width: int
    evictable: Evictable


class EvictablePods:
    """The evictable pods of every row, found again when something they depend on has changed."""

    def __init__(self, nodes: NodeColumns, budgets: Budgets) -> None:
        self._nodes = nodes
        self._budgets = budgets
        self._known: dict[int, _Known] = {}

    def of(self, row: int, priority: int) -> Evictable:
        """The pods on the row whose priority is lower."""
        # PodInfo is immutable, so the same objects in the same order are the same pods.
        listed = list(self._nodes.info(row).pods.values())
        width = len(self._nodes.requested) + BESIDES_RESOURCES
        known = self._known.get(row)
        if (
            known is None
            or known.listed != listed
            or known.priority != priority
            or known.budgets != self._budgets.version
            or known.width != width
        ):
            evictable = self._find([pod for pod in listed if pod.priority < priority])
            known = _Known(listed, priority, self._budgets.version, width, evictable)
            self._known[row] = known
        return known.evictable

    def _find(self, pods: list[PodInfo]) -> Evictable:
        pods.sort(key=importance)
        violates = self._budgets.violating(pods)
        if any(violates):
            others = [pod for pod, broken in zip(pods, violates, strict=True) if not broken]
            pods = [pod for pod, broken in zip(pods, violates, strict=True) if broken] + others
        width = len(self._nodes.requested) + BESIDES_RESOURCES
        amounts = np.zeros((len(pods), width), dtype=np.int64)
        for place, pod in enumerate(pods):
            amounts[place] = amounts_of(pod, self._nodes)
        return Evictable(tuple(pods), sum(violates), amounts)
