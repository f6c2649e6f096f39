"""How often each plugin was called, as kube-scheduler counts it.

There a filter is called for each node that no filter before it has refused. Attempts in which the
same plugins ran are summed before the plugins are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from apps.scheduler.decision import Decision
from apps.scheduler.framework.status import Code


class EvaluatedBy(NamedTuple):
    """What determines which plugins an attempt called."""

    profile: str
    #: code and plugin of PreFilter's status
    pre_filter: tuple[Code, str]
    ran_filters: bool
    filter_skipped: frozenset[str]
    ran_scores: bool
    score_skipped: frozenset[str]
    scores: tuple[str, ...]

    @classmethod
    def of(cls, decision: Decision) -> EvaluatedBy:
        return cls(
            decision.profile,
            (decision.pre_filter.code, decision.pre_filter.plugin),
            decision.node_statuses is not None and decision.evaluated > 0,
            decision.filter_skipped,
            bool(decision.scores or decision.score_skipped),
            decision.score_skipped,
            tuple(decision.scores),
        )


class Evaluations:
    """Sums over attempts with the same `EvaluatedBy`."""

    def __init__(self) -> None:
        self._attempts = self._evaluated = self._feasible = 0
        #: plugin -> number of nodes that it was the first to refuse
        self._refused: Counter[str] = Counter()

    def add(self, decision: Decision) -> None:
        self._attempts += 1
        self._evaluated += decision.evaluated
        self._feasible += len(decision.feasible)
        if decision.node_statuses is not None and len(decision.node_statuses.statuses) > 1:
            for status, nodes in decision.node_statuses.used():
                self._refused[status.plugin] += nodes

    def count(
        self, by: EvaluatedBy, points: Mapping[str, tuple[str, ...]]
    ) -> Iterator[tuple[str, str, int]]:
        """(plugin, extension point, number of calls); `points` are the plugins by point."""
        for plugin in _asked_before_filters(by, points.get("preFilter", ())):
            yield plugin, "PreFilter", self._attempts
        if by.ran_filters:
            left = self._evaluated
            for plugin in points.get("filter", ()):
                if plugin not in by.filter_skipped and left > 0:
                    yield plugin, "Filter", left
                    left -= self._refused[plugin]
        if by.ran_scores:
            for plugin in points.get("preScore", ()):
                if plugin not in by.score_skipped:
                    yield plugin, "PreScore", self._attempts
            for plugin in by.scores:
                if plugin in points.get("score", ()):
                    yield plugin, "Score", self._feasible


def _asked_before_filters(by: EvaluatedBy, plugins: tuple[str, ...]) -> Iterator[str]:
    code, refusing = by.pre_filter
    # After a plain Unschedulable the other plugins still run.
    ended = code not in (Code.SUCCESS, Code.UNSCHEDULABLE)
    if ended and refusing in plugins:
        plugins = plugins[: plugins.index(refusing) + 1]
    return (plugin for plugin in plugins if plugin not in by.filter_skipped)
