"""NodeResourcesBalancedAllocation: prefers nodes with balanced resource usage."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.config.resource_args import (
    DEFAULT_RESOURCES,
    Resources,
    resources_with_defaults,
)
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, Reads, take
from apps.scheduler.framework.status import SKIP, Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.helper.pod_signs import requests_sign
from apps.scheduler.plugins.noderesources.amounts import Amounts, amounts
from apps.scheduler.plugins.noderesources.devices import BackedResources
from apps.scheduler.plugins.noderesources.score_details import describe_balance

NAME: Final = "NodeResourcesBalancedAllocation"

_Float64Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResourcesBalancedAllocationArgs:
    resources: Resources = described(
        DEFAULT_RESOURCES, "The resources whose use should be balanced; all weights are 1."
    )


class NodeResourcesBalancedAllocation:
    name = NAME
    sign_reads: Reads = "amounts"
    args_type = NodeResourcesBalancedAllocationArgs
    default_weight = 1

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None, handle: Handle) -> None:
        self._resources = (args or NodeResourcesBalancedAllocationArgs()).resources
        self._backed = BackedResources(handle.listers, handle.gates)

    def sign(self, pod: PodInfo) -> Hashable | None:
        return tuple(self._requests(pod))

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return requests_sign(pod)

    @staticmethod
    def default_args(
        args: NodeResourcesBalancedAllocationArgs,
    ) -> NodeResourcesBalancedAllocationArgs:
        return replace(args, resources=resources_with_defaults(args.resources))

    @staticmethod
    def check_args(
        args: NodeResourcesBalancedAllocationArgs, path: str, problems: Problems
    ) -> None:
        seen: set[str] = set()
        for index, spec in enumerate(args.resources):
            at = f"{path}.resources[{index}]"
            if spec.name in seen:
                problems.duplicate(f"{at}.name", spec.name)
            seen.add(spec.name)
            if spec.weight != 1:
                problems.invalid(f"{at}.weight", spec.weight, "must be 1")

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        """Skip pods that request none of the resources: they would all select the same node."""
        return None if any(self._requests(pod)) else SKIP

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """50 to 100: ``50 + (50 + evenness with the pod - evenness without it) / 2``."""
        wanted = self._requests(pod)
        requests = dict(zip((r.name for r in self._resources), wanted, strict=True))

        backed = self._backed.among(requests)

        def scores(table: NodeColumns) -> Int64Array:
            columns = amounts(
                self._resources,
                requests,
                table,
                nonzero=False,
                devices=self._backed.totals_on(table, backed),
            )
            without, with_pod = evenness(columns, len(table))
            score: Int64Array = 50 + (50 + with_pod - without) // 2
            return score

        if any(requests[name] for name in backed):
            return take(scores(nodes), rows)
        key = (NAME, self._resources, tuple(wanted))
        return take(nodes.memo(key, scores, depends="pods"), rows)

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """The used share of each resource with the pod and without it, and their evenness."""
        requests = dict(zip((r.name for r in self._resources), self._requests(pod), strict=True))
        devices = self._backed.totals_on(nodes, self._backed.among(requests))
        columns = amounts(self._resources, requests, nodes, nonzero=False, devices=devices)
        spread = deviations(columns, len(nodes))[:, 0]
        even = evenness(columns, len(nodes))[:, 0]
        return describe_balance(
            columns, (float(spread[0]), float(spread[1])), (int(even[0]), int(even[1]))
        )

    def _requests(self, pod: PodInfo) -> list[int]:
        return [pod.requests.get(resource.name, 0) for resource in self._resources]


def evenness(columns: Sequence[Amounts], rows: int) -> Int64Array:
    """``int((1 - standard deviation of the used shares) * 100)``, (2, rows) int64.

    First without the pod, then with it.
    """
    return ((1 - deviations(columns, rows)) * 100).astype(np.int64)


def deviations(columns: Sequence[Amounts], rows: int) -> _Float64Array:
    """The standard deviation of the used shares, (2, rows) float64: without and with the pod.

    A share is at most 1; a resource that a node does not have does not count there. The order of
    the float operations is upstream's, as the result is truncated.
    """
    deviation = np.zeros((2, rows))
    shares = [_shares(column) for column in columns]
    if len(columns) == 2 and all(column.allocatable.all() for column in columns):
        deviation = _half_difference(shares, ())
    elif len(columns) >= 2:
        present = [column.allocatable != 0 for column in columns]
        count = np.sum(present, axis=0)
        if len(columns) > 2:
            deviation = np.where(count > 2, _deviation(shares, present, count), 0.0)
        deviation = np.where(count == 2, _half_difference(shares, present), deviation)
    return deviation


def _shares(column: Amounts) -> _Float64Array:
    """(2, n) float64 in 0..1, without and with the pod; 0 where the capacity is 0."""
    requested = np.array([column.requested, column.requested + column.pod])
    if column.allocatable.all():
        return np.minimum(requested / column.allocatable, 1.0)
    share = np.minimum(requested / np.maximum(column.allocatable, 1), 1.0)
    share[:, column.allocatable == 0] = 0.0
    return share


def _deviation(
    shares: Sequence[_Float64Array], present: Sequence[NDArray[np.bool_]], count: Int64Array
) -> _Float64Array:
    """The standard deviation of the shares that count."""
    counted = np.maximum(count, 1)
    total = np.zeros(shares[0].shape)
    for share in shares:
        total += share
    mean = total / counted
    squares = np.zeros(shares[0].shape)
    for share, there in zip(shares, present, strict=True):
        squares += np.where(there, (share - mean) * (share - mean), 0.0)
    return np.sqrt(squares / counted)


def _half_difference(
    shares: Sequence[_Float64Array], present: Sequence[NDArray[np.bool_]]
) -> _Float64Array:
    """|a - b| / 2 where exactly two shares count: for two, the standard deviation."""
    if len(shares) == 2:
        return np.abs((shares[0] - shares[1]) / 2)
    first, second = np.zeros(shares[0].shape), np.zeros(shares[0].shape)
    seen = np.zeros(len(present[0]), dtype=np.int64)
    for share, there in zip(shares, present, strict=True):
        first = np.where(there & (seen == 0), share, first)
        second = np.where(there & (seen == 1), share, second)
        seen += there
    return np.abs((first - second) / 2)
