"""What each plugin demands of its arguments."""

from __future__ import annotations

from typing import Any, Final

from apps.scheduler.config.args import (
    LIST_DEFAULTING,
    MAX_CUSTOM_PRIORITY_SCORE,
    REQUESTED_TO_CAPACITY_RATIO,
    SCORING_STRATEGIES,
    SYSTEM_DEFAULTING,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from apps.scheduler.config.errors import Problems
from apps.scheduler.config.legacy import (
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
)
from apps.scheduler.config.validation_affinity import validate_node_affinity
from apps.scheduler.labels.validity import qualified_name_faults
from apps.scheduler.objects import TopologySpreadConstraint

_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")


def validate_args(args: Any, path: str, problems: Problems) -> None:
    """Checks the arguments of an in-tree plugin; `path` is where they stand."""
    match args:
        case DefaultPreemptionArgs():
            _check_default_preemption(args, path, problems)
        case DynamicResourcesArgs():
            _check_dynamic_resources(args, path, problems)
        case InterPodAffinityArgs(hard_pod_affinity_weight=weight):
            _check_range(weight, 0, 100, f"{path}.hardPodAffinityWeight", problems)
        case NodeAffinityArgs(added_affinity=affinity) if affinity is not None:
            validate_node_affinity(affinity, f"{path}.addedAffinity", problems)
        case NodeResourcesBalancedAllocationArgs(resources=resources):
            _check_balanced_resources(resources, f"{path}.resources", problems)
        case NodeResourcesFitArgs():
            _check_fit(args, path, problems)
        case PodTopologySpreadArgs():
            _check_topology_spread(args, path, problems)
        case VolumeBindingArgs():
            _check_volume_binding(args, path, problems)
        case NodeResourcesLeastAllocatedArgs() | NodeResourcesMostAllocatedArgs():
            _check_weights(args.resources, f"{path}.resources", problems)
        case RequestedToCapacityRatioArgs(shape=shape, resources=resources):
            _check_shape(shape, f"{path}.shape", problems)
            _check_weights(resources, f"{path}.resources", problems)


def _check_range(value: int, low: int, high: int, path: str, problems: Problems) -> None:
    if not low <= value <= high:
        problems.invalid(path, value, f"not in valid range [{low}, {high}]")


def _check_default_preemption(args: DefaultPreemptionArgs, path: str, problems: Problems) -> None:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path = f"{path}.minCandidateNodesPercentage"
    absolute_path = f"{path}.minCandidateNodesAbsolute"
    _check_range(percentage, 0, 100, percentage_path, problems)
    if absolute < 0:
        problems.invalid(absolute_path, absolute, "not in valid range [0, inf)")
    if percentage == absolute == 0:
        both = "cannot be zero at the same time as"
        problems.invalid(percentage_path, 0, f"{both} minCandidateNodesAbsolute")
        problems.invalid(absolute_path, 0, f"{both} minCandidateNodesPercentage")


def _check_dynamic_resources(args: DynamicResourcesArgs, path: str, problems: Problems) -> None:
    if args.filter_timeout < 0:
        problems.invalid(
            f"{path}.filterTimeout", f"{args.filter_timeout:g}s", "must be zero or positive"
        )
    if args.binding_timeout < 1:
        problems.invalid(
            f"{path}.bindingTimeout", f"{args.binding_timeout:g}s", "must be at least 1 second"
        )


def _check_balanced_resources(
    resources: tuple[ResourceSpec, ...], path: str, problems: Problems
) -> None:
    seen: set[str] = set()
    for index, spec in enumerate(resources):
        if spec.name in seen:
            problems.duplicate(f"{path}[{index}].name", spec.name)
        seen.add(spec.name)
        if spec.weight != 1:
            problems.invalid(f"{path}[{index}].weight", spec.weight, "must be 1")


def _check_fit(args: NodeResourcesFitArgs, path: str, problems: Problems) -> None:
    for index, resource in enumerate(args.ignored_resources):
        _check_label_name(resource, f"{path}.ignoredResources[{index}]", problems)
    for index, group in enumerate(args.ignored_resource_groups):
        at = f"{path}.ignoredResourceGroups[{index}]"
        if "/" in group:
            problems.invalid(at, group, "resource group name can't contain '/'")
        _check_label_name(group, at, problems)
    _check_strategy(args.scoring_strategy, f"{path}.scoringStrategy", problems)


def _check_label_name(name: str, path: str, problems: Problems) -> None:
    for fault in qualified_name_faults(name):
        problems.invalid(path, name, fault)


def _check_strategy(strategy: ScoringStrategy, path: str, problems: Problems) -> None:
    if strategy.type not in SCORING_STRATEGIES:
        problems.unsupported(f"{path}.type", strategy.type, SCORING_STRATEGIES)
    _check_weights(strategy.resources, f"{path}.resources", problems)
    ratio, ratio_path = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        if ratio is None:
            said = "must be specified when type is RequestedToCapacityRatio"
            problems.required(ratio_path, said)
        else:
            _check_shape(ratio.shape, f"{ratio_path}.shape", problems)
    elif ratio is not None:
        problems.forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio")


def _check_weights(resources: tuple[ResourceSpec, ...], path: str, problems: Problems) -> None:
    for index, spec in enumerate(resources):
        if not 0 < spec.weight <= 100:
            problems.invalid(
                f"{path}[{index}].weight",
                spec.weight,
                f"resource weight of {spec.name} not in valid range (0, 100]",
            )


def _check_shape(shape: tuple[UtilizationShapePoint, ...], path: str, problems: Problems) -> None:
    if not shape:
        problems.required(path, "at least one point must be specified")
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            problems.invalid(
                f"{path}[{index}].utilization",
                shape[index].utilization,
                "values must be sorted in increasing order",
            )
            break
    for index, point in enumerate(shape):
        _check_range(point.utilization, 0, 100, f"{path}[{index}].utilization", problems)
        _check_range(point.score, 0, MAX_CUSTOM_PRIORITY_SCORE, f"{path}[{index}].score", problems)


def _check_topology_spread(args: PodTopologySpreadArgs, path: str, problems: Problems) -> None:
    constraints, kind = args.default_constraints, args.defaulting_type
    kind_path = f"{path}.defaultingType"
    if kind not in (SYSTEM_DEFAULTING, LIST_DEFAULTING):
        problems.unsupported(kind_path, kind, (SYSTEM_DEFAULTING, LIST_DEFAULTING))
    if kind == SYSTEM_DEFAULTING and constraints:
        problems.invalid(kind_path, kind, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        at = f"{path}.defaultConstraints[{index}]"
        _check_constraint(constraint, at, problems)
        key = (constraint.topology_key, constraint.when_unsatisfiable)
        if key in seen:
            problems.duplicate(at, "{" + ", ".join(key) + "}")
        seen.add(key)


def _check_constraint(constraint: TopologySpreadConstraint, path: str, problems: Problems) -> None:
    if constraint.max_skew <= 0:
        problems.invalid(f"{path}.maxSkew", constraint.max_skew, "not in valid range (0, inf)")
    if constraint.topology_key:
        _check_label_name(constraint.topology_key, f"{path}.topologyKey", problems)
    else:
        problems.required(f"{path}.topologyKey", "can not be empty")
    action = constraint.when_unsatisfiable
    if not action:
        problems.required(f"{path}.whenUnsatisfiable", "can not be empty")
    elif action not in _ACTIONS:
        problems.unsupported(f"{path}.whenUnsatisfiable", action, _ACTIONS)
    if constraint.label_selector is not None:
        said = "constraint must not define a selector, as they deduced for each pod"
        problems.forbidden(f"{path}.labelSelector", said)


def _check_volume_binding(args: VolumeBindingArgs, path: str, problems: Problems) -> None:
    if args.bind_timeout_seconds < 0:
        problems.invalid(
            f"{path}.bindTimeoutSeconds",
            args.bind_timeout_seconds,
            "invalid BindTimeoutSeconds, should not be a negative value",
        )
    if args.shape is not None:
        problems.invalid(
            f"{path}.shape",
            [{"utilization": point.utilization, "score": point.score} for point in args.shape],
            "unexpected field `shape`, remove it or turn on the feature gate "
            "StorageCapacityScoring",
        )
