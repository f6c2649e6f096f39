"""The fewest pods on one node without which the pod would fit there, whatever their priority."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

import msgspec
import numpy as np

from apps.scheduler.explaining.evaluation import Evaluation
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.status import Code
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.budgets import Budgets
from apps.scheduler.preemption.dry_run import DryRun
from apps.scheduler.preemption.evictable import EvictablePods

#: the most nodes checked with a dry run: those that lack the least
_NODES: Final = 24
#: the most suggestions returned
_ANSWERS: Final = 3
_ABOVE_ALL: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Freed:
    node: str
    pods: tuple[PodInfo, ...]


def freeings(evaluation: Evaluation, until: float) -> Iterator[Freed]:
    """The nodes where the fewest pods have to be evicted, least important first.

    No pod of the same workload is evicted: its replacement would be as pending as the pod is.
    Stops at the time `until`.
    """
    if not evaluation.outcome.is_success:
        return
    freed = sorted(
        _find_freeings(evaluation, until),
        key=lambda each: (len(each.pods), sum(pod.priority for pod in each.pods), each.node),
    )
    yield from freed[:_ANSWERS]


def _find_freeings(evaluation: Evaluation, until: float) -> Iterator[Freed]:
    rows = np.flatnonzero(
        evaluation.statuses().with_code(Code.UNSCHEDULABLE) & evaluation.snapshot.alive
    )
    rows = rows[evaluation.snapshot.pod_count[rows] > 0]
    evicting = _dry_run(evaluation)
    rows = rows[evicting.refusals(rows).ids == NodeStatuses.FEASIBLE]
    nearest = rows[np.argsort(_lack(evaluation, rows), kind="stable")][:_NODES]
    for row in nearest.tolist():
        if monotonic() > until:
            return
        pods = _single(evaluation, row) or _several(evicting, row)
        if any(_is_replica(each, evaluation.pod) for each in pods):
            continue
        if pods and _fits_without(evaluation, row, pods):
            yield Freed(evaluation.snapshot.names[row], tuple(pods))


def _is_replica(pod: PodInfo, of: PodInfo) -> bool:
    """Whether both belong to one workload."""
    mine, other = pod.pod.metadata, of.pod.metadata
    return bool(mine.workload) and (
        (mine.namespace, mine.workload) == (other.namespace, other.workload)
    )


def _dry_run(evaluation: Evaluation) -> DryRun:
    """Preemption as if the pod were more important than any other."""
    pod = evaluation.pod.pod
    spec = msgspec.structs.replace(pod.spec, priority=_ABOVE_ALL)
    important = PodInfo(msgspec.structs.replace(pod, spec=spec))
    budgets = Budgets(evaluation.framework.handle.listers.pod_disruption_budgets)
    evictable = EvictablePods(evaluation.snapshot, budgets)
    return DryRun(
        evaluation.framework.filters, evaluation.snapshot, evaluation.state, important, evictable
    )


def _lack(evaluation: Evaluation, rows: Int64Array) -> Int64Array:
    """(rows,) int64: the missing part of the pod's requests, in millionths."""
    lack = np.zeros(len(rows), dtype=np.int64)
    for name, needed in evaluation.pod.requests.items():
        resource_index = evaluation.snapshot.resource_index(name)
        if resource_index >= 0 and needed:
            free = (
                evaluation.snapshot.allocatable[resource_index, rows]
                - evaluation.snapshot.requested[resource_index, rows]
            )
            lack += (np.maximum(needed - free, 0) * 1000 // needed) * 1000
    return lack


def _single(evaluation: Evaluation, row: int) -> Sequence[PodInfo]:
    """The least important pod whose eviction is sufficient; empty if there is none."""
    info = evaluation.snapshot.info(row)
    short = {
        name: needed - (info.allocatable.get(name, 0) - info.requested.get(name, 0))
        for name, needed in evaluation.pod.requests.items()
    }
    able = [
        pod
        for pod in info.pods.values()
        if not _is_replica(pod, evaluation.pod)
        and all(
            pod.requests.get(name, 0) >= missing for name, missing in short.items() if missing > 0
        )
    ]
    for pod in sorted(able, key=lambda each: (each.priority, each.key))[:4]:
        if _fits_without(evaluation, row, [pod]):
            return [pod]
    return ()


def _several(evicting: DryRun, row: int) -> Sequence[PodInfo]:
    outcome = evicting.select_victims_on_node(row)
    return outcome.pods if isinstance(outcome, Victims) else ()


def _fits_without(evaluation: Evaluation, row: int, pods: Sequence[PodInfo]) -> bool:
    nodes = evaluation.snapshot.select(np.array([row], dtype=np.int64))
    state = evaluation.state.clone()
    for pod in pods:
        evaluation.framework.filters.remove_pod(state, evaluation.pod, pod, nodes)
    answer = evaluation.framework.filters.run_filter_plugins_with_nominated_pods(
        state, evaluation.pod, nodes
    )
    return answer.at(0) is None
