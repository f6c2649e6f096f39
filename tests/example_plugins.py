"""The plugins of docs/plugins/writing-a-plugin.md, which shows their text as it is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.per_node import PerNodePlugin
from apps.scheduler.framework.status import Status, unresolvable
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import Node, Pod


@dataclass(frozen=True)
class LicencesArgs:
    #: the label that lists the licences of a node
    label: str = "example.com/licences"


class Licences(PerNodePlugin):
    """Pods that need a licence run where there is one; nodes with few others are preferred."""

    name = "Licences"
    args_type = LicencesArgs

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        new_labels = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        return [ClusterEventWithHint(ClusterEvent(Resource.NODE, new_labels))]

    def filter(self, state: CycleState, pod: PodInfo, node_info: NodeInfo) -> Status | None:
        wanted = pod.pod.metadata.annotations.get("example.com/licence")
        if wanted is None or wanted in self.licences_of(node_info):
            return None
        return unresolvable(f"no licence for {wanted}")

    def score(self, state: CycleState, pod: PodInfo, node_info: NodeInfo) -> int:
        return len(self.licences_of(node_info))

    def normalize_score(
        self, state: CycleState, pod: PodInfo, scores: Mapping[str, int]
    ) -> Mapping[str, int]:
        most = max(scores.values())
        return {node: 100 - 100 * score // most if most else 100 for node, score in scores.items()}

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, node_info: NodeInfo, status: Status
    ) -> Sequence[Detail]:
        there = self.licences_of(node_info)
        return [Detail(f"the node has licences for {there}", {"licences": there})]

    def explain_score(
        self, state: CycleState, pod: PodInfo, node_info: NodeInfo
    ) -> Sequence[Detail]:
        there = self.licences_of(node_info)
        return [
            *[Detail(f"the node has a licence for {name}", {"licence": name}) for name in there],
            Detail(f"number of licences: {len(there)}", {"score": len(there)}),
        ]

    def explain_normalization(
        self, state: CycleState, pod: PodInfo, scores: Mapping[str, int], node: str
    ) -> Sequence[Detail]:
        own, most = scores[node], max(scores.values())
        if not most:
            return [Detail("no node has licences: 100", {"score": 100})]
        score = 100 - 100 * own // most
        formula = f"100 − 100 × {own} / {most}, the quotient rounded down, is {score}"
        return [Detail(formula, {"raw": own, "greatest": most, "score": score})]

    def licences_of(self, node_info: NodeInfo) -> list[str]:
        assert node_info.node is not None
        written = node_info.node.metadata.labels.get(self.args.label, "")
        return written.split("_") if written else []


class Windows(PerNodePlugin):
    """Pods with a maintenance window run on nodes with the same one."""

    name = "Windows"

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        event = ClusterEvent(Resource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return [ClusterEventWithHint(event, self.fits, "with the window of the pod")]

    def fits(self, pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
        same = self.window_of(new) == self.window_of(pod.pod)
        return QueueingHint.QUEUE if same else QueueingHint.QUEUE_SKIP

    def filter(self, state: CycleState, pod: PodInfo, node_info: NodeInfo) -> Status | None:
        assert node_info.node is not None
        same = self.window_of(node_info.node) == self.window_of(pod.pod)
        return None if same else unresolvable("another maintenance window")

    def window_of(self, of: Node | Pod) -> str:
        return of.metadata.labels.get("example.com/window", "")


class LicencesInColumns:
    """The same filter, once for each distinct value of the label instead of once for each node."""

    name = "LicencesInColumns"

    def __init__(self, args: Mapping[str, str] | None, handle: Handle) -> None:
        self._label = (args or {}).get("label", "example.com/licences")

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        wanted = pod.pod.metadata.annotations.get("example.com/licence")
        if wanted is None:
            return None
        here = nodes.label(self._label).where(
            lambda value: value is not None and wanted in value.split("_")
        )
        refusal = unresolvable(f"no licence for {wanted}")
        return Verdicts((~here).astype(np.uint16), [None, refusal])

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        return np.where(nodes.pod_count[rows] == 0, 100, 0)
