"""The smallest changes that make a pending pod fit, each tried with the real filters.

Every change is applied to a copy of the pod (or to a node, temporarily), PreFilter and Filter run
again over all nodes, and changes that make no node feasible are not suggested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, ClassVar, Final

import msgspec
import numpy as np

from apps.scheduler.explaining import effort, freeing, pod_changes
from apps.scheduler.explaining.claim_changes import ClaimChange, changed, find_claim_changes
from apps.scheduler.explaining.combining import find_combinations
from apps.scheduler.explaining.evaluation import Evaluation, evaluate
from apps.scheduler.framework.node_columns import BoolArray, Int64Array
from apps.scheduler.framework.status import StatusError
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.scheduler import Scheduler

#: seconds after which no further changes are tried
DEADLINE: Final = 0.8
#: the most suggestions with several changes
MOST_COMBINATIONS: Final = 5
#: the most nodes named in a suggestion
FIRST_NODES: Final = 5


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change, or several (`together`), and the number of nodes that are feasible with it."""

    kind: str
    sentence: str
    nodes: int
    first_nodes: tuple[str, ...]
    #: the change as JSON
    change: Mapping[str, Any]
    #: the effort, without a unit, used for ranking: 1 is little
    effort: float = field(compare=False, default=1.0)

    ANSWER: ClassVar = ("kind", "sentence", "nodes", "first_nodes", "change")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Nodes refused by the same plugins, all of which would have to pass."""

    plugins: tuple[str, ...]
    nodes: int
    first_nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unblocking:
    """The suggestions and obstacles found before the deadline."""

    #: nodes that are feasible without any change
    feasible: int
    #: least effort first
    suggestions: tuple[Suggestion, ...]
    #: ordered by the number of plugins, then of nodes
    obstacles: tuple[Obstacle, ...]
    #: everything was tried
    is_complete: bool = True

    ANSWER: ClassVar = ("feasible", "is_complete", ...)


def unblock(scheduler: Scheduler, pod: PodInfo, *, seconds: float = DEADLINE) -> Unblocking:
    """The changes that would make `pod` fit; raises KeyError if it has no profile."""
    until = monotonic() + seconds
    evaluation = evaluate(scheduler, pod)
    feasible = evaluation.feasible()
    passing = evaluation.find_passing()
    obstacles = _obstacles(evaluation, passing)
    if len(feasible):
        return Unblocking(len(feasible), (), obstacles)
    suggestions, is_complete = [], True
    for suggestion in _try_changes(scheduler, evaluation, passing, until):
        if suggestion is not None:
            suggestions.append(suggestion)
        if monotonic() > until:
            is_complete = False
            break
    if is_complete and not suggestions:
        suggestions += _combine(scheduler, evaluation, until)
        is_complete = monotonic() <= until
    suggestions.sort(key=lambda each: (each.effort, -each.nodes, each.sentence))
    return Unblocking(0, tuple(suggestions), obstacles, is_complete)


def _try_changes(
    scheduler: Scheduler, evaluation: Evaluation, passing: Mapping[str, BoolArray], until: float
) -> Iterator[Suggestion | None]:
    for change in pod_changes.find_changes(evaluation, passing):
        try:
            other = evaluate(scheduler, PodInfo(change.pod))
            yield _suggestion(other, change, other.feasible())
        except StatusError:
            yield None
    for label in pod_changes.find_missing_labels(evaluation):
        yield _label_nodes(scheduler, evaluation, *label)
    claims = scheduler.cache.listers.device_claims
    for claim_change in find_claim_changes(evaluation, claims):
        with changed(claims, claim_change.claim):
            released = evaluate(scheduler, evaluation.pod)
            yield _suggestion(released, claim_change, released.feasible())
    for freed in freeing.freeings(evaluation, until):
        count = len(freed.pods)
        pods = "pod" if count == 1 else f"{count} pods"
        named = ", ".join(pod.key for pod in freed.pods)
        yield Suggestion(
            "free",
            f"Evict the {pods} {named} from {freed.node}",
            1,
            (freed.node,),
            {"node": freed.node, "pods": [pod.key for pod in freed.pods]},
            effort=effort.evict(freed.pods, evaluation.pod.priority),
        )


def _suggestion(
    evaluation: Evaluation, change: pod_changes.CandidateChange | ClaimChange, rows: Int64Array
) -> Suggestion | None:
    if not len(rows):
        return None
    return Suggestion(
        change.kind,
        change.sentence,
        len(rows),
        _names(evaluation, rows),
        change.change,
        effort=change.effort,
    )


def _combine(scheduler: Scheduler, evaluation: Evaluation, until: float) -> Iterator[Suggestion]:
    """Changes of the pod that are sufficient together; of those found, the ones of least effort."""
    combinations = sorted(
        find_combinations(scheduler, evaluation, until), key=lambda each: each.effort
    )
    for each in combinations[:MOST_COMBINATIONS]:
        yield Suggestion(
            "together",
            each.sentence,
            len(each.rows),
            _names(evaluation, each.rows),
            each.change,
            effort=each.effort,
        )


def _label_nodes(
    scheduler: Scheduler, evaluation: Evaluation, key: str, value: str, rows: Int64Array
) -> Suggestion | None:
    """Nodes that would pass if they had a label; tried with the first of them."""
    if not len(rows):
        return None
    names = _names(evaluation, rows)
    with _relabelled(scheduler, names[0], key, value):
        works = len(evaluate(scheduler, evaluation.pod).feasible())
    scheduler.snapshot.update(scheduler.cache)
    if not works:
        return None
    which = f"node {names[0]}" if len(rows) == 1 else f"one of {len(rows):,} nodes"
    return Suggestion(
        "label-node",
        f"Label {which} with {key}={value}",
        len(rows),
        names,
        {"key": key, "value": value},
        effort=effort.label_nodes(len(rows)),
    )


@contextmanager
def _relabelled(scheduler: Scheduler, name: str, key: str, value: str) -> Iterator[None]:
    """Give a node in the scheduler's cache a label, for the block."""
    node = scheduler.cache.nodes[name].node
    if node is None:
        raise KeyError(name)
    labels = {**node.metadata.labels, key: value}
    meta = msgspec.structs.replace(node.metadata, labels=labels)
    scheduler.cache.add_node(msgspec.structs.replace(node, metadata=meta))
    try:
        yield
    finally:
        scheduler.cache.add_node(node)


def _obstacles(evaluation: Evaluation, passing: Mapping[str, BoolArray]) -> tuple[Obstacle, ...]:
    alive = np.flatnonzero(evaluation.snapshot.alive)
    refusing = [name for name, passes in passing.items() if not passes[alive].all()]
    if not refusing or not len(alive):
        return ()
    matrix = np.array([~passing[name][alive] for name in refusing])
    patterns, which = np.unique(matrix, axis=1, return_inverse=True)
    obstacles = []
    for number in range(patterns.shape[1]):
        plugins = tuple(
            name for name, refuses in zip(refusing, patterns[:, number], strict=True) if refuses
        )
        rows = alive[which.reshape(-1) == number]
        if plugins:
            obstacles.append(Obstacle(plugins, len(rows), _names(evaluation, rows)))
    return tuple(sorted(obstacles, key=lambda each: (len(each.plugins), -each.nodes)))


def _names(evaluation: Evaluation, rows: Sequence[int] | Int64Array) -> tuple[str, ...]:
    return tuple(sorted(evaluation.snapshot.names[row] for row in rows)[:FIRST_NODES])
