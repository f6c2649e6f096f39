"""What preemption for a group evicts: single pods, or all pods of a group together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.scheduler.cache.lister import Lister
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import PodGroup
from apps.scheduler.preemption.budgets import Budgets
from apps.scheduler.preemption.importance import start_time


@dataclass(frozen=True, slots=True)
class Unit:
    """Pods that are evicted together, or not at all."""

    pods: tuple[PodInfo, ...]
    #: of the PodGroup that is evicted as a whole, or of the single pod
    priority: int
    #: the group that is evicted as a whole; "" for a single pod
    group: str = ""

    @property
    def importance(self) -> tuple[int, bool, int, int]:
        """A sort key: the most important units come first.

        Priority, then groups and their pods before other pods, then the greater one, then the one
        whose first pod started earlier.
        """
        in_group = bool(self.pods[0].pod.group_name)
        started = min(start_time(pod) for pod in self.pods)
        return -self.priority, not in_group, -len(self.pods), started


def find_units(pods: Iterable[PodInfo], groups: Lister[PodGroup]) -> list[Unit]:
    """All that may be evicted among these pods, in their order."""
    of_group: dict[tuple[str, str], list[PodInfo]] = {}
    units: dict[tuple[str, str, str], Unit] = {}
    for pod in pods:
        name = pod.pod.group_name
        group = groups.get(name, pod.namespace) if name else None
        if group is None or not group.is_disrupted_as_a_whole:
            units["", pod.namespace, pod.name] = Unit((pod,), pod.priority)
        else:
            members = of_group.setdefault((pod.namespace, name), [])
            members.append(pod)
            units["group", pod.namespace, name] = Unit(tuple(members), group.priority, name)
    return list(units.values())


def in_order_of_reprieve(units: Iterable[Unit], budgets: Budgets) -> list[Unit]:
    """First the units of which a pod violates a budget, then the others; important ones first."""
    ordered = sorted(units, key=lambda unit: unit.importance)
    pods = [(number, pod) for number, unit in enumerate(ordered) for pod in unit.pods]
    violating = budgets.violating([pod for _, pod in pods])
    first = {number for (number, _), violates in zip(pods, violating, strict=True) if violates}
    last = [unit for number, unit in enumerate(ordered) if number not in first]
    return [*(ordered[number] for number in sorted(first)), *last]


def pods_of(units: Sequence[Unit]) -> list[PodInfo]:
    """The pods of the units, the most important unit first."""
    ordered = sorted(units, key=lambda unit: unit.importance)
    return [pod for unit in ordered for pod in unit.pods]
