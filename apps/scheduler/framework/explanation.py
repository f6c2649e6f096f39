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
    from apps.scheduler.framework.nodes import NodeColumns
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
    def explain_score(self, pod: PodInfo, nodes: NodeColumns) -> Iterable[Detail]:
        """What the raw score of the only row of ``nodes`` follows from, with exact figures.

        The last detail says how the score is computed from the others.
        """
