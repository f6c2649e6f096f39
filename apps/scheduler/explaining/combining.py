"""Changes that make a pod fit only together: several requests, or a request and a toleration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

import numpy as np

from apps.scheduler.explaining import effort, pod_changes
from apps.scheduler.explaining.evaluation import Evaluation, evaluate
from apps.scheduler.explaining.pod_changes import CandidateChange
from apps.scheduler.framework.node_columns import BoolArray, Int64Array
from apps.scheduler.framework.status import StatusError
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.plugins.helper.resource_text import quantity_text
from apps.scheduler.plugins.noderesources.fit import NodeResourcesFit
from apps.scheduler.scheduler import Scheduler

#: At most so many changes are combined.
MOST_CHANGES: Final = 3


@dataclass(frozen=True, slots=True)
class Combination:
    """Changes of the pod, each of which is needed."""

    changes: tuple[CandidateChange, ...]
    #: the rows that are feasible with all of them
    rows: Int64Array

    @property
    def effort(self) -> float:
        """The efforts of all changes."""
        return sum(each.effort for each in self.changes)

    @property
    def sentence(self) -> str:
        """One sentence: "Lower …, and add …"."""
        first, *others = (each.sentence for each in self.changes)
        return "; and ".join([first, *(f"{text[0].lower()}{text[1:]}" for text in others)])

    @property
    def change(self) -> Mapping[str, Any]:
        """All changes as JSON."""
        return {"changes": [{"kind": each.kind, **each.change} for each in self.changes]}


def find_combinations(
    scheduler: Scheduler, evaluation: Evaluation, until: float
) -> Iterator[Combination]:
    """The least number of changes that make the pod fit together, if no single one does.

    `until` is a time of the monotonic clock after which nothing more is tried.
    """
    level: list[tuple[tuple[CandidateChange, ...], Evaluation]] = [((), evaluation)]
    tried: set[frozenset[str]] = set()
    for _ in range(MOST_CHANGES):
        works = False
        following: list[tuple[tuple[CandidateChange, ...], Evaluation]] = []
        for changes, seen in level:
            for change in _find_changes(seen):
                together = (*changes, change)
                key = frozenset(each.sentence for each in together)
                if len(key) < len(together) or key in tried:
                    continue
                tried.add(key)
                if monotonic() > until:
                    return
                try:
                    other = evaluate(scheduler, PodInfo(change.pod))
                    rows = other.feasible()
                except StatusError:
                    continue
                if len(rows):
                    works = True
                    yield Combination(together, rows)
                else:
                    following.append((together, other))
        if works:
            return
        level = sorted(following, key=lambda each: sum(change.effort for change in each[0]))


def _find_changes(evaluation: Evaluation) -> Iterator[CandidateChange]:
    passing = evaluation.find_passing()
    yield from pod_changes.find_changes(evaluation, passing)
    yield from _lower_together(evaluation, passing)


def _lower_together(
    evaluation: Evaluation, passing: Mapping[str, BoolArray]
) -> Iterator[CandidateChange]:
    """All requests that are too large for the node on which the largest cut is smallest."""
    nodes, pod = evaluation.snapshot, evaluation.pod
    rows = nodes.alive & (nodes.pod_count < nodes.allowed_pods)
    for name, passes in passing.items():
        if name != NodeResourcesFit.name:
            rows = rows & passes
    needed = {name: amount for name, amount in pod.requests.items() if amount}
    if len(needed) < 2:
        return
    free = {name: pod_changes.compute_free(evaluation, name) for name in needed}
    for amounts in free.values():
        rows = rows & (amounts > 0)
    if not rows.any():
        return
    cuts = np.max([1 - free[name] / amount for name, amount in needed.items()], axis=0)
    row = int(np.where(rows, cuts, np.inf).argmin())
    lower = {n: int(free[n][row]) for n, amount in needed.items() if free[n][row] < amount}
    changed: Pod | None = pod.pod
    for name, most in lower.items():
        changed = changed and pod_changes.with_request(PodInfo(changed), name, most)
    if changed is None or len(lower) < 2:
        return
    texts = {n: (quantity_text(n, needed[n]), quantity_text(n, most)) for n, most in lower.items()}
    listed = " and ".join(f"{name} from {old} to {new}" for name, (old, new) in texts.items())
    yield CandidateChange(
        "lower-requests",
        f"Lower the requests for {listed}",
        changed,
        {"requests": {name: {"from": old, "to": new} for name, (old, new) in texts.items()}},
        effort=effort.lower_request(float(cuts[row])),
    )
