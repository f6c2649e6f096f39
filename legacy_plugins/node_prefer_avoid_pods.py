"""NodePreferAvoidPods: nodes with an annotation to avoid the pods of a controller (until 1.22).

With its weight of 10000 it outweighs all other scores together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import MAX_NODE_SCORE, MIN_NODE_SCORE
from apps.scheduler.framework.node_columns import BoolArray, Int64Array, NodeColumns, constant
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import OwnerReference

NAME: Final = "NodePreferAvoidPods"
ANNOTATION: Final = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_CONTROLLERS: Final = ("ReplicationController", "ReplicaSet")


class NodePreferAvoidPods:
    name = NAME
    is_legacy = True

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """0 on nodes whose annotation names the pod's controller, 100 on others."""
        controller = pod.pod.metadata.controller
        if controller is None or controller.kind not in _CONTROLLERS:
            return constant(len(rows), MAX_NODE_SCORE)
        asking = nodes.memo(NAME, _has_annotation, depends="node")[rows]
        scores = np.full(len(rows), MAX_NODE_SCORE, dtype=np.int64)
        for place in np.flatnonzero(asking).tolist():
            if avoids(_annotation(nodes, int(rows[place])), controller):
                scores[place] = MIN_NODE_SCORE
        return scores

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """Whether the annotation of the node names the pod's controller."""
        controller, annotation = pod.pod.metadata.controller, _annotation(nodes, 0)
        if controller is None or controller.kind not in _CONTROLLERS:
            words, score = "the pod has no ReplicationController or ReplicaSet", MAX_NODE_SCORE
        elif avoids(annotation, controller):
            words = f"the node's annotation names {controller.kind} {controller.name}"
            score = MIN_NODE_SCORE
        else:
            words = f"the node's annotation does not name {controller.kind} {controller.name}"
            score = MAX_NODE_SCORE
        asked = {"kind": controller.kind, "uid": controller.uid} if controller else None
        yield Detail(
            f"{words}: {score}",
            {"controller": asked, "annotation": annotation, "score": score},
        )


def avoids(annotation: str, controller: OwnerReference) -> bool:
    """Whether the annotation, a JSON text, names the controller; False if it is invalid.

    ``{"preferAvoidPods": [{"podSignature": {"podController": {"kind": …, "uid": …}}}]}``
    """
    try:
        entries: Any = msgspec.json.decode(annotation)["preferAvoidPods"]
        named = [entry["podSignature"]["podController"] for entry in entries]
        return any(
            (each["kind"], each["uid"]) == (controller.kind, controller.uid) for each in named
        )
    except (msgspec.DecodeError, KeyError, TypeError):
        return False


def _has_annotation(nodes: NodeColumns) -> BoolArray:
    has_annotation = np.zeros(len(nodes), dtype=np.bool_)
    for row in np.flatnonzero(nodes.alive).tolist():
        has_annotation[row] = bool(_annotation(nodes, row))
    return has_annotation


def _annotation(nodes: NodeColumns, row: int) -> str:
    node = nodes.info(row).node
    return node.metadata.annotations.get(ANNOTATION, "") if node is not None else ""
