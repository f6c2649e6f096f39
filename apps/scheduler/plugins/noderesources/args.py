"""The arguments of NodeResourcesFit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from apps.scheduler.config.checks import check_label_name
from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.config.resource_args import (
    DEFAULT_RESOURCES,
    Resources,
    Shape,
    check_shape,
    check_weights,
    resources_with_defaults,
)

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
SCORING_STRATEGIES: Final = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedToCapacityRatioParam:
    shape: Shape = described(
        (), "Points of the score over utilization, by increasing utilization; linear in between."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringStrategy:
    """How NodeResourcesFit scores; `type` is one of SCORING_STRATEGIES.

    A strategy without a type is refused.
    `requested_to_capacity_ratio` is set exactly when the type is RequestedToCapacityRatio.
    """

    type: str = described(
        "",
        "LeastAllocated prefers nodes with few requests and spreads pods; MostAllocated packs "
        "them; RequestedToCapacityRatio scores by a shape.",
        choices=SCORING_STRATEGIES,
    )
    resources: Resources = described(DEFAULT_RESOURCES, "The resources that are scored.")
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = described(
        None, "For the type RequestedToCapacityRatio only."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResourcesFitArgs:
    """The `ignored…` lists apply to Filter only; a group is the part before the slash."""

    ignored_resources: tuple[str, ...] = described(
        (), "Extended resources that Filter does not check."
    )
    ignored_resource_groups: tuple[str, ...] = described(
        (), "Groups of such resources: example.com stands for all resources example.com/…"
    )
    scoring_strategy: ScoringStrategy = described(
        ScoringStrategy(type=LEAST_ALLOCATED), "How Score rates the requests on a node."
    )


def default_args(args: NodeResourcesFitArgs) -> NodeResourcesFitArgs:
    strategy = args.scoring_strategy
    resources = resources_with_defaults(strategy.resources)
    return replace(args, scoring_strategy=replace(strategy, resources=resources))


def check_args(args: NodeResourcesFitArgs, path: str, problems: Problems) -> None:
    for index, resource in enumerate(args.ignored_resources):
        check_label_name(resource, f"{path}.ignoredResources[{index}]", problems)
    for index, group in enumerate(args.ignored_resource_groups):
        at = f"{path}.ignoredResourceGroups[{index}]"
        if "/" in group:
            problems.invalid(at, group, "resource group name can't contain '/'")
        check_label_name(group, at, problems)
    _check_strategy(args.scoring_strategy, f"{path}.scoringStrategy", problems)


def ignore_resources(
    args: NodeResourcesFitArgs, resources: tuple[str, ...]
) -> NodeResourcesFitArgs:
    """Extenders manage these resources, which replace `ignoredResources`."""
    return replace(args, ignored_resources=resources)


def _check_strategy(strategy: ScoringStrategy, path: str, problems: Problems) -> None:
    if strategy.type not in SCORING_STRATEGIES:
        problems.unsupported(f"{path}.type", strategy.type, SCORING_STRATEGIES)
    check_weights(strategy.resources, f"{path}.resources", problems)
    ratio, ratio_path = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        if ratio is None:
            said = "must be specified when type is RequestedToCapacityRatio"
            problems.required(ratio_path, said)
        else:
            check_shape(ratio.shape, f"{ratio_path}.shape", problems)
    elif ratio is not None:
        problems.forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")
