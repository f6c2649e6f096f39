"""What plugins can tell about their own decisions, on demand and after the fact.

An explanation runs on the state that the decision was made from. It changes nothing, and an error
in it never fails a pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from apps.scheduler.framework.interface import Plugin

if TYPE_CHECKING:
    from apps.scheduler.framework.cycle_state import CycleState
    from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
    from apps.scheduler.framework.status import Status
    from apps.scheduler.framework.types import PodInfo


@dataclass(frozen=True, slots=True)
class Detail:
    """One thing that a plugin's answer follows from, in a sentence and in figures."""

    sentence: str
    #: what the sentence says, as JSON can say it
    figures: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class RefusalExplainer(Plugin, Protocol):
    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterable[Detail]:
        """Why Filter refused the only row of ``nodes``, with exact figures.

        ``status`` is the answer of Filter. Without any detail, its reasons are shown.
        """


@runtime_checkable
class ScoreExplainer(Plugin, Protocol):
    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterable[Detail]:
        """What the raw score of the only row of ``nodes`` follows from, with exact figures.

        PreScore and Score of all feasible nodes have run in ``state``. The last detail computes
        the score from the others: its figure ``score`` is what Score returned for the node.
        Details with the same figures are shown as the rows of a table.
        """


@runtime_checkable
class NormalizationExplainer(Plugin, Protocol):
    def explain_normalization(
        self, state: CycleState, pod: PodInfo, scores: Int64Array, place: int
    ) -> Iterable[Detail]:
        """How NormalizeScore computes a node's score from the raw scores of all feasible nodes.

        ``scores`` is (feasible,) int64, as NormalizeScore got it in ``state``; ``place`` is the
        index of the node there. The last detail's figure ``score`` is the normalized score.
        """
