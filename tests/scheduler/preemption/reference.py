"""Preemption the slow and obvious way: build the cluster anew for every question, and ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config.types import Configuration
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, PodDisruptionBudget
from apps.scheduler.scheduler import Scheduler


@dataclass
class Cluster:
    config: Configuration
    nodes: list[Node]
    pods: list[PodInfo]
    budgets: list[PodDisruptionBudget] = field(default_factory=list)
    #: (node name, pod)
    nominated: list[tuple[str, PodInfo]] = field(default_factory=list)

    def scheduler(self, pods: Iterable[PodInfo]) -> Scheduler:
        """A scheduler that has never known another cluster."""
        scheduler = Scheduler(self.config, clock=VirtualClock(), tie_break="first-name")
        for node in self.nodes:
            scheduler.cache.add_node(node)
        for pod in pods:
            scheduler.cache.add_pod(pod)
        for budget in self.budgets:
            scheduler.cache.listers.pod_disruption_budgets.put(budget)
        return scheduler

    def fits(self, pod: PodInfo, node: str, pods: Sequence[PodInfo]) -> bool:
        """Whether filters let ``pod`` run on the node, with pods nominated there and without."""
        promised = [
            _placed(other, node)
            for where, other in self.nominated
            if where == node and other.priority >= pod.priority
        ]
        return self._passes(pod, node, [*pods, *promised]) and self._passes(pod, node, pods)

    def _passes(self, pod: PodInfo, node: str, pods: Sequence[PodInfo]) -> bool:
        scheduler = self.scheduler(pods)
        scheduler.snapshot.update(scheduler.cache)
        framework, state = scheduler.profiles["default-scheduler"], CycleState()
        _, status, _ = framework.run_pre_filter_plugins(state, pod, scheduler.snapshot)
        assert status.is_success, status
        row = scheduler.snapshot.row_of(node)
        found = framework.filters.run_filter_plugins(state, pod, scheduler.snapshot)
        return found.at(row) is None

    def victims_on(self, pod: PodInfo, node: str) -> tuple[list[str], int] | None:
        """(keys in order of importance, broken budgets); None where evictions do not help."""
        here = [each for each in self.pods if each.pod.spec.node_name == node]
        lower = [each for each in here if each.priority < pod.priority]
        lower = _sort(lower)
        kept = [each for each in self.pods if each not in lower]
        if not lower or not self.fits(pod, node, kept):
            return None
        violating = self._violating(lower)
        victims = []
        for each in [*violating, *(each for each in lower if each not in violating)]:
            if self.fits(pod, node, [*kept, each]):
                kept.append(each)
            else:
                victims.append(each)
        broken = sum(each in violating for each in victims)
        if 0 < len(violating) < len(lower):
            victims = _sort(victims)
        return [each.key for each in victims], broken

    def _violating(self, pods: Sequence[PodInfo]) -> list[PodInfo]:
        left = {each.metadata.name: each.status.disruptions_allowed for each in self.budgets}
        found = []
        for pod in pods:
            broken = False
            for budget in self.budgets:
                labels = budget.spec.selector.match_labels if budget.spec.selector else {}
                covered = labels and labels.items() <= pod.labels.items()
                if covered and pod.name not in budget.status.disrupted_pods:
                    left[budget.metadata.name] -= 1
                    broken = broken or left[budget.metadata.name] < 0
            if broken:
                found.append(pod)
        return found


def best(candidates: dict[str, tuple[list[PodInfo], int]]) -> list[str]:
    """The nodes that upstream's criteria do not tell apart, the best ones."""

    def harm(node: str) -> tuple[float, ...]:
        victims, broken = candidates[node]
        top = max(pod.priority for pod in victims)
        starts = [_start(pod) for pod in victims if pod.priority == top]
        total = sum(pod.priority + 2**31 for pod in victims)
        return (broken, top, total, len(victims), *(-ord(letter) for letter in min(starts)))

    least = min(map(harm, candidates))
    return sorted(node for node in candidates if harm(node) == least)


def _sort(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """By insertion, as Go sorts up to 12 items; pods that have not started come out in reverse."""
    found: list[PodInfo] = []
    for pod in pods:
        place = len(found)
        while place and _is_more_important(pod, found[place - 1]):
            place -= 1
        found.insert(place, pod)
    return found


def _is_more_important(pod: PodInfo, other: PodInfo) -> bool:
    if pod.priority != other.priority:
        return pod.priority > other.priority
    return pod.pod.status.start_time is None is other.pod.status.start_time or _start(pod) < _start(
        other
    )


def _start(pod: PodInfo) -> str:
    """Times of one format compare as text; a pod that has not started comes last."""
    return pod.pod.status.start_time or "9999"


def _placed(pod: PodInfo, node: str) -> PodInfo:
    spec = msgspec.structs.replace(pod.pod.spec, node_name=node)
    return PodInfo(msgspec.structs.replace(pod.pod, spec=spec))
