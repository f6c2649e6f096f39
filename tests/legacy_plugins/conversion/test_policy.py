"""Policy v1, as the documentation of Kubernetes up to 1.22 shows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apps.scheduler.config import ConfigError, Configuration, load
from apps.scheduler.config.conversion import Conversion
from apps.scheduler.config.resource_args import ResourceSpec, UtilizationShapePoint
from apps.scheduler.config.types import Extender, ExtenderManagedResource, ExtenderTLSConfig
from legacy_plugins.conversion import convert
from legacy_plugins.conversion.conversion import DIFFERENCES
from legacy_plugins.resource_allocation import RequestedToCapacityRatioArgs
from tests.legacy_plugins.policies import TABLE

#: The example of the scheduler's documentation, with its extender.
EXAMPLE = """
{
"kind" : "Policy",
"apiVersion" : "v1",
"predicates" : [
    {"name" : "PodFitsHostPorts"},
    {"name" : "PodFitsResources"},
    {"name" : "NoDiskConflict"},
    {"name" : "NoVolumeZoneConflict"},
    {"name" : "MatchNodeSelector"},
    {"name" : "HostName"}
    ],
"priorities" : [
    {"name" : "LeastRequestedPriority", "weight" : 1},
    {"name" : "BalancedResourceAllocation", "weight" : 1},
    {"name" : "ServiceSpreadingPriority", "weight" : 1},
    {"name" : "EqualPriority", "weight" : 1}
    ],
"extenders" : [
    {
        "urlPrefix": "http://127.0.0.1:12346/scheduler",
        "apiVersion": "v1beta1",
        "filterVerb": "filter",
        "bindVerb": "bind",
        "prioritizeVerb": "prioritize",
        "weight": 5,
        "enableHttps": false,
        "nodeCacheCapable": false
    }
    ]
}
"""


def policy(**fields: Any) -> Conversion:
    return convert({"kind": "Policy", "apiVersion": "v1", **fields}, TABLE)


def loaded(conversion: Conversion) -> Configuration:
    return load(conversion.configuration, TABLE, legacy=conversion.legacy)


def plugins(conversion: Conversion) -> dict[str, list[Any]]:
    [profile] = loaded(conversion).profiles
    return {point: names for point, names in profile.extension_points().items() if names}


def test_the_documented_example_becomes_a_legacy_profile() -> None:
    conversion = convert(EXAMPLE, TABLE)
    assert conversion.legacy
    assert plugins(conversion) == {
        "preEnqueue": ["SchedulingGates"],
        "queueSort": ["PrioritySort"],
        "preFilter": [
            "NodePorts",
            "NodeAffinity",
            "NodeResourcesFit",
            "VolumeRestrictions",
            "VolumeZone",
        ],
        "filter": [
            "NodeUnschedulable",
            "NodeName",
            "NodePorts",
            "NodeAffinity",
            "NodeResourcesFit",
            "VolumeRestrictions",
            "TaintToleration",
            "VolumeZone",
        ],
        "postFilter": ["DefaultPreemption"],
        "preScore": ["SelectorSpread"],
        "score": [
            ["NodeResourcesLeastAllocated", 1],
            ["NodeResourcesBalancedAllocationLegacy", 1],
            ["SelectorSpread", 1],
        ],
        "bind": ["DefaultBinder"],
    }
    assert loaded(conversion).extenders == (
        Extender(
            url_prefix="http://127.0.0.1:12346/scheduler",
            filter_verb="filter",
            bind_verb="bind",
            prioritize_verb="prioritize",
            weight=5,
        ),
    )


def test_what_the_example_says_and_v1_cannot_say_is_noted() -> None:
    assert convert(EXAMPLE, TABLE).notes == (
        "extenders[0].apiVersion does not exist in v1 and is left out",
        "priority EqualPriority scores all nodes equally and is left out",
        "featureGates.SchedulerPopFromBackoffQ is false: before 1.33 a pod always completed its "
        "backoff",
        *DIFFERENCES,
        "these plugins of earlier releases are kept: NodeResourcesBalancedAllocationLegacy, "
        "NodeResourcesLeastAllocated, SelectorSpread",
    )


def test_a_converted_profile_loads_as_a_legacy_one_only() -> None:
    with pytest.raises(ConfigError) as refusal:
        load(convert(EXAMPLE, TABLE).configuration, TABLE)
    assert {cause.field for cause in refusal.value.causes} == {
        "profiles[0].plugins.preScore.enabled[0]",
        "profiles[0].plugins.score.enabled[0]",
        "profiles[0].plugins.score.enabled[1]",
        "profiles[0].plugins.score.enabled[2]",
    }


def test_bin_packing_of_extended_resources_keeps_its_shape() -> None:
    arguments = {
        "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
        "resources": [{"name": "intel.com/foo", "weight": 3}, {"name": "intel.com/bar"}],
    }
    conversion = policy(
        priorities=[
            {
                "name": "RequestedToCapacityRatioPriority",
                "weight": 2,
                "argument": {"requestedToCapacityRatioArguments": arguments},
            }
        ]
    )
    [profile] = loaded(conversion).profiles
    assert profile.extension_points()["score"] == [["RequestedToCapacityRatio", 2]]
    assert profile.args["RequestedToCapacityRatio"] == RequestedToCapacityRatioArgs(
        shape=(
            UtilizationShapePoint(utilization=0, score=0),
            UtilizationShapePoint(utilization=100, score=10),
        ),
        resources=(
            ResourceSpec(name="intel.com/foo", weight=3),
            ResourceSpec(name="intel.com/bar", weight=1),
        ),
    )


def test_without_predicates_and_priorities_the_defaults_of_that_time_apply() -> None:
    found = plugins(policy())
    assert found["filter"] == [
        "NodeUnschedulable",
        "NodeResourcesFit",
        "NodeName",
        "NodePorts",
        "NodeAffinity",
        "VolumeRestrictions",
        "TaintToleration",
        "EBSLimits",
        "GCEPDLimits",
        "NodeVolumeLimits",
        "AzureDiskLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    ]
    assert found["score"] == [
        ["SelectorSpread", 1],
        ["InterPodAffinity", 1],
        ["NodeResourcesLeastAllocated", 1],
        ["NodeResourcesBalancedAllocationLegacy", 1],
        ["NodePreferAvoidPods", 10000],
        ["NodeAffinity", 1],
        ["TaintToleration", 1],
        ["ImageLocality", 1],
        ["PodTopologySpread", 2],
    ]
    assert found["reserve"] == found["preBind"] == ["VolumeBinding"]


def test_empty_lists_leave_the_mandatory_predicates_alone() -> None:
    found = plugins(policy(predicates=[], priorities=[]))
    assert found["filter"] == ["NodeUnschedulable", "TaintToleration"]
    assert "score" not in found


def test_the_default_constraints_of_later_releases_stay_off() -> None:
    [profile] = loaded(policy()).profiles
    assert profile.args["PodTopologySpread"].defaulting_type == "List"


@pytest.mark.parametrize(
    ("name", "plugin"),
    [
        ("PodFitsPorts", "NodePorts"),
        ("NoVolumeNodeConflict", "VolumeBinding"),
        ("MaxCinderVolumeCount", "CinderLimits"),
        ("EvenPodsSpread", "PodTopologySpread"),
        ("MatchInterPodAffinity", "InterPodAffinity"),
    ],
)
def test_predicates_are_found_under_earlier_names_too(name: str, plugin: str) -> None:
    assert plugin in plugins(policy(predicates=[{"name": name}]))["filter"]


def test_the_last_weight_of_a_priority_counts() -> None:
    priorities = [
        {"name": "ServiceSpreadingPriority", "weight": 3},
        {"name": "SelectorSpreadPriority", "weight": 5},
    ]
    assert plugins(policy(priorities=priorities))["score"] == [["SelectorSpread", 5]]


def test_labels_presence_becomes_the_plugin_of_its_time() -> None:
    presence = {"labels": ["zone", "rack"], "presence": True}
    absence = {"labels": ["retiring"], "presence": False}
    conversion = policy(
        predicates=[
            {"name": "Placed", "argument": {"labelsPresence": presence}},
            {"name": "NotRetiring", "argument": {"labelsPresence": absence}},
        ]
    )
    args = loaded(conversion).profiles[0].args["NodeLabel"]
    assert (args.present_labels, args.absent_labels) == (("zone", "rack"), ("retiring",))
    assert plugins(conversion)["filter"] == ["NodeUnschedulable", "TaintToleration", "NodeLabel"]


def scoring_by_label(name: str, weight: int, **argument: Any) -> dict[str, Any]:
    return {"name": name, "weight": weight, "argument": argument}


def test_priorities_by_label_share_a_plugin_whose_weight_is_their_sum() -> None:
    conversion = policy(
        predicates=[{"name": "S", "argument": {"serviceAffinity": {"labels": ["region"]}}}],
        priorities=[
            scoring_by_label("A", 2, serviceAntiAffinity={"label": "zone"}),
            scoring_by_label("B", 2, serviceAntiAffinity={"label": "rack"}),
            scoring_by_label("L", 1, labelPreference={"label": "ssd", "presence": True}),
            scoring_by_label("M", 1, labelPreference={"label": "old", "presence": False}),
        ],
    )
    [profile] = loaded(conversion).profiles
    assert plugins(conversion)["score"] == [["ServiceAffinity", 4], ["NodeLabel", 2]]
    services, labels = profile.args["ServiceAffinity"], profile.args["NodeLabel"]
    assert services.affinity_labels == ("region",)
    assert services.anti_affinity_labels_preference == ("zone", "rack")
    assert labels.present_labels_preference == ("ssd",)
    assert labels.absent_labels_preference == ("old",)


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"predicates": [{"name": "Mine"}]}, "predicate Mine is unknown and is left out"),
        (
            {"predicates": [{"name": "CheckNodeDiskPressure"}]},
            "predicate CheckNodeDiskPressure: node conditions are now taints, which "
            "TaintToleration checks",
        ),
        (
            {"priorities": [{"name": "ResourceLimitsPriority", "weight": 1}]},
            "priority ResourceLimitsPriority is unknown and is left out",
        ),
        (
            {"alwaysCheckAllPredicates": True},
            "alwaysCheckAllPredicates is left out: only the first refusal of each node is reported",
        ),
        (
            {"predicates": [], "priorities": [], "hardPodAffinitySymmetricWeight": 10},
            "hardPodAffinitySymmetricWeight is left out: no enabled plugin uses pod affinity",
        ),
        ({"other": 1}, "other does not exist in v1 and is left out"),
    ],
)
def test_what_cannot_be_translated_is_said_aloud(fields: dict[str, Any], note: str) -> None:
    assert note in policy(**fields).notes


def test_the_symmetric_weight_becomes_an_argument_of_inter_pod_affinity() -> None:
    [profile] = loaded(policy(hardPodAffinitySymmetricWeight=10)).profiles
    assert profile.args["InterPodAffinity"].hard_pod_affinity_weight == 10


def test_extenders_are_respelt_and_their_field_names_fold_case() -> None:
    conversion = policy(
        extenders=[
            {
                "UrlPrefix": "https://prio",
                "PrioritizeVerb": "prioritize",
                "Weight": 1,
                "EnableHttps": True,
                "TLSConfig": {"Insecure": True, "caFile": "/ca"},
                "HttpTimeout": 100_000_000,
                "ManagedResources": [{"Name": "example.com/gpu", "IgnoredByScheduler": True}],
                "Ignorable": True,
            }
        ]
    )
    assert loaded(conversion).extenders == (
        Extender(
            url_prefix="https://prio",
            prioritize_verb="prioritize",
            weight=1,
            enable_https=True,
            tls_config=ExtenderTLSConfig(insecure=True, ca_file="/ca"),
            http_timeout=0.1,
            managed_resources=(
                ExtenderManagedResource(name="example.com/gpu", ignored_by_scheduler=True),
            ),
            ignorable=True,
        ),
    )


def test_a_policy_is_taken_out_of_its_config_map() -> None:
    config_map = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"policy.cfg": EXAMPLE}}
    assert convert(json.dumps(config_map), TABLE) == convert(EXAMPLE, TABLE)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"priorities": [{"name": "ImageLocalityPriority"}]}, "priorities[0].weight"),
        ({"priorities": [{"name": "X", "weight": -1}]}, "priorities[0].weight"),
        ({"predicates": {"name": "HostName"}}, "predicates"),
        ({"predicates": ["HostName"]}, "predicates[0]"),
        ({"extenders": [{"weight": "1"}]}, "extenders[0].weight"),
        ({"extenders": [{"bindVerb": "b"}, {"bindVerb": "b"}]}, "extenders"),
    ],
)
def test_what_no_scheduler_would_have_taken_is_refused(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        policy(**fields)
    assert refusal.value.causes[0].field == field
