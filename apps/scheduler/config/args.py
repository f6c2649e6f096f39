"""The typed arguments of the in-tree plugins; every default is the one of kube-scheduler 1.36."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from apps.scheduler.config.fields import Duration
from apps.scheduler.objects import NodeAffinity, TopologySpreadConstraint
from apps.scheduler.objects.meta import Int32, Int64
from apps.scheduler.plugins import names

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"
SCORING_STRATEGIES: Final = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)

SYSTEM_DEFAULTING: Final = "System"
LIST_DEFAULTING: Final = "List"

#: The highest score a shape point may give (scaled to 0–100 when scoring).
MAX_CUSTOM_PRIORITY_SCORE: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """A resource that takes part in scoring, and its share; 1 ≤ weight ≤ 100."""

    name: str = ""
    weight: Int64 = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilizationShapePoint:
    """At `utilization` percent (0–100) the score is `score` (0–10); linear in between."""

    utilization: Int32 = 0
    score: Int32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedToCapacityRatioParam:
    shape: tuple[UtilizationShapePoint, ...] = ()


DEFAULT_RESOURCES: Final = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringStrategy:
    """How NodeResourcesFit scores; `type` is one of SCORING_STRATEGIES.

    `requested_to_capacity_ratio` is set exactly when the type is RequestedToCapacityRatio.
    """

    type: str = LEAST_ALLOCATED
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultPreemptionArgs:
    #: Percent of the nodes, 0–100.
    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicResourcesArgs:
    #: Seconds; 0 = no limit.
    filter_timeout: Duration = 10.0
    #: Seconds, at least 1.
    binding_timeout: Duration = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InterPodAffinityArgs:
    #: 0–100: what a required affinity term of a running pod counts when scoring.
    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAffinityArgs:
    """`added_affinity` holds for every pod of the profile, besides the pod's own affinity."""

    added_affinity: NodeAffinity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResourcesBalancedAllocationArgs:
    #: All weights are 1.
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResourcesFitArgs:
    """The two `ignored…` lists concern Filter only; a group is what precedes the slash."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTopologySpreadArgs:
    """`default_constraints` hold for pods without constraints of their own.

    They carry no label selector: it follows from the pod's owners. With `defaulting_type` System
    the list is empty and upstream's two soft constraints (hostname, zone) apply.
    """

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = SYSTEM_DEFAULTING


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeBindingArgs:
    #: Seconds to wait for the volumes to be bound; 0 = do not wait.
    bind_timeout_seconds: Int64 = 600
    #: None: scoring by storage capacity is behind a feature gate that is off in 1.36.
    shape: tuple[UtilizationShapePoint, ...] | None = None


PluginArgs = (
    DefaultPreemptionArgs
    | DynamicResourcesArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | NodeResourcesBalancedAllocationArgs
    | NodeResourcesFitArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
)

#: plugin → the type of its arguments; a plugin that is not listed takes none
PLUGIN_ARGS: Final[dict[str, type[PluginArgs]]] = {
    names.DEFAULT_PREEMPTION: DefaultPreemptionArgs,
    names.DYNAMIC_RESOURCES: DynamicResourcesArgs,
    names.INTER_POD_AFFINITY: InterPodAffinityArgs,
    names.NODE_AFFINITY: NodeAffinityArgs,
    names.NODE_RESOURCES_BALANCED_ALLOCATION: NodeResourcesBalancedAllocationArgs,
    names.NODE_RESOURCES_FIT: NodeResourcesFitArgs,
    names.POD_TOPOLOGY_SPREAD: PodTopologySpreadArgs,
    names.VOLUME_BINDING: VolumeBindingArgs,
}
