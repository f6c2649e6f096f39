"""What absent and empty fields mean."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.config import API_VERSION, KIND, Configuration, default_configuration, load
from apps.scheduler.config.resource_args import ResourceSpec, UtilizationShapePoint
from apps.scheduler.config.types import (
    ClientConnection,
    Extender,
    ExtenderManagedResource,
    ExtenderTLSConfig,
    LeaderElection,
)
from apps.scheduler.objects import (
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    TopologySpreadConstraint,
)
from apps.scheduler.plugins.default_preemption import DefaultPreemptionArgs
from apps.scheduler.plugins.dynamicresources.args import DynamicResourcesArgs
from apps.scheduler.plugins.interpodaffinity.plugin import InterPodAffinityArgs
from apps.scheduler.plugins.nodeaffinity.args import NodeAffinityArgs
from apps.scheduler.plugins.noderesources.args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ScoringStrategy,
)
from apps.scheduler.plugins.noderesources.balanced_allocation import (
    NodeResourcesBalancedAllocationArgs,
)
from apps.scheduler.plugins.podtopologyspread.args import LIST_DEFAULTING, PodTopologySpreadArgs
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.plugins.volumebinding.plugin import VolumeBindingArgs

CPU = ResourceSpec(name="cpu", weight=1)
MEMORY = ResourceSpec(name="memory", weight=1)


def loaded(**body: Any) -> Configuration:
    return load({"apiVersion": API_VERSION, "kind": KIND, **body}, TABLE)


def args_of(plugin: str, **args: Any) -> Any:
    configuration = loaded(profiles=[{"pluginConfig": [{"name": plugin, "args": args}]}])
    return configuration.profiles[0].args[plugin]


def test_an_empty_configuration_has_upstreams_defaults() -> None:
    configuration = default_configuration(TABLE)
    [profile] = configuration.profiles
    assert profile.scheduler_name == "default-scheduler"
    assert profile.percentage_of_nodes_to_score is None
    assert configuration.percentage_of_nodes_to_score is None
    assert configuration.parallelism == 16
    assert configuration.pod_initial_backoff_seconds == 1
    assert configuration.pod_max_backoff_seconds == 10
    assert configuration.extenders == ()
    assert configuration.leader_election == LeaderElection(
        leader_elect=True,
        lease_duration=15.0,
        renew_deadline=10.0,
        retry_period=2.0,
        resource_lock="leases",
        resource_name="kube-scheduler",
        resource_namespace="kube-system",
    )
    assert configuration.client_connection == ClientConnection(
        content_type="application/vnd.kubernetes.protobuf", qps=50.0, burst=100
    )
    assert configuration.enable_profiling
    assert configuration.enable_contention_profiling
    assert not configuration.legacy


def test_every_plugin_with_arguments_gets_its_default_ones() -> None:
    [profile] = default_configuration(TABLE).profiles
    assert profile.args == {
        "DefaultPreemption": DefaultPreemptionArgs(
            min_candidate_nodes_percentage=10, min_candidate_nodes_absolute=100
        ),
        "DynamicResources": DynamicResourcesArgs(filter_timeout=10.0, binding_timeout=600.0),
        "InterPodAffinity": InterPodAffinityArgs(
            hard_pod_affinity_weight=1, ignore_preferred_terms_of_existing_pods=False
        ),
        "NodeAffinity": NodeAffinityArgs(added_affinity=None),
        "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs(
            resources=(CPU, MEMORY)
        ),
        "NodeResourcesFit": NodeResourcesFitArgs(
            scoring_strategy=ScoringStrategy(type="LeastAllocated", resources=(CPU, MEMORY))
        ),
        "PodTopologySpread": PodTopologySpreadArgs(defaulting_type="System"),
        "VolumeBinding": VolumeBindingArgs(bind_timeout_seconds=600, shape=None),
    }


def test_empty_values_count_as_absent_where_go_cannot_tell_them_apart() -> None:
    configuration = loaded(
        leaderElection={"resourceName": "", "leaseDuration": "0s", "leaderElect": False},
        clientConnection={"qps": 0, "burst": 0, "contentType": ""},
        extenders=[{"urlPrefix": "http://x", "httpTimeout": "0s"}],
    )
    assert configuration.leader_election == LeaderElection(leader_elect=False)
    assert configuration.client_connection == ClientConnection()
    assert configuration.extenders == (Extender(url_prefix="http://x", http_timeout=5.0),)


def test_null_counts_as_absent() -> None:
    configuration = loaded(
        parallelism=None, profiles=[{"schedulerName": None, "plugins": {"score": None}}]
    )
    assert configuration == default_configuration(TABLE)


@pytest.mark.parametrize(
    ("given", "profiling", "contention"),
    [
        ({}, True, True),
        ({"enableProfiling": False}, False, False),
        ({"enableContentionProfiling": False}, True, False),
        ({"enableProfiling": False, "enableContentionProfiling": True}, False, True),
    ],
)
def test_contention_profiling_follows_profiling(
    given: dict[str, Any], profiling: bool, contention: bool
) -> None:
    configuration = loaded(**given)
    assert configuration.enable_profiling is profiling
    assert configuration.enable_contention_profiling is contention


def test_the_arguments_given_reach_the_plugin_typed() -> None:
    assert args_of(
        "NodeResourcesFit",
        ignoredResources=["example.com/foo"],
        ignoredResourceGroups=["example.org"],
        scoringStrategy={
            "type": "RequestedToCapacityRatio",
            "resources": [{"name": "intel.com/foo", "weight": 3}, {"name": "cpu"}],
            "requestedToCapacityRatio": {
                "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
            },
        },
    ) == NodeResourcesFitArgs(
        ignored_resources=("example.com/foo",),
        ignored_resource_groups=("example.org",),
        scoring_strategy=ScoringStrategy(
            type="RequestedToCapacityRatio",
            resources=(ResourceSpec(name="intel.com/foo", weight=3), CPU),
            requested_to_capacity_ratio=RequestedToCapacityRatioParam(
                shape=(
                    UtilizationShapePoint(utilization=0, score=0),
                    UtilizationShapePoint(utilization=100, score=10),
                )
            ),
        ),
    )


def test_a_strategy_without_resources_scores_cpu_and_memory() -> None:
    args = args_of("NodeResourcesFit", scoringStrategy={"type": "MostAllocated", "resources": []})
    assert args.scoring_strategy == ScoringStrategy(type="MostAllocated", resources=(CPU, MEMORY))


def test_a_resource_of_weight_zero_weighs_one() -> None:
    args = args_of("NodeResourcesBalancedAllocation", resources=[{"name": "cpu", "weight": 0}])
    assert args == NodeResourcesBalancedAllocationArgs(resources=(CPU,))


def test_added_affinity_is_what_pods_have() -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert args_of("NodeAffinity", addedAffinity=required).added_affinity == NodeAffinity(
        required_during_scheduling_ignored_during_execution=NodeSelector(
            node_selector_terms=(
                NodeSelectorTerm(
                    match_expressions=(
                        NodeSelectorRequirement(key="disk", operator="In", values=("ssd",)),
                    )
                ),
            )
        )
    )


def test_default_constraints_are_what_pods_have() -> None:
    constraint = {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}
    assert args_of(
        "PodTopologySpread", defaultingType="List", defaultConstraints=[constraint]
    ) == PodTopologySpreadArgs(
        defaulting_type=LIST_DEFAULTING,
        default_constraints=(
            TopologySpreadConstraint(
                max_skew=2, topology_key="rack", when_unsatisfiable="ScheduleAnyway"
            ),
        ),
    )


def test_plugin_config_without_arguments_means_the_default_ones() -> None:
    configuration = loaded(profiles=[{"pluginConfig": [{"name": "VolumeBinding"}]}])
    assert configuration.profiles[0].args["VolumeBinding"] == VolumeBindingArgs()


def test_arguments_of_a_plugin_that_is_not_in_use_are_not_handed_on() -> None:
    configuration = loaded(
        profiles=[
            {
                "plugins": {"multiPoint": {"disabled": [{"name": "InterPodAffinity"}]}},
                "pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 0}}],
            }
        ]
    )
    [profile] = configuration.profiles
    assert "InterPodAffinity" not in profile.args
    assert profile.args["VolumeBinding"].bind_timeout_seconds == 0


def test_an_extender_is_typed_and_the_ignorable_ones_come_last() -> None:
    configuration = loaded(
        extenders=[
            {"urlPrefix": "http://may-fail", "ignorable": True, "filterVerb": "filter"},
            {
                "urlPrefix": "https://must-work",
                "enableHTTPS": True,
                "httpTimeout": "1m",
                "prioritizeVerb": "prioritize",
                "weight": 7,
                "tlsConfig": {"insecure": True, "caData": "Zm9v"},
                "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
            },
        ]
    )
    assert configuration.extenders == (
        Extender(
            url_prefix="https://must-work",
            enable_https=True,
            http_timeout=60.0,
            prioritize_verb="prioritize",
            weight=7,
            tls_config=ExtenderTLSConfig(insecure=True, ca_data=b"foo"),
            managed_resources=(
                ExtenderManagedResource(name="example.com/gpu", ignored_by_scheduler=True),
            ),
        ),
        Extender(url_prefix="http://may-fail", ignorable=True, filter_verb="filter"),
    )
    fit = configuration.profiles[0].args["NodeResourcesFit"]
    assert fit.ignored_resources == ("example.com/gpu",)


def test_profiles_are_found_by_the_name_pods_give() -> None:
    configuration = loaded(profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}])
    found = configuration.profile("b")
    assert found is configuration.profiles[1]
    assert configuration.profile("default-scheduler") is None
