"""Scorers by resource usage, as they were before NodeResourcesFit replaced them.

Each counts the requests on the node including the pod, with defaults for containers without a
request. A resource that a node does not have counts as used up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.config.resource_args import (
    DEFAULT_RESOURCES,
    Resources,
    ResourceSpec,
    Shape,
    check_shape,
    check_weights,
    resources_with_defaults,
)
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.node_columns import CPU, MEMORY, Int64Array, NodeColumns, take
from apps.scheduler.framework.resources import CPU as CPU_NAME
from apps.scheduler.framework.resources import MEMORY as MEMORY_NAME
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.helper.normalize import raw_range
from apps.scheduler.plugins.helper.shapes import broken_line
from apps.scheduler.plugins.noderesources.amounts import percent
from legacy_plugins.in_tree_limits import ATTACHMENT_LIMITS, InTreeLimits
from legacy_plugins.score_details import (
    ScoredUse,
    describe_difference,
    describe_mean,
    describe_variance,
)

#: the highest score in a Policy
MAX_PRIORITY: Final = 10

#: (requested with the pod, allocatable) of one resource, (n,) int64 each
Use = tuple[Int64Array, Int64Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedArgs:
    """The arguments of NodeResourcesLeastAllocated and NodeResourcesMostAllocated."""

    resources: Resources = described(DEFAULT_RESOURCES, "The resources that are scored.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedToCapacityRatioArgs:
    """At least one point; the points' scores are 0–10, as in the shapes of NodeResourcesFit."""

    shape: Shape = described(
        (), "Points of the score over utilization, by increasing utilization; linear in between."
    )
    resources: Resources = described(DEFAULT_RESOURCES, "The resources that are scored.")


Args = TypeVar("Args", AllocatedArgs, RequestedToCapacityRatioArgs)


def default_args(args: Args) -> Args:
    return replace(args, resources=resources_with_defaults(args.resources))


class _ByResources(ABC):
    """A scorer that depends only on the usage of some resources."""

    name: str
    is_legacy = True

    def __init__(self, resources: Sequence[ResourceSpec]) -> None:
        self._resources = tuple(resources)

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        wanted = self._wanted(pod)

        def scores(table: NodeColumns) -> Int64Array:
            return self._scores(self._uses(wanted, table))

        return take(nodes.memo((self, wanted), scores, depends="pods"), rows)

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """The usage and the score of each resource, and the result."""
        uses = self._uses(self._wanted(pod), nodes)
        scored = [
            ScoredUse(
                resource.name,
                resource.weight,
                used=int(use[0][0]),
                allocatable=int(use[1][0]),
                score=int(self._score_one(use)[0]),
            )
            for resource, use in zip(self._resources, uses, strict=True)
        ]
        return self._describe(scored, int(self._scores(uses)[0]))

    def _wanted(self, pod: PodInfo) -> tuple[int, ...]:
        requests = pod.fit_scoring_requests
        return tuple(requests.get(resource.name, 0) for resource in self._resources)

    def _uses(self, wanted: Sequence[int], nodes: NodeColumns) -> list[Use]:
        return [
            _use(resource.name, amount, nodes)
            for resource, amount in zip(self._resources, wanted, strict=True)
        ]

    def _score_one(self, use: Use) -> Int64Array:
        """(n,) int64, the score by one resource alone."""
        return np.zeros(len(use[0]), dtype=np.int64)

    def _describe(self, uses: Sequence[ScoredUse], result: int) -> Iterator[Detail]:
        return describe_mean(uses, result, ratio=False)

    @abstractmethod
    def _scores(self, uses: Sequence[Use]) -> Int64Array:
        """(n,) int64, from the usage of each resource in order."""

    def _mean(self, scores: Sequence[Int64Array]) -> Int64Array:
        """The mean by the resources' weights, rounded down."""
        weights = [resource.weight for resource in self._resources]
        total = sum(score * weight for score, weight in zip(scores, weights, strict=True))
        return np.asarray(total, dtype=np.int64) // sum(weights)


