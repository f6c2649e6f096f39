"""PodDisruptionBudgets: which evictions would violate one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.scheduler.cache.lister import Lister
from apps.scheduler.framework.types import LabelClass, PodInfo
from apps.scheduler.labels import Selector, SelectorError, from_label_selector
from apps.scheduler.objects import PodDisruptionBudget

#: label classes whose budgets are cached
_MAX_KNOWN = 1 << 16


@dataclass(frozen=True, slots=True)
class _Budget:
    namespace: str
    selector: Selector
    #: disruptions currently allowed
    allowed: int
    #: names of pods whose disruption was granted and is counted already
    disrupted: frozenset[str]


class Budgets:
    """All budgets of the cluster, read again when one of them changes."""

    def __init__(self, lister: Lister[PodDisruptionBudget]) -> None:
        self._lister = lister
        self._version = -1
        self._budgets: list[_Budget] = []
        self._known: dict[LabelClass, tuple[int, ...]] = {}

    @property
    def version(self) -> int:
        """Changes when a budget changes."""
        return self._lister.version

    def violating(self, pods: Sequence[PodInfo]) -> list[bool]:
        """Whether the eviction of each pod violates a budget, if they are evicted in this order."""
        self._refresh()
        if not self._budgets:
            return [False] * len(pods)
        allowed = [budget.allowed for budget in self._budgets]
        return [self._take(pod, allowed) for pod in pods]

    def _take(self, pod: PodInfo, allowed: list[int]) -> bool:
        """Count one eviction against every budget of the pod; True if one has none left."""
        violates = False
        for number in self._budgets_of(pod):
            if pod.name not in self._budgets[number].disrupted:
                allowed[number] -= 1
                violates |= allowed[number] < 0
        return violates

    def _budgets_of(self, pod: PodInfo) -> tuple[int, ...]:
        """Indices of the budgets that cover the pod; no budget covers a pod without labels."""
        known = self._known.get(pod.label_class)
        if known is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            known = self._known[pod.label_class] = tuple(
                number
                for number, budget in enumerate(self._budgets)
                if pod.labels
                and budget.namespace == pod.namespace
                and budget.selector.matches(pod.labels)
            )
        return known

    def _refresh(self) -> None:
        if self._version == self._lister.version:
            return
        self._version = self._lister.version
        self._budgets = [budget for each in self._lister if (budget := _read(each)) is not None]
        self._known.clear()


def _read(budget: PodDisruptionBudget) -> _Budget | None:
    """None for a budget that covers no pod: its selector is missing, empty or unreadable."""
    try:
        selector = from_label_selector(budget.spec.selector)
    except SelectorError:
        return None
    if selector.nothing or selector.everything:
        return None
    return _Budget(
        namespace=budget.metadata.namespace,
        selector=selector,
        allowed=budget.status.disruptions_allowed,
        disrupted=frozenset(budget.status.disrupted_pods),
    )
