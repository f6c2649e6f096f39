"""Refused configurations: every fault at once, each with the path of its field."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.config import API_VERSION, KIND, ConfigError, load
from apps.scheduler.config.plugin_table import KnownPlugin
from apps.scheduler.plugins.registry import TABLE

TYPE = {"apiVersion": API_VERSION, "kind": KIND}


def causes(body: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ConfigError) as refusal:
        load({**TYPE, **body}, TABLE)
    return [tuple(cause) for cause in refusal.value.causes]


def fields(body: dict[str, Any]) -> list[str]:
    return [field for field, _ in causes(body)]


def with_args(plugin: str, **args: Any) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}]}


def with_plugins(**sets: Any) -> dict[str, Any]:
    return {"profiles": [{"plugins": sets}]}


def enabled(*names: str) -> dict[str, Any]:
    return {"enabled": [{"name": name} for name in names]}


ARGS = "profiles[0].pluginConfig[0].args"


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({"parallelism": "many"}, "parallelism", 'Invalid value: "many": must be an integer'),
        ({"parallelism": True}, "parallelism", "Invalid value: true: must be an integer"),
        (
            {"parallelism": 2**31},
            "parallelism",
            "Invalid value: 2147483648: must be between -2147483648 and 2147483647",
        ),
        ({"parallelism": 1.5}, "parallelism", "Invalid value: 1.5: must be an integer"),
        (
            {"clientConnection": {"qps": "fast"}},
            "clientConnection.qps",
            'Invalid value: "fast": must be a number',
        ),
        (
            {"leaderElection": {"leaseDuration": 15}},
            "leaderElection.leaseDuration",
            'Invalid value: 15: must be a duration such as "30s"',
        ),
        (
            {"leaderElection": {"retryPeriod": "2 s"}},
            "leaderElection.retryPeriod",
            'Invalid value: "2 s": invalid duration',
        ),
        ({"profiles": {}}, "profiles", "Invalid value: {}: must be a list"),
        ({"profiles": ["a"]}, "profiles[0]", 'Invalid value: "a": must be an object'),
        ({"Parallelism": 1}, "Parallelism", 'unknown field "Parallelism"'),
        (
            {"profiles": [{"plugins": {"score": {"enable": []}}}]},
            "profiles[0].plugins.score.enable",
            'unknown field "enable"',
        ),
        (
            with_plugins(score={"enabled": [{"name": "NodeAffinity", "weight": 2**31}]}),
            "profiles[0].plugins.score.enabled[0].weight",
            "Invalid value: 2147483648: must be between -2147483648 and 2147483647",
        ),
        (
            {"extenders": [{"tlsConfig": {"caData": "not base64!"}}]},
            "extenders[0].tlsConfig.caData",
            'Invalid value: "not base64!": must be a base64 string',
        ),
        (
            with_args("NodeAffinity", addedAffinity={"required": {}}),
            f"{ARGS}.addedAffinity.required",
            'unknown field "required"',
        ),
        (
            with_args("InterPodAffinity", kind="NodeAffinityArgs"),
            f"{ARGS}.kind",
            "args for plugin InterPodAffinity were not of type InterPodAffinityArgs, "
            "got NodeAffinityArgs",
        ),
        (
            with_args("InterPodAffinity", apiVersion="kubescheduler.config.k8s.io/v1beta2"),
            f"{ARGS}.apiVersion",
            'no kind "InterPodAffinityArgs" is registered for version '
            '"kubescheduler.config.k8s.io/v1beta2"',
        ),
    ],
)
def test_a_value_of_the_wrong_shape_is_refused_at_its_place(
    body: dict[str, Any], field: str, message: str
) -> None:
    assert causes(body) == [(field, message)]


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        (
            {"clientConnection": {"burst": -1}},
            "clientConnection.burst",
            "Invalid value: -1: must be non-negative",
        ),
        (
            {"leaderElection": {"leaseDuration": "5s"}},
            "leaderElection.leaseDuration",
            'Invalid value: "5s": must be greater than `RenewDeadline`',
        ),
        (
            {"leaderElection": {"retryPeriod": "-1s"}},
            "leaderElection.retryPeriod",
            'Invalid value: "-1s": must be greater than zero',
        ),
        (
            {"leaderElection": {"resourceLock": "endpoints"}},
            "leaderElection.resourceLock",
            'Invalid value: "endpoints": resourceLock value must be "leases"',
        ),
        (
            {"profiles": [{"percentageOfNodesToScore": 101}]},
            "profiles[0].percentageOfNodesToScore",
            "Invalid value: 101: not in valid range [0-100]",
        ),
        ({"profiles": [{"schedulerName": ""}]}, "profiles[0].schedulerName", "Required value"),
        (
            with_plugins(filter=enabled("EBSLimits")),
            "profiles[0].plugins.filter.enabled[0]",
            'Invalid value: "EBSLimits": was invalid in version "v1" '
            f'(KubeSchedulerConfiguration is version "{API_VERSION}")',
        ),
        (
            with_plugins(multiPoint=enabled("SelectorSpread")),
            "profiles[0].plugins.multiPoint.enabled[0]",
            'plugin "SelectorSpread" does not exist',
        ),
        (
            with_plugins(placementScore=enabled("PodGroupPodsCount")),
            "profiles[0].plugins.placementScore.enabled[0]",
            'PlacementScorePlugin "PodGroupPodsCount" does not exist',
        ),
        (
            {"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p"}]},
            "extenders[0].weight",
            "Invalid value: 0: must have a positive weight applied to it",
        ),
        (
            {"extenders": [{"bindVerb": "bind"}, {"bindVerb": "bind"}]},
            "extenders",
            'Invalid value: "found 2 extenders implementing bind": '
            "only one extender can implement bind",
        ),
        (
            {"extenders": [{"managedResources": [{"name": "cpu"}]}]},
            "extenders[0].managedResources[0].name",
            'Invalid value: "cpu": is an invalid extended resource name',
        ),
        (
            {
                "extenders": [
                    {"managedResources": [{"name": "x.io/a"}]},
                    {"managedResources": [{"name": "x.io/a"}]},
                ]
            },
            "extenders[1].managedResources[0].name",
            'Invalid value: "x.io/a": duplicate extender managed resource name',
        ),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(
    body: dict[str, Any], field: str, message: str
) -> None:
    assert (field, message) in causes(body)


@pytest.mark.parametrize(
    ("plugin", "args", "field", "message"),
    [
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu"}]}},
            "scoringStrategy.type",
            'Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", '
            '"RequestedToCapacityRatio"',
        ),
        (
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}]},
                }
            },
            "scoringStrategy.requestedToCapacityRatio",
            "Forbidden: must be nil when type is not RequestedToCapacityRatio",
        ),
        (
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {"shape": []},
                }
            },
            "scoringStrategy.requestedToCapacityRatio.shape",
            "Required value: at least one point must be specified",
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "MostAllocated", "resources": [{"weight": -1}]}},
            "scoringStrategy.resources[0].weight",
            "Invalid value: -1: resource weight of  not in valid range (0, 100]",
        ),
        (
            "PodTopologySpread",
            {"defaultingType": "Cluster"},
            "defaultingType",
            'Unsupported value: "Cluster": supported values: "System", "List"',
        ),
        (
            "PodTopologySpread",
            {
                "defaultingType": "List",
                "defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone"}],
            },
            "defaultConstraints[0].whenUnsatisfiable",
            "Required value: can not be empty",
        ),
        (
            "DynamicResources",
            {"filterTimeout": "-1s"},
            "filterTimeout",
            'Invalid value: "-1s": must be zero or positive',
        ),
        (
            "DynamicResources",
            {"bindingTimeout": "500ms"},
            "bindingTimeout",
            'Invalid value: "0.5s": must be at least 1 second',
        ),
        (
            "VolumeBinding",
            {"shape": []},
            "shape",
            "Invalid value: []: unexpected field `shape`, remove it or turn on the feature gate "
            "StorageCapacityScoring",
        ),
        (
            "NodeAffinity",
            {
                "addedAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 1,
                            "preference": {
                                "matchFields": [
                                    {"key": "metadata.name", "operator": "Exists", "values": []}
                                ]
                            },
                        }
                    ]
                }
            },
            "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
            ".preference.matchFields[0].operator",
            'Unsupported value: "Exists": supported values: "In", "NotIn"',
        ),
    ],
)
def test_plugin_arguments_are_checked(
    plugin: str, args: dict[str, Any], field: str, message: str
) -> None:
    assert causes(with_args(plugin, **args)) == [(f"{ARGS}.{field}", message)]


@pytest.mark.parametrize(
    ("requirement", "field", "detail"),
    [
        ({"operator": "Near"}, "operator", "supported values"),
        ({"operator": "Gt", "values": ["1", "2"]}, "values", "exactly one value is required"),
        ({"operator": "Gt", "values": ["a"]}, "values[0]", "the value must be an integer"),
        ({"operator": "Exists", "values": ["a"]}, "values", "must be empty for exists"),
        ({"operator": "In", "values": ["-"]}, "values[0]", "a valid label must be"),
        ({"operator": "In", "values": ["a"], "key": "a/b/c"}, "key", "a valid label key must"),
        ({"operator": "In", "values": ["a"], "key": "A/b"}, "key", "prefix part a lowercase"),
        ({"operator": "In", "values": ["a"], "key": ""}, "key", "name part must be non-empty"),
    ],
)
def test_added_affinity_must_be_well_formed(
    requirement: dict[str, Any], field: str, detail: str
) -> None:
    term = {"matchExpressions": [{"key": "zone", **requirement}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    place = (
        f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms[0].matchExpressions[0]"
    )
    found = causes(with_args("NodeAffinity", addedAffinity=affinity))
    assert {name for name, _ in found} == {f"{place}.{field}"}
    assert any(detail in message for _, message in found)


def test_preferred_terms_of_weight_zero_are_not_looked_at() -> None:
    preferred = [{"weight": 0, "preference": {"matchExpressions": [{"key": "a"}]}}]
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    load({**TYPE, **with_args("NodeAffinity", addedAffinity=affinity)}, TABLE)


def test_all_faults_of_all_profiles_are_told_at_once() -> None:
    found = fields(
        {
            "parallelism": 0,
            "podMaxBackoffSeconds": 0,
            "profiles": [
                {
                    "schedulerName": "a",
                    "plugins": {"filter": enabled("NoSuchPlugin", "ImageLocality")},
                    "pluginConfig": [
                        {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}
                    ],
                },
                {"schedulerName": "a", "plugins": {"bind": {"disabled": [{"name": "*"}]}}},
            ],
        }
    )
    assert found == [
        "parallelism",
        "profiles[1].schedulerName",
        "podMaxBackoffSeconds",
        f"{ARGS}.hardPodAffinityWeight",
        "profiles[0].plugins.filter.enabled[0]",
        "profiles[0].plugins.filter.enabled[1]",
        "profiles[1].plugins.bind",
    ]


def test_a_plugin_twice_in_multi_point_is_refused_where_it_is_repeated() -> None:
    body = with_plugins(multiPoint=enabled("ImageLocality", "NodeName", "ImageLocality"))
    assert fields(body) == ["profiles[0].plugins.multiPoint.enabled[2]"]


def test_the_queue_is_sorted_alike_in_all_profiles() -> None:
    sort = {"queueSort": {"enabled": [{"name": "PrioritySort"}], "disabled": [{"name": "*"}]}}
    profiles = [{"schedulerName": "a", "plugins": sort}, {"schedulerName": "b"}]
    assert fields({"profiles": profiles}) == ["profiles[1].plugins.queueSort"]


def test_two_queue_sort_plugins_are_refused() -> None:
    sort = enabled("PrioritySort", "Other")
    other = KnownPlugin(name="Other", extension_points=frozenset({"queueSort"}))
    with pytest.raises(ConfigError) as refusal:
        load({**TYPE, **with_plugins(queueSort=sort)}, {**TABLE, "Other": other})
    assert [cause.field for cause in refusal.value.causes] == [
        "profiles[0].plugins.queueSort.enabled",
        "profiles[0].plugins.queueSort",
    ]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "apiVersion"),
        ({"apiVersion": API_VERSION}, "kind"),
        ({"apiVersion": API_VERSION, "kind": "Policy"}, "kind"),
        ({"apiVersion": "v1", "kind": "Policy"}, "kind"),
        ({"apiVersion": "kubescheduler.config.k8s.io/v1beta2", "kind": KIND}, "apiVersion"),
    ],
)
def test_other_documents_are_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(given, TABLE)
    assert refusal.value.causes[0].field == field


def test_extenders_cannot_ignore_a_resource_where_nothing_checks_resources() -> None:
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
    disabled = {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}
    body = {"extenders": [{"managedResources": managed}], "profiles": [{"plugins": disabled}]}
    assert fields(body) == ["profiles[0].pluginConfig"]


def test_the_error_reads_like_upstreams() -> None:
    with pytest.raises(ConfigError) as one:
        load({**TYPE, "parallelism": 0}, TABLE)
    assert str(one.value) == (
        "parallelism: Invalid value: 0: should be an integer value greater than zero"
    )
    with pytest.raises(ConfigError) as two:
        load({**TYPE, "parallelism": 0, "podInitialBackoffSeconds": 0}, TABLE)
    assert str(two.value) == (
        "[parallelism: Invalid value: 0: should be an integer value greater than zero, "
        "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0]"
    )