class _ByAllocation(_ByResources):
    args_type = AllocatedArgs
    default_args = staticmethod(default_args)

    def __init__(self, args: AllocatedArgs | None, handle: Handle) -> None:
        super().__init__(args.resources if args is not None else DEFAULT_RESOURCES)

    @staticmethod
    def check_args(args: AllocatedArgs, path: str, problems: Problems) -> None:
        check_weights(args.resources, f"{path}.resources", problems)

    def _scores(self, uses: Sequence[Use]) -> Int64Array:
        return self._mean([self._score_one(use) for use in uses])


class NodeResourcesLeastAllocated(_ByAllocation):
    """The weighted mean of the free shares; a resource over capacity scores 0."""

    name = "NodeResourcesLeastAllocated"

    def _score_one(self, use: Use) -> Int64Array:
        used, capacity = use
        return _share(capacity - used, used, capacity)


class NodeResourcesMostAllocated(_ByAllocation):
    """The weighted mean of the used shares; a resource over capacity scores 0."""

    name = "NodeResourcesMostAllocated"

    def _score_one(self, use: Use) -> Int64Array:
        used, capacity = use
        return _share(used, used, capacity)


class RequestedToCapacityRatio(_ByResources):
    """Utilization mapped by a piecewise linear function to a score of 0 to 10, as in a Policy.

    The rounded weighted mean is over resources that do not score 0. It is normalized to 0..100.
    """

    name = "RequestedToCapacityRatio"
    args_type = RequestedToCapacityRatioArgs
    default_args = staticmethod(default_args)

    def __init__(self, args: RequestedToCapacityRatioArgs | None, handle: Handle) -> None:
        args = args or RequestedToCapacityRatioArgs()
        super().__init__(args.resources)
        points = [(point.utilization, point.score) for point in args.shape] or [(0, 0), (100, 10)]
        line = [broken_line(points, utilization) for utilization in range(101)]
        self._line = np.array(line, dtype=np.int64)

    @staticmethod
    def check_args(args: RequestedToCapacityRatioArgs, path: str, problems: Problems) -> None:
        check_shape(args.shape, f"{path}.shape", problems)
        check_weights(args.resources, f"{path}.resources", problems)

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Int64Array) -> Int64Array:
        return scores * (MAX_NODE_SCORE // MAX_PRIORITY)

    def explain_normalization(
        self, state: CycleState, pod: PodInfo, scores: Int64Array, place: int
    ) -> Iterator[Detail]:
        raw = int(scores[place])
        yield Detail(f"10 × {raw} = {10 * raw}", {**raw_range(scores, place), "score": 10 * raw})

    def _scores(self, uses: Sequence[Use]) -> Int64Array:
        total, weights = np.zeros((2, len(uses[0][0])), dtype=np.int64)
        for resource, (used, capacity) in zip(self._resources, uses, strict=True):
            scores = self._score_one((used, capacity))
            total += scores * resource.weight
            weights += np.where(scores > 0, resource.weight, 0)
        # math.Round: halves away from zero; nothing here is negative.
        return np.floor(total / np.maximum(weights, 1) + 0.5).astype(np.int64)

    def _score_one(self, use: Use) -> Int64Array:
        used, capacity = use
        return self._line[100 - _share(capacity - used, used, capacity)]

    def _describe(self, uses: Sequence[ScoredUse], result: int) -> Iterator[Detail]:
        return describe_mean(uses, result, ratio=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancedAllocationLegacyArgs:
    balance_attached_node_volumes: bool = described(
        False,
        "Balance volumes as well: the feature gate BalanceAttachedNodeVolumes of releases before "
        "1.22.",
    )


class NodeResourcesBalancedAllocationLegacy(_ByResources):
    """``(1 - |used share of CPU - used share of memory|) * 100``; 0 where either is used up.

    With volumes, the variance of three shares takes the place of the difference.
    """

    name = "NodeResourcesBalancedAllocationLegacy"
    args_type = BalancedAllocationLegacyArgs

    def __init__(self, args: BalancedAllocationLegacyArgs | None, handle: Handle) -> None:
        super().__init__((ResourceSpec(name=CPU_NAME), ResourceSpec(name=MEMORY_NAME)))
        self._limits: tuple[InTreeLimits, ...] = ()
        if args is not None and args.balance_attached_node_volumes:
            self._limits = tuple(limits(None, handle) for limits in ATTACHMENT_LIMITS)

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        limits = self._find_volumes(pod, nodes)
        if limits is None:
            return super().score(state, pod, nodes, rows)
        wanted, free = limits
        requests = pod.fit_scoring_requests
        cpu, memory = (
            _shares(_use(each.name, requests.get(each.name, 0), nodes)) for each in self._resources
        )
        volumes = np.where(free > 0, wanted / np.maximum(free, 1), 0.0)
        mean = (cpu + memory + volumes) / 3
        variance = ((cpu - mean) ** 2 + (memory - mean) ** 2 + (volumes - mean) ** 2) / 3
        even = np.where(free > 0, 1 - variance, 1 - np.abs(cpu - memory))
        scores = (even * MAX_NODE_SCORE).astype(np.int64)
        return np.where((cpu >= 1) | (memory >= 1) | (volumes >= 1), 0, scores)[rows]

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """The used shares, also that of volumes if they count, and how even they are."""
        volumes = self._find_volumes(pod, nodes)
        if volumes is None or volumes[1][0] <= 0:
            yield from super().explain_score(state, pod, nodes)
            return
        uses = [
            ScoredUse(each.name, each.weight, int(used[0]), int(capacity[0]), score=0)
            for each, (used, capacity) in zip(
                self._resources, self._uses(self._wanted(pod), nodes), strict=True
            )
        ]
        result = int(self.score(state, pod, nodes, np.zeros(1, dtype=np.int64))[0])
        yield from describe_variance(uses, int(volumes[0][0]), int(volumes[1][0]), result)

    def _find_volumes(
        self, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[Int64Array, Int64Array] | None:
        """(the pod's new volumes, how many more a node may have) by node; None if none count."""
        rooms = [each for limits in self._limits if (each := limits.room(pod, nodes)) is not None]
        # The filters ran one after the other, each replacing what the one before had noted.
        return rooms[-1] if rooms else None

    def _scores(self, uses: Sequence[Use]) -> Int64Array:
        cpu, memory = map(_shares, uses)
        even = ((1 - np.abs(cpu - memory)) * MAX_NODE_SCORE).astype(np.int64)
        return np.where((cpu >= 1) | (memory >= 1), 0, even)

    def _describe(self, uses: Sequence[ScoredUse], result: int) -> Iterator[Detail]:
        return describe_difference(uses, result)


def _shares(use: Use) -> NDArray[np.float64]:
    """(n,) float64: the used share; 1 where there is no capacity."""
    used, capacity = use
    return np.where(capacity > 0, used / np.maximum(capacity, 1), 1.0)


def _use(name: str, amount: int, nodes: NodeColumns) -> Use:
    resource_index = nodes.resource_index(name)
    if resource_index < 0:
        nothing = np.zeros(len(nodes), dtype=np.int64)
        return nothing, nothing
    requested = nodes.requested[resource_index]
    if name == CPU_NAME:
        requested = nodes.nonzero_requested[CPU]
    elif name == MEMORY_NAME:
        requested = nodes.nonzero_requested[MEMORY]
    return requested + amount, nodes.allocatable[resource_index]


def _share(part: Int64Array, used: Int64Array, capacity: Int64Array) -> Int64Array:
    """``part * 100 // capacity``; 0 where the capacity is 0 or exceeded."""
    there = (capacity > 0) & (used <= capacity)
    return np.where(there, percent(np.where(there, part, 0), np.maximum(capacity, 1)), 0)
