"""NodeLabel: requires and prefers nodes by the presence of labels (until 1.22)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import MAX_NODE_SCORE, Verdicts
from apps.scheduler.framework.node_columns import BoolArray, Int64Array, NodeColumns
from apps.scheduler.framework.status import Status, unresolvable
from apps.scheduler.framework.types import PodInfo

NAME: Final = "NodeLabel"
REASON: Final = "node(s) didn't have the requested labels"
_STATUSES: Final = (None, unresolvable(REASON))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLabelArgs:
    present_labels: tuple[str, ...] = described((), "Nodes without one of these are rejected.")
    absent_labels: tuple[str, ...] = described((), "Nodes with one of these are rejected.")
    present_labels_preference: tuple[str, ...] = described((), "Nodes with these are preferred.")
    absent_labels_preference: tuple[str, ...] = described((), "Nodes without these are preferred.")


class NodeLabel:
    name = NAME
    is_legacy = True
    args_type = NodeLabelArgs

    def __init__(self, args: NodeLabelArgs | None, handle: Handle) -> None:
        self._args = args or NodeLabelArgs()

    @staticmethod
    def check_args(args: NodeLabelArgs, path: str, problems: Problems) -> None:
        for present, absent, name in (
            (args.present_labels, args.absent_labels, "presentLabels"),
            (
                args.present_labels_preference,
                args.absent_labels_preference,
                "presentLabelsPreference",
            ),
        ):
            for label in sorted(set(present) & set(absent)):
                problems.invalid(f"{path}.{name}", label, "cannot be present and absent")

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        refused = np.zeros(len(nodes), dtype=np.bool_)
        for met in self._met(nodes, self._args.present_labels, self._args.absent_labels):
            refused |= ~met[1]
        return Verdicts(refused.astype(np.uint16), _STATUSES)

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """100 for each preference that a node meets, divided by their number."""
        preferences = list(self._preferences(nodes))
        total = sum((met for _, met in preferences), np.zeros(len(nodes), dtype=np.int64))
        return np.asarray(total[rows] * MAX_NODE_SCORE // max(len(preferences), 1))

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        for said, met in self._met(nodes, self._args.present_labels, self._args.absent_labels):
            if not met[0]:
                yield Detail(f"the label {said} is required", {"requirement": said})

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        preferences = list(self._preferences(nodes))
        met = [said for said, met in preferences if met[0]]
        score = len(met) * MAX_NODE_SCORE // max(len(preferences), 1)
        yield Detail(
            f"{len(met)} of {len(preferences)} preferences met ({', '.join(met) or 'none'}): "
            f"{len(met)} × 100 / {len(preferences)} = {score}",
            {"met": met, "preferences": len(preferences), "score": score},
        )

    def _preferences(self, nodes: NodeColumns) -> Iterator[tuple[str, BoolArray]]:
        args = self._args
        return self._met(nodes, args.present_labels_preference, args.absent_labels_preference)

    def _met(
        self, nodes: NodeColumns, present: Iterable[str], absent: Iterable[str]
    ) -> Iterator[tuple[str, BoolArray]]:
        """Each requirement as text, and the nodes, (n,) bool, that meet it."""
        for label in present:
            yield f"{label} present", nodes.label(label).ids >= 0
        for label in absent:
            yield f"{label} absent", nodes.label(label).ids < 0
