"""TaintToleration: nodes with untolerated taints are refused, or score lower."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import (
    ITSELF,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, Reads, constant
from apps.scheduler.framework.status import Status, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, Pod, Taint, Toleration
from apps.scheduler.plugins.helper.node_text import taint_text
from apps.scheduler.plugins.helper.normalize import (
    default_normalize_score,
    explain_default_normalization,
)
from apps.scheduler.plugins.helper.pod_signs import tolerations_sign
from apps.scheduler.plugins.helper.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    has_untolerated,
    is_tolerated,
)

NAME: Final = "TaintToleration"
REASON: Final = "node(s) had untolerated taint(s)"
_STATUSES = (None, unresolvable(REASON))


class TaintToleration:
    name = NAME
    sign_reads: Reads = "nodes"
    normalizes_by_extremes = True
    default_weight = 3

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def sign(self, pod: PodInfo) -> Hashable | None:
        return pod.pod.spec.tolerations

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return tolerations_sign(pod)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        tolerations = pod.pod.spec.tolerations
        refused = [has_untolerated(taints, tolerations) for taints in nodes.taint_sets]
        if not any(refused):
            return None
        return Verdicts(np.array(refused, dtype=np.uint16)[nodes.taint_ids], _STATUSES)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        """Every taint of effect NoSchedule or NoExecute that the pod does not tolerate."""
        node = nodes.info(0).node
        for taint in node.spec.taints if node is not None else ():
            if taint.effect not in (NO_SCHEDULE, NO_EXECUTE):
                continue
            if not is_tolerated(pod.pod.spec.tolerations, taint):
                text = taint_text(taint)
                yield Detail(f"the pod does not tolerate the taint {text}", {"taint": text})

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        return None

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """The number of PreferNoSchedule taints the pod does not tolerate; fewer is better."""
        tolerations = pod.pod.spec.tolerations
        counts = [count_untolerated(taints, tolerations) for taints in nodes.taint_sets]
        if not any(counts):
            return constant(len(rows), 0)
        return np.array(counts, dtype=np.int64)[nodes.taint_ids[rows]]

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """Every PreferNoSchedule taint, and whether the pod tolerates it."""
        node = nodes.info(0).node
        count = 0
        for taint in node.spec.taints if node is not None else ():
            if taint.effect == PREFER_NO_SCHEDULE:
                counted = count_untolerated([taint], pod.pod.spec.tolerations)
                count += counted
                text = taint_text(taint)
                words = "does not tolerate" if counted else "tolerates"
                yield Detail(
                    f"the pod {words} the taint {text}",
                    {"taint": text, "tolerated": not counted, "counts": counted},
                )
        yield Detail(
            f"{PREFER_NO_SCHEDULE} taints that the pod does not tolerate: {count}",
            {"score": count},
        )

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Int64Array) -> Int64Array:
        return default_normalize_score(scores, reverse=True)

    def explain_normalization(
        self, state: CycleState, pod: PodInfo, scores: Int64Array, place: int
    ) -> Iterator[Detail]:
        return explain_default_normalization(scores, place, reverse=True)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ClusterEvent(Resource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        toleration = ClusterEvent(Resource.POD, ActionType.UPDATE_POD_TOLERATION)
        return (
            ClusterEventWithHint(
                node, _hint_node_changed, looks_for="whose taints the pod tolerates"
            ),
            ClusterEventWithHint(toleration, _hint_toleration_added, looks_for=ITSELF),
        )


def _hint_node_changed(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    """The node's taints are tolerated now, and were not before."""
    tolerations = pod.pod.spec.tolerations
    was_untolerated = old is None or has_untolerated(old.spec.taints, tolerations)
    helps = was_untolerated and not has_untolerated(new.spec.taints, tolerations)
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def _hint_toleration_added(pod: PodInfo, old: Pod | None, new: Pod) -> QueueingHint:
    """Only the pod's own tolerations count."""
    own = new.metadata.uid == pod.uid
    return QueueingHint.QUEUE if own else QueueingHint.QUEUE_SKIP


def count_untolerated(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> int:
    """How many PreferNoSchedule taints are not tolerated by a toleration for that effect or any."""
    soft = [t for t in tolerations if t.effect in ("", PREFER_NO_SCHEDULE)]
    return sum(
        taint.effect == PREFER_NO_SCHEDULE and not is_tolerated(soft, taint) for taint in taints
    )
