"""How the nodes for a pod are found: every plugin is asked, or what is kept of earlier cycles used.

``Framework.search_for`` gives each cycle its search. Decisions do not depend on which one it is;
the other one is ``framework.reuse.signed_results.SignedResults``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.ranking import Ranking
from apps.scheduler.framework.reuse.signed_scores import Cycle, Scores
from apps.scheduler.framework.status import StatusError
from apps.scheduler.framework.verdicts import Passed

if TYPE_CHECKING:
    from apps.scheduler.attempt import Attempt
    from apps.scheduler.cache.snapshot import Snapshot
    from apps.scheduler.framework.interface import PreFilterResult
    from apps.scheduler.framework.reuse.signed_results import Repetition
    from apps.scheduler.framework.status import Status
    from apps.scheduler.framework.stopwatch import Stopwatch
    from apps.scheduler.framework.types import PodInfo

#: what ``Framework.run_pre_filter_plugins`` returns
PreFilterOutcome = tuple["PreFilterResult", "Status", set[str]]
#: the rows with the greatest total, ascending; valid until the next cycle
Ties = Sequence[int] | Int64Array


@dataclass(frozen=True, slots=True)
class ScoredNodes:
    """The feasible nodes, as they are scored."""

    snapshot: Snapshot
    #: (n,) int64, ascending
    rows: Int64Array
    #: the table in which they are scored, and their rows in it
    nodes: NodeColumns
    places: Int64Array
    #: these rows as a table of their own, if they are few: whole columns would cost more
    part: NodeColumns | None


class Walk(Protocol):
    """One scheduling cycle; it calls the search for each extension point."""

    def run(self) -> Ties | None:
        """All four extension points; None if no node is feasible. Raises StatusError."""

    def repeatable(self) -> tuple[Cycle, int] | None:
        """The cycle, and how many feasible nodes are enough; None if there are nominations."""

    def accept(self, repetition: Repetition) -> Ties | None:
        """Take the outcome of all four points; None if the cycle has to run nevertheless."""


class NodeSearch(Protocol):
    """The four extension points that find the node for a pod."""

    def find(self, walk: Walk) -> Ties | None:
        """The best rows; None if no node is feasible. Raises StatusError on an internal error."""

    def pre_filter(self, attempt: Attempt, snapshot: Snapshot) -> PreFilterOutcome:
        """As ``Framework.run_pre_filter_plugins``."""

    def filter(self, attempt: Attempt, snapshot: Snapshot, watch: Stopwatch) -> Passed:
        """What the filters leave of all rows, nominated pods included. Raises StatusError."""

    def rank(self, attempt: Attempt, nodes: ScoredNodes) -> Scores:
        """PreScore, Score and NormalizeScore. Raises StatusError."""


class PlainSearch:
    """Asks every plugin about all nodes, and keeps nothing."""

    def find(self, walk: Walk) -> Ties | None:
        return walk.run()

    def pre_filter(self, attempt: Attempt, snapshot: Snapshot) -> PreFilterOutcome:
        run = attempt.framework.run_pre_filter_plugins
        return run(attempt.state, attempt.pod, snapshot)

    def filter(self, attempt: Attempt, snapshot: Snapshot, watch: Stopwatch) -> Passed:
        run = attempt.framework.filters.run_filter_plugins_with_nominated_pods
        return Passed.left_by(run(attempt.state, attempt.pod, snapshot, watch))

    def rank(self, attempt: Attempt, nodes: ScoredNodes) -> Scores:
        framework, state, pod = attempt.framework, attempt.state, attempt.pod
        status = framework.run_pre_score_plugins(state, pod, nodes.nodes, nodes.places)
        if not status.is_success:
            raise StatusError(status)
        columns = framework.run_score_plugins(state, pod, nodes.nodes, nodes.places, nodes.part)
        total = np.zeros(len(nodes.rows), dtype=np.int64)
        for column in columns.values():
            total += column.normalized if column.weight == 1 else column.weighted
        ranking = Ranking(nodes.rows, total)
        return Scores(columns, ranking, ranking.ties)


PLAIN: Final = PlainSearch()


def search_plainly(pod: PodInfo, snapshot: Snapshot) -> NodeSearch:
    """As ``Framework.search_for`` without reuse."""
    return PLAIN
