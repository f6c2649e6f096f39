"""NodeResourcesBalancedAllocation as it was from 1.23 on, before it compared with the idle node."""

from __future__ import annotations

from collections.abc import Iterator

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, take
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.noderesources.amounts import Amounts, amounts
from apps.scheduler.plugins.noderesources.balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
    deviations,
    evenness,
)
from apps.scheduler.plugins.noderesources.score_details import describe_evenness, describe_use


class NodeResourcesBalancedAllocationV1beta3:
    """``(1 - standard deviation of the used shares) * 100``, with the pod; for every pod."""

    name = "NodeResourcesBalancedAllocationV1beta3"
    is_legacy = True
    args_type = NodeResourcesBalancedAllocationArgs
    default_args = staticmethod(NodeResourcesBalancedAllocation.default_args)
    check_args = staticmethod(NodeResourcesBalancedAllocation.check_args)

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None, handle: Handle) -> None:
        self._resources = (args or NodeResourcesBalancedAllocationArgs()).resources

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        wanted = tuple(pod.requests.get(resource.name, 0) for resource in self._resources)

        def scores(table: NodeColumns) -> Int64Array:
            with_pod: Int64Array = evenness(self._columns(pod, table), len(table))[1]
            return with_pod

        return take(nodes.memo((self, wanted), scores, depends="pods"), rows)

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        columns = self._columns(pod, nodes)
        uses = [describe_use(column) for column in columns if int(column.allocatable[0])]
        yield from uses
        score = int(evenness(columns, 1)[1][0])
        shares = [use.figures["with"] for use in uses]
        described = describe_evenness(shares, float(deviations(columns, 1)[1][0]), score)
        yield Detail(described.sentence, {**described.figures, "score": score})

    def _columns(self, pod: PodInfo, nodes: NodeColumns) -> list[Amounts]:
        requests = {each.name: pod.requests.get(each.name, 0) for each in self._resources}
        return list(amounts(self._resources, requests, nodes, nonzero=False))
